"""Planning on disks that are virtual disks of a controller: its stripe is kept to."""

from controlled import machine_with, record
from layouts import LAYOUT

from stackctl.storage.planner import plan

KIB, MIB = 1 << 10, 1 << 20
RAID50 = {"sda": {"wwn": "0x600605b00f5c6d702d8a41c82b3c4d5e", "optimal_io_size": 33553920}}
"""The virtual disk of raid50-of-24: 21 strips of 256 KiB hold data, 5376 KiB. Its request size is a lie."""


def drawn(*records):
    found = plan("lab-disks-1", LAYOUT, machine_with(*records, disks=RAID50))
    starts = {step.params["start"] for step in found.steps if step.kind == "partition"}
    offsets = {step.params["data_offset"] for step in found.steps if step.kind == "array"}
    return found, starts, offsets


def test_partitions_and_data_begin_on_the_controller_s_stripe():
    found, starts, offsets = drawn(record("raid50-of-24"))
    assert starts == {5376 * KIB}
    assert offsets == {21 * MIB}  # the first multiple of both 5376 KiB and 1 MiB
    assert all(link.aligned for link in found.alignment)
    links = [link for link in found.alignment if link.subject == "LAB-DISKS-1-1" and link.layer == "partition"]
    assert [(link.multiple_of, link.why) for link in links] == [
        (5376 * KIB, "physical block and the controller's stripe")
    ]


def test_without_the_tool_the_lie_is_not_believed():
    _, starts, offsets = drawn()
    assert (starts, offsets) == ({MIB}, {2 * MIB})


def test_the_other_disks_keep_their_own_grain():
    found, _, _ = drawn(record("raid50-of-24"))
    others = [link for link in found.alignment if link.subject == "LAB-DISKS-1-2" and link.layer == "partition"]
    assert [(link.multiple_of, link.why) for link in others] == [(512, "physical block")]
