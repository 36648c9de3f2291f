"""The audit of machines that are well laid out, and of the same ones made crooked in one place each."""

import json
from pathlib import Path

import pytest
from controlled import machine_with, record

from stackctl.hardware.machine import Machine
from stackctl.storage.audit import REQUESTS, audit
from stackctl.units import KIB, MIB

MACHINES = Path(__file__).parents[2] / "machines"
SECTOR_63 = 63 * 512


@pytest.fixture
def facts():
    """RAID10 of four, 64 KiB chunk, LVM and XFS on it, all aligned; sda and its kin have 512-byte blocks."""
    return json.loads((MACHINES / "lab-applied.json").read_text())


def look(facts):
    return audit(Machine.from_facts(facts))


def on_the_array(facts, start, *, xfs=True):
    """The same array with a partition on it instead of LVM, which carries the file system of the database."""
    for name in [name for name, block in facts["blocks"].items() if block["kind"] == "dm"]:
        del facts["blocks"][name]
    superblock = facts["superblocks"]["xfs"]["dm-0"]
    facts["lvm"], facts["superblocks"]["xfs"] = [], {}
    facts["mounts"] = [mount for mount in facts["mounts"] if mount["path"] in ("/", "/srv/database")]
    facts["signatures"] = {name: found for name, found in facts["signatures"].items() if not name.startswith("dm")}
    facts["blocks"]["md127"]["holders"] = []
    facts["blocks"]["md127p1"] = {
        "number": "259:0", "read_only": False, "alignment_offset": 0, "holders": [], "slaves": [],
        "kind": "partition", "partition": 1, "disk": "md127", "start": start, "label": "", "size": 2 << 30,
    }  # fmt: skip
    if xfs:
        facts["superblocks"]["xfs"]["md127p1"] = superblock
        facts["mounts"][-1]["device"] = "md127p1"
    return facts


def stripes(facts, unit, width):
    """Give the database's XFS other stripe words, in blocks of 4 KiB."""
    raw = bytearray.fromhex(facts["superblocks"]["xfs"]["dm-0"])
    raw[184:192] = unit.to_bytes(4, "big") + width.to_bytes(4, "big")
    facts["superblocks"]["xfs"]["dm-0"] = raw.hex()
    mount = next(mount for mount in facts["mounts"] if mount["path"] == "/srv/database")
    mount["options"] = mount["options"].replace("sunit=128,swidth=256", f"sunit={unit * 8},swidth={width * 8}")
    return facts


def test_a_layout_of_ours_has_no_fault(facts):
    found = look(facts)
    assert (found.faults, found.costs, found.notes) == ((), (), ())
    assert {begin.off for begin in found.begins} == {0}
    seen = {(begin.layer, begin.subject): (begin.ground, begin.start, begin.multiple_of) for begin in found.begins}
    assert seen["partition", "LAB-DISKS-1-1, partition 1"] == ("LAB-DISKS-1-1", MIB, 512)
    assert seen["md data", "data"] == ("LAB-DISKS-1-4", 3 * MIB, 512)
    assert seen["PV data", "data"] == ("data", MIB, 64 * KIB)
    assert seen["LV", "data/database"] == ("data", MIB, 64 * KIB)


def test_a_partition_at_sector_63_on_an_array_costs_every_fourth_page(facts):
    """What the classic benchmark lost: 31.5 KiB off on 64 KiB, 25 % of 16 KiB requests split."""
    found = look(on_the_array(facts, SECTOR_63))
    (fault,) = found.faults
    assert fault.subject == "data, partition 1"
    assert "31.5 KiB off" in fault.words
    assert "64 KiB" in fault.words
    assert not fault.in_place
    assert {cost.request: cost.straddling for cost in found.costs} == dict(
        zip(REQUESTS, (0.0625, 0.125, 0.25, 1.0), strict=True)
    )
    page = found.costs[2]
    assert (page.reads, page.reads_aligned, page.writes, page.writes_aligned) == (1.25, 1.0, 2.5, 2.0)


def test_the_same_partition_at_1_mib_costs_nothing(facts):
    found = look(on_the_array(facts, MIB))
    assert (found.faults, found.costs) == ((), ())


