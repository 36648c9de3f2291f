"""Recorded machines: what each is read as, and what the planner makes of it."""

import json
from pathlib import Path

import pytest
from layouts import layout

from stackctl.errors import StackctlError
from stackctl.hardware.machine import Machine
from stackctl.storage.chain import links
from stackctl.storage.numbers import numbers_of
from stackctl.storage.planner import plan
from stackctl.storage.readback import check, faults

MACHINES = Path(__file__).parents[2] / "machines"
EXPECTED = json.loads((MACHINES / "expected.json").read_text())


def read(name):
    return Machine.from_facts(json.loads((MACHINES / f"{name}.json").read_text()))


def test_every_machine_has_an_expectation_and_the_other_way_round():
    assert {file.stem for file in MACHINES.glob("*.json")} - {"expected"} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_plan_is_the_expected_one(name):
    expected = EXPECTED[name]
    disks = {"count": 4, "serial": expected["serials"]} if "serials" in expected else {"count": 4, "size": ">= 1 GB"}
    wanted = layout(disks=disks)
    machine = read(name)
    if "steps" in expected:
        assert [step.id for step in plan(expected["host"], wanted, machine).steps] == expected["steps"]
    else:
        with pytest.raises(StackctlError) as told:
            plan(expected["host"], wanted, machine)
        assert told.value.code == expected["code"]
        for words in expected["told"]:
            assert words in str(told.value)


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED.items() if expected.get("steps") == []])
def test_a_finished_machine_is_aligned_in_every_layer(name):
    expected = EXPECTED[name]
    disks = {"count": 4, "serial": expected["serials"]} if "serials" in expected else {"count": 4, "size": ">= 1 GB"}
    machine = read(name)
    chain = links(numbers_of(machine, machine.arrays[0], machine.groups[0]))
    assert {link.layer for link in chain} >= {"partition", "md data", "PV data", "extent", "LV", "XFS stripe unit"}
    assert [str(link) for link in chain if not link.aligned] == []
    assert [str(finding) for finding in faults(check(layout(disks=disks), machine))] == []


@pytest.mark.parametrize("name", EXPECTED)
def test_it_goes_into_json_for_people(name):
    plain = json.loads(json.dumps(read(name).to_json()))
    assert {"host", "disks", "arrays", "groups", "filesystems", "mounts"} <= plain.keys()
    assert not [key for key in plain if key.startswith("_")]


def test_the_disks_are_read_with_all_that_they_say():
    machine = read("scratch-blank-512e-beside")
    disks = {disk.serial: disk for disk in machine.disks}
    assert set(disks) == {"SYS-1", "LAB-1", "LAB-2", "LAB-3", "LAB-4", "LAB-5"}
    assert disks["LAB-1"].wwn == "0x5000000000000001"
    assert disks["LAB-1"].size == 4 << 30
    assert (disks["LAB-5"].limits.logical_block, disks["LAB-5"].limits.physical_block) == (512, 4096)
    assert [signature.label for signature in disks["SYS-1"].signatures] == ["root"]
    assert "/dev/disk/by-id/wwn-0x5000000000000001" in disks["LAB-1"].links


def test_the_array_the_group_and_the_file_systems_are_read():
    machine = read("scratch-applied")
    (array,) = machine.arrays
    assert (array.name, array.level, array.layout, array.chunk, array.disks) == ("data", "raid10", 0x102, 65536, 4)
    assert array.whole
    assert {member.data_offset for member in array.members} == {2 << 20}
    (group,) = machine.groups
    assert (group.name, group.tags, group.extent_size) == ("data", {"stackctl"}, 4 << 20)
    assert group.physical[0].start == 1 << 20
    assert [volume.name for volume in group.logical] == ["database", "documents", "guests"]
    known = machine.filesystems
    stripes = {found.label: (found.stripe_unit, found.stripe_width, found.log_stripe_unit) for found in known}
    assert set(stripes) == {"database", "documents", "guests"}
    assert set(stripes.values()) == {(65536, 131072, 65536)}


def test_a_file_system_on_a_partition_of_an_array_is_seen_from_the_disks():
    facts = json.loads((MACHINES / "lab-foreign-md.json").read_text())
    part = {"number": "259:0", "read_only": False, "alignment_offset": 0, "holders": [], "slaves": []}
    part |= {"kind": "partition", "partition": 1, "disk": "md127", "start": 63 * 512, "label": "", "size": 1 << 30}
    facts["blocks"]["md127p1"] = part
    facts["mounts"].append(
        {"device": "md127p1", "root": "/", "path": "/srv/old", "type": "ext4", "options": "rw,relatime"}
    )
    machine = Machine.from_facts(facts)
    assert [part.start for part in machine.arrays[0].partitions] == [63 * 512]
    assert machine.above("sda") == ("md127", "md127p1")
    wipe = frozenset({"LAB-DISKS-1-2", "LAB-DISKS-1-3"})
    with pytest.raises(StackctlError, match="mounted at /srv/old: unmount it first"):
        plan("disks-1", layout(disks={"count": 4, "size": ">= 1 GB"}), machine, wipe)
