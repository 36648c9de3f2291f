"""The machines of the shelf: what the planner makes of each."""

import pytest
from layouts import HOST, LAYOUT, layout
from machines import blank, machine
from shelf import SHELF, Aligned, Refused

from stackctl.errors import StackctlError
from stackctl.hardware.machine import Machine
from stackctl.storage.planner import plan

CHUNK = 65536


@pytest.mark.parametrize("name", [name for name, entry in SHELF.items() if isinstance(entry, Aligned)])
def test_it_is_planned_with_every_layer_aligned(name):
    entry = SHELF[name]
    planned = plan(HOST, layout(disks=entry.disks), Machine.from_facts(entry.facts))
    assert [step.id for step in planned.steps] == [
        *(f"partition:{key}" for key in entry.keys),
        "array:data",
        "group:data",
        "unclaim:data",
        "mdadm-conf",
        *(f"volume:data/{name}" for name in LAYOUT.volumes),
        *(f"filesystem:data/{name}" for name in LAYOUT.volumes),
        "fstab:data",
        *(f"mount:{volume.mount}" for volume in LAYOUT.volumes.values()),
        "initramfs",
    ]
    assert planned.destroys == ()
    assert [link for link in planned.alignment if not link.aligned] == []
    shown = {link.layer: link for link in planned.alignment}
    assert {link.value for link in planned.alignment if link.layer == "partition"} == {entry.start}
    assert (shown["md data offset"].value, shown["md data offset"].multiple_of) == (entry.offset, CHUNK)
    assert (shown["PV data"].value, shown["PV data"].multiple_of) == (entry.group, entry.width)
    assert shown["extent"].value == entry.extent
    assert (shown["XFS stripe unit"].value, shown["XFS stripe width"].value) == (CHUNK, entry.width)


@pytest.mark.parametrize("name", [name for name, entry in SHELF.items() if isinstance(entry, Refused)])
def test_it_is_refused_in_plain_words(name):
    entry = SHELF[name]
    with pytest.raises(StackctlError) as told:
        plan(HOST, layout(disks=entry.disks), Machine.from_facts(entry.facts), entry.wipe)
    assert told.value.code == entry.code
    for words in entry.told:
        assert words in str(told.value)


def test_a_table_of_4096_byte_sectors_counts_in_those():
    planned = plan(HOST, LAYOUT, Machine.from_facts(SHELF["4Kn"].facts))
    # 1 MiB; 10^12 bytes are 953674.3 MiB, less 1 MiB at either end, whole ones, 256 sectors each
    assert f"start=256, size={953672 * 256}, type=" in planned.steps[0].commands[-1].input


def test_names_that_the_kernel_swaps_between_boots_change_nothing():
    first, second, *rest = blank()
    before = plan(HOST, LAYOUT, Machine.from_facts(machine(first, second, *rest)))
    after = plan(HOST, LAYOUT, Machine.from_facts(machine(second, first, *rest)))
    assert [disk.title[-4:] for disk in (*before.disks[:2], *after.disks[:2])] == ["sda)", "sdb)", "sdb)", "sda)"]
    assert (before.digest, before.steps) == (after.digest, after.steps)