def test_a_crooked_partition_that_lvm_mends_is_told_and_no_fault(facts):
    """pe_start of 2113 sectors behind sector 63: 1088 KiB, which is 17 elements."""
    lvm = json.loads(json.dumps(facts["lvm"]))
    facts = on_the_array(facts, SECTOR_63, xfs=False)
    for part in lvm:
        for row in part.get("pv", ()):
            row |= {"pv_name": "/dev/md127p1", "pv_major": "259", "pv_minor": "0", "pe_start": str(2113 * 512)}
        for row in part.get("seg", ()):
            row["seg_pe_ranges"] = row["seg_pe_ranges"].replace("/dev/md127", "/dev/md127p1")
    facts["lvm"] = lvm
    found = look(facts)
    assert found.faults == ()
    assert {(b.layer, b.mended_above) for b in found.begins if b.off} == {("partition", True)}
    assert [b.start for b in found.begins if b.layer == "PV data"] == [1088 * KIB]


def test_a_crooked_partition_under_an_array_costs_on_large_physical_blocks_alone(facts):
    facts["blocks"]["sda1"]["start"] = SECTOR_63
    assert look(facts).faults == ()
    facts["blocks"]["sda"]["limits"]["physical_block_size"] = 4096
    found = look(facts)
    (fault,) = found.faults
    assert fault.subject == "LAB-DISKS-1-1, partition 1"
    assert "3.5 KiB off: no multiple of 4 KiB, the physical block of LAB-DISKS-1-1" in fault.words


def test_a_disk_whose_first_block_is_off_by_itself(facts):
    """512e disks of old had their blocks begin at sector 7, so that sector 63 was right."""
    facts["blocks"]["sda"]["limits"]["physical_block_size"] = 4096
    facts["blocks"]["sda"]["alignment_offset"] = 7 * 512
    facts["blocks"]["sda1"]["start"] = SECTOR_63
    assert look(facts).faults == ()


def test_parity_asks_for_the_whole_stripe(facts):
    facts["blocks"]["md127"]["array"] |= {"level": "raid5", "layout": 2}
    found = look(facts)
    begins = [fault for fault in found.faults if "begins" in fault.words]
    assert {fault.subject for fault in begins} == {"data"}
    assert "64 KiB off: no multiple of 192 KiB, the stripe width" in begins[0].words
    assert "--dataalignment" in begins[0].mend
    assert {cost.straddling for cost in found.costs} == {0.0}, "no request crosses an element"


def test_xfs_without_stripes_can_only_be_made_anew(facts):
    facts = stripes(facts, 0, 0)
    (fault,) = look(facts).faults
    assert fault.subject == "data/database"
    assert "-d su=64k,sw=2" in fault.mend
    assert not fault.in_place


def test_xfs_with_other_stripes_is_mended_at_mount(facts):
    (fault,) = look(stripes(facts, 8, 32)).faults
    assert fault.words == "XFS has su=32k,sw=4, the array su=64k,sw=2"
    assert "sunit=128,swidth=256" in fault.mend
    assert fault.in_place


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("inode64", "inode32", "inode32"),
        ("attr2", "nobarrier", "barriers are off"),
        ("sunit=128,swidth=256", "noalign", "a stripe unit of 0 B, the file system has 64 KiB"),
    ],
)
def test_mount_options(facts, old, new, words):
    mount = next(mount for mount in facts["mounts"] if mount["path"] == "/srv/database")
    assert old in mount["options"]
    mount["options"] = mount["options"].replace(old, new)
    (fault,) = look(facts).faults
    assert fault.subject == "/srv/database"
    assert words in fault.words
    assert fault.in_place


def test_a_virtual_disk_of_a_controller_is_a_ground_with_stripes(facts):
    facts["blocks"]["vda"]["limits"] |= {"minimum_io_size": 65536, "optimal_io_size": 262144}
    facts["blocks"]["vda2"]["start"] = SECTOR_63
    found = look(facts)
    (fault,) = found.faults
    assert "no multiple of 64 KiB, the stripe element of SYSTEM" in fault.words
    assert [cost.straddling for cost in found.costs] == [0.0625, 0.125, 0.25, 1.0]


def test_a_battery_that_is_not_healthy_is_a_warning_and_no_fault():
    found = audit(machine_with(record("perc-failed-battery")))
    assert any("battery" in warning.subject and not warning.ok for warning in found.warnings)
    assert found.faults == ()


def test_what_cannot_be_followed_is_said(facts):
    for part in facts["lvm"]:
        part["seg"] = []
    found = look(facts)
    assert len([note for note in found.notes if "cannot be followed" in note]) == 3
