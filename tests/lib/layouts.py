"""The layout that most tests use, and short ways to plan and to carry out."""

from stackctl.hardware.machine import Machine
from stackctl.node.execute import execute
from stackctl.site.models import Layout
from stackctl.storage.planner import plan
from stackctl.storage.readback import check, faults

PATHS = ("/srv/database", "/srv/documents", "/srv/guests")
HOST = "metal-1"


def layout(**words):
    """The lab's layout; ``words`` replace keys of it."""
    return Layout.model_validate(
        {
            "disks": {"count": 4, "size": ">= 1 GB"},
            "volumes": {
                "database": {"size": "50%", "mount": "/srv/database"},
                "documents": {"size": "20%", "mount": "/srv/documents"},
                "guests": {"size": "rest", "mount": "/srv/guests"},
            },
            **words,
        }
    )


LAYOUT = layout()

EVERY_KIND = {
    "database": {"size": "50%", "mount": "/srv/database", "options": ["nodev", "logbsize=256k"]},
    "documents": {"size": "20%", "mount": "/srv/documents", "filesystem": "ext4", "options": ["relatime"]},
    "swap": {"size": "64 MiB", "filesystem": "swap", "options": ["pri=5", "discard"]},
    "guests": {"size": "rest", "mount": "/srv/guests"},
}
"""Volumes with every kind of file system."""


def machine_of(server):
    return Machine.from_facts(server.facts(*PATHS))


def plan_for(server, *wipe, wanted=LAYOUT):
    return plan(HOST, wanted, machine_of(server), frozenset(wipe))


def apply(server, *wipe, wanted=LAYOUT):
    return execute(plan_for(server, *wipe, wanted=wanted).to_json(), server.system())


def wrong_with(server, wanted=LAYOUT):
    return faults(check(wanted, machine_of(server)))
