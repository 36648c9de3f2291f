"""The storage cycle as the action runs it: inspect, plan, apply, inspect, read back."""

import pytest
from layouts import HOST, plan_for
from twin import Signature, blank_server

from stackctl.apply.disks import Cycle, ModuleError
from stackctl.node import execute
from stackctl.node.errors import NodeError

PLAIN = {
    "name": "raid10",
    "disks": {"count": 4, "size": ">= 1 GB", "serial": [], "exclude": None},
    "raid": {"level": 10, "chunk": 65536},
    "volume_group": "data",
    "volumes": {
        "database": {"size": "50%", "mount": "/srv/database"},
        "documents": {"size": "20%", "mount": "/srv/documents"},
        "guests": {"size": "rest", "mount": "/srv/guests"},
    },
}
"""The layout as the inventory gives it."""


@pytest.fixture
def server(tmp_path):
    return blank_server(tmp_path)


class Door:
    """Runs the modules on the twin."""

    def __init__(self, server):
        self.server = server
        self.called = []

    def __call__(self, name, values):
        self.called.append(name)
        if name == "stackctl_inspect":
            return {"facts": self.server.facts(*values["paths"])}
        outcome = execute.Outcome()
        try:
            execute.execute(values["plan"], self.server.system(), outcome)
        except NodeError as failure:
            raise ModuleError({"failed": True, **outcome.to_result(), **failure.to_result()}) from failure
        return outcome.to_result()


def run(server, *, change=True, **arguments):
    door = Door(server)
    cycle = Cycle(HOST, {"layout": PLAIN, **arguments}, door)
    return cycle.run(change=change), door.called, cycle


def test_blank_disks_are_made_into_the_layout(server):
    result, called, _ = run(server)
    assert called == ["stackctl_inspect", "stackctl_storage_apply", "stackctl_inspect"]
    assert result["changed"]
    assert result["complete"]
    assert all(finding["ok"] for finding in result["findings"])
    assert result["steps"][0]["id"] == "partition:LAB-1"


def test_a_second_run_is_one_look(server):
    run(server)
    result, called, _ = run(server)
    assert called == ["stackctl_inspect"]
    assert not result["changed"]
    assert result["complete"]


def test_check_mode_changes_nothing_and_shows_the_commands(server):
    result, called, _ = run(server, change=False)
    assert called == ["stackctl_inspect"]
    assert result["changed"]
    assert not result["complete"]
    assert server.writes == []
    assert "+ Partition LAB-1" in result["diff"]["prepared"]
    assert "+   mkfs.xfs -q -f -L database" in result["diff"]["prepared"]


def test_a_refusal_is_told_with_hint_and_exit_code(server):
    server.disk("LAB-2").signatures.append(Signature("ext4", 1080, "u"))
    result, _, _ = run(server)
    assert result["failed"]
    assert result["stackctl_exit"] == 3
    assert "LAB-2" in result["msg"]
    assert "--wipe LAB-2" in result["stackctl_hint"]
    assert server.writes == []


def test_a_released_disk_is_taken(server):
    server.disk("LAB-2").signatures.append(Signature("ext4", 1080, "u"))
    result, _, _ = run(server, wipe=["LAB-2"])
    assert result["complete"]


def test_the_plan_that_was_confirmed_is_carried_out(server):
    result, _, _ = run(server, expected_digest=plan_for(server).digest)
    assert result["complete"]


def test_any_other_plan_is_refused(server):
    result, called, _ = run(server, expected_digest="0123456789abcdef")
    assert result["stackctl_exit"] == 3
    assert "changed since it was confirmed" in result["msg"]
    assert called == ["stackctl_inspect"]


def test_an_array_that_must_be_assembled_first_takes_another_round(server):
    run(server)
    server.mounts = server.mounts[:1]
    server.arrays.clear()
    for volume in server.groups[0].volumes:
        volume.active = False
    result, called, _ = run(server)
    assert result["complete"]
    assert called.count("stackctl_storage_apply") == 2


def test_what_was_read_back_wrong_is_a_failure(server):
    run(server)
    server.groups[0].volumes[0].filesystem.unit = 0
    result, _, _ = run(server)
    assert result["failed"]
    assert "stripe unit" in result["msg"]


def test_an_array_without_a_member_is_a_warning(server):
    run(server)
    server.arrays[0].members.pop("sdb1")
    server.disk("LAB-2").parts[0].member = None
    result, _, cycle = run(server)
    assert "failed" not in result
    assert "runs without 1 of its 4 members" in cycle.warnings[0]


def test_tools_that_are_missing_are_named_before_they_are_installed(server):
    run(server)
    (server.root / "usr/sbin/lvm").unlink()
    result, _, _ = run(server, change=False)
    assert result["missing"] == ["lvm"]
    assert not result["complete"]
    assert "failed" not in result


def test_a_layout_that_does_not_read_is_wrong_input(server):
    result, called, _ = run(server, layout={**PLAIN, "raid": {"level": 10, "chunk": 5000}})
    assert result["stackctl_exit"] == 2
    assert "storage_layout: raid" in result["msg"]
    assert called == []


def test_a_step_that_fails_leaves_what_was_done_in_the_result(server):
    plain_run = server.run

    def failing(argv, **words):
        if argv[0] == "vgcreate":
            raise OSError("no space")
        return plain_run(argv, **words)

    server.run = failing
    result, _, _ = run(server)
    assert result["failed"]
    assert result["changed"]
    assert result["steps"][-1]["id"] == "array:data"
