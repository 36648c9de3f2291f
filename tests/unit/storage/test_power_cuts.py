"""Power is lost before, in the middle of and after every write: the next apply finishes, and nothing foreign is touched."""

import pytest
from twin import PowerCut, blank_server

from stackctl.hardware.machine import Machine
from stackctl.node.execute import execute
from stackctl.site.models import Layout
from stackctl.storage.planner import plan
from stackctl.storage.readback import check, faults

LAYOUT = Layout.model_validate(
    {
        "disks": {"count": 4, "size": ">= 1 GB"},
        "volumes": {
            "database": {"size": "50%", "mount": "/srv/database"},
            "documents": {"size": "20%", "mount": "/srv/documents"},
            "guests": {"size": "rest", "mount": "/srv/guests"},
        },
    }
)
PATHS = ("/srv/database", "/srv/documents", "/srv/guests")


def apply(server, wipe=frozenset()):
    found = plan("metal-1", LAYOUT, Machine.from_facts(server.facts(*PATHS)), wipe)
    return execute(found.to_json(), server.system())


def writes_of_a_whole_run(folder):
    server = blank_server(folder)
    apply(server)
    return len(server.writes), server


def test_blank_disks_become_the_layout(tmp_path):
    count, server = writes_of_a_whole_run(tmp_path)
    machine = Machine.from_facts(server.facts(*PATHS))
    print(count, [str(f) for f in faults(check(LAYOUT, machine))])
    assert not faults(check(LAYOUT, machine))
    assert plan("metal-1", LAYOUT, machine).steps == ()


CUTS = [(number, moment) for number in range(40) for moment in ("before", "middle", "after")]


def test_every_cut_is_listed(tmp_path):
    count, _ = writes_of_a_whole_run(tmp_path)
    assert count == len({number for number, _ in CUTS})


def converges(folder, number, moment):
    server = blank_server(folder)
    canary = server.snapshot()[-1]
    server.cut, server.moment = number, moment
    with pytest.raises(PowerCut):
        apply(server)
    server.reboot()
    apply(server)
    machine = Machine.from_facts(server.facts(*PATHS))
    assert not faults(check(LAYOUT, machine)), (number, moment)
    assert plan("metal-1", LAYOUT, machine).steps == ()
    assert server.snapshot()[-1] == canary


def test_any_cut_is_followed_by_an_apply_that_finishes(tmp_path, sample):
    for number, moment in sample(CUTS, 12):
        converges(tmp_path / f"{number}-{moment}", number, moment)


def test_two_cuts_in_a_row(tmp_path, sample):
    pairs = [(first, second, moment) for first in range(38) for second in range(6) for moment in ("middle", "after")]
    for first, second, moment in sample(pairs, 6):
        server = blank_server(tmp_path / f"{first}-{second}-{moment}")
        server.cut, server.moment = first, moment
        with pytest.raises(PowerCut):
            apply(server)
        server.reboot()
        server.writes.clear()
        server.cut, server.moment = second, moment
        try:
            apply(server)
        except PowerCut:
            server.reboot()
            apply(server)
        machine = Machine.from_facts(server.facts(*PATHS))
        assert not faults(check(LAYOUT, machine)), (first, second, moment)
        assert plan("metal-1", LAYOUT, machine).steps == ()
