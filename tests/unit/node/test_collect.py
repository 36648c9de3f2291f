"""Collecting facts: what is seen, what is missing, what cannot be read."""

import json

import pytest
from layouts import apply
from twin import Part, Signature, blank_server
from twin.state import GIB, MIB, Array, Group, Mount, Volume

from stackctl.hardware.machine import Machine
from stackctl.node.collect import FORMAT
from stackctl.node.process import ProcessError, Result


@pytest.fixture
def server(tmp_path):
    return blank_server(tmp_path)


def test_it_is_json_of_a_known_format(server):
    facts = json.loads(json.dumps(server.facts("/srv")))
    assert facts["format"] == FORMAT
    assert facts["folders"] == {"/srv": {"exists": True, "folder": True, "empty": True}}
    assert facts["host"]["memory"] == 2 * GIB
    assert (facts["host"]["system"], facts["host"]["version"]) == ("debian", "12")


def test_it_writes_nothing(server):
    server.facts()
    assert server.writes == []


def test_what_is_not_installed_is_said(server):
    for program in ("mdadm", "lvm"):
        (server.root / "usr/sbin" / program).unlink()
    facts = server.facts()
    assert facts["missing"] == ["mdadm", "lvm"]
    assert facts["lvm"] is None
    assert Machine.from_facts(facts).groups == ()


def test_advice_before_lvm_s_json_is_passed_over(server):
    apply(server)
    assert server.facts()["lvm"][0]["vg"][0]["vg_name"] == "data"


def test_a_device_that_cannot_be_read_counts_as_holding_something(server):
    run = server.run

    def failing(argv, **words):
        if argv[:2] == ["wipefs", "--no-act"] and any(word.endswith("/sdc") for word in argv):
            raise ProcessError(Result(tuple(argv), 1, stderr="wipefs: error: /dev/sdc: Input/output error"))
        return run(argv, **words)

    server.run = failing
    facts = server.facts()
    assert facts["signatures"]["sdc"][0]["type"] == "unreadable"
    assert "Input/output error" in facts["errors"][0]
    assert "sda" not in facts["signatures"]


def test_lost_partitions_are_looked_for_on_bare_disks_only(server):
    server.disk("LAB-1").lost.append(Signature("xfs", MIB, "u", "old"))
    disk = server.disk("LAB-2")
    disk.table, disk.copies, disk.parts = "gpt", 2, [Part(1, MIB, GIB)]
    disk.lost.append(Signature("xfs", MIB, "u"))
    assert server.facts()["lost"] == {"sda": [{"type": "xfs", "offset": MIB, "uuid": "u", "label": "old"}]}


def test_a_lost_partition_is_seen_behind_disks_that_hold_nothing(server):
    """Of several devices blkid stops at the first that holds nothing."""
    server.disk("LAB-2").lost.append(Signature("xfs", 63 * 512, "u", "old"))
    server.disk("LAB-4").lost.append(Signature("ext4", MIB, "v"))
    assert server.facts()["lost"] == {
        "sdb": [{"type": "xfs", "offset": 63 * 512, "uuid": "u", "label": "old"}],
        "sdd": [{"type": "ext4", "offset": MIB, "uuid": "v", "label": ""}],
    }


def test_signs_of_more_than_one_thing_are_something(server, monkeypatch):
    run = server.run

    def ambivalent(argv, **words):
        if argv[0] == "blkid" and str(argv[-1]).endswith("/sdb") and "--offset=32256" in argv:
            return Result(tuple(argv), 8, "", "ambivalent result")
        return run(argv, **words)

    server.run = ambivalent
    assert server.facts()["lost"] == {
        "sdb": [{"type": "several signatures", "offset": 32256, "uuid": "", "label": ""}]
    }


def test_an_array_that_has_not_started_is_seen_with_its_members(server):
    disk = server.disk("LAB-1")
    disk.table, disk.copies, disk.parts = "gpt", 2, [Part(1, MIB, GIB)]
    from twin.state import Member

    uuid = "11111111-2222-4333-8444-555555555555"
    disk.parts[0].member = Member(uuid, "old", 65536, 4, 2 * MIB, 0)
    server.arrays.append(Array("md126", uuid, "old", 65536, 4, GIB, {"sda1": 0}, state="inactive"))
    (array,) = Machine.from_facts(server.facts()).arrays
    assert (array.device, array.running, array.whole) == ("md126", False, False)
    assert [member.device for member in array.members] == ["sda1"]


def test_mounts_are_told_by_device_and_swap_too(server):
    server.mounts.append(Mount("sdb", "/mnt/with\\040blank", "ext4", "rw,relatime"))
    server.swaps.append("sdd")
    facts = server.facts()
    assert {(mount["device"], mount["path"]) for mount in facts["mounts"]} == {
        ("vda", "/"),
        ("sdb", "/mnt/with blank"),
    }
    assert facts["swaps"] == ["sdd"]


def test_missing_and_doubled_serial_numbers_are_shown_as_they_are(server):
    server.disk("LAB-1").serial = ""
    server.disk("LAB-3").serial = "LAB-2"
    machine = Machine.from_facts(server.facts())
    assert [disk.serial for disk in machine.disks if disk.name in ("sda", "sdb", "sdc")] == ["", "LAB-2", "LAB-2"]
    assert machine.disk("LAB-2") is None
    assert machine.disks[0].key == "0x5000000000000001"


class TestTheFingerprint:
    def test_is_the_same_when_nothing_changed(self, server):
        assert server.facts()["fingerprints"] == server.facts()["fingerprints"]

    @pytest.mark.parametrize(
        "change",
        [
            lambda server, disk: disk.signatures.append(Signature("ext4", 1080, "u")),
            lambda server, disk: setattr(disk, "size", disk.size + MIB),
            lambda server, disk: server.swaps.append("sda"),
            lambda server, disk: server.mounts.append(Mount("sda", "/x")),
            lambda server, disk: disk.lost.append(Signature("xfs", MIB, "u")),
            lambda server, disk: server.groups.append(_group("sda")),
        ],
    )
    def test_changes_with_anything_on_the_disk_and_leaves_the_others(self, server, change):
        before = server.facts()["fingerprints"]
        change(server, server.disk("LAB-1"))
        after = server.facts()["fingerprints"]
        assert after["sda"] != before["sda"]
        assert {name: word for name, word in after.items() if name != "sda"} == {
            name: word for name, word in before.items() if name != "sda"
        }

    def test_does_not_change_with_the_progress_of_a_resync(self, server):
        apply(server)
        before = server.facts()["fingerprints"]
        (server.root / "sys/devices/virtual/md127/md/sync_action").write_text("idle\n")
        assert server.facts()["fingerprints"] == before


def _group(device):
    group = Group("vg0", device, 4 * MIB, 100, MIB)
    group.volumes.append(Volume("root", 0, 10, device="dm-7"))
    return group
