"""For any state of the disks: a plan writes only to disks that are blank, ours, or named by the operator."""

import re
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layouts import apply, layout, plan_for
from twin import Part, PowerCut, Signature, blank_server
from twin.state import MIB, Array, Member, Mount

from stackctl.errors import StackctlError
from stackctl.node import claim

SERIALS = [f"LAB-{number}" for number in range(1, 7)]
FOREIGN = "11111111-2222-4333-8444-555555555555"


def gpt(disk, *parts):
    disk.table, disk.table_id, disk.copies, disk.parts = "gpt", "t", 2, list(parts)


def nothing(server, disk):
    """Blank."""


def filesystem(server, disk):
    disk.signatures.append(Signature("btrfs", 65600, FOREIGN))


def foreign_partition(server, disk):
    gpt(disk, Part(1, MIB, 512 * MIB, "Basic data partition", signatures=[Signature("ntfs", 3, "u")]))


def empty_table(server, disk):
    gpt(disk)


def broken_table(server, disk):
    disk.table, disk.copies = "gpt", 0


def lost(server, disk):
    disk.lost.append(Signature("ext4", MIB, "u"))


def mounted(server, disk):
    disk.signatures.append(Signature("ext4", 1080, "u"))
    server.mounts.append(Mount(disk.name, f"/mnt/{disk.serial}", "ext4", "rw"))


def swap(server, disk):
    disk.signatures.append(Signature("swap", 4086, "u"))
    server.swaps.append(disk.name)


def member(server, disk):
    gpt(disk, Part(1, MIB, 2048 * MIB))
    array = next((found for found in server.arrays if found.uuid == FOREIGN), None)
    if array is None:
        array = Array("md5", FOREIGN, "old", 65536, 6, 2048 * MIB)
        server.arrays.append(array)
    disk.parts[0].member = Member(FOREIGN, "old", 65536, 6, MIB, len(array.members))
    array.members[disk.part_name(disk.parts[0])] = len(array.members)


def of_another_host(server, disk):
    gpt(disk, Part(1, MIB, 4094 * MIB, "stackctl:data:metal-9"))


def claimed_by_another_host(server, disk):
    claim.write(server.system(), disk.name, {"disk": disk.serial, "group": "data", "host": "metal-9"})
    gpt(disk, Part(1, MIB, 4094 * MIB, "stackctl:data:metal-9"))


def claimed(server, disk):
    claim.write(server.system(), disk.name, {"disk": disk.serial, "group": "data", "host": "metal-1"})


def claimed_and_taken(server, disk):
    claimed(server, disk)
    disk.signatures.append(Signature("xfs", 0, "u"))


def claimed_half_table(server, disk):
    claimed(server, disk)
    disk.table, disk.copies = "gpt", 1


def ours_but_empty(server, disk):
    gpt(disk, Part(1, MIB, 4094 * MIB, "stackctl:data:metal-1"))


STATES = (
    nothing,
    filesystem,
    foreign_partition,
    empty_table,
    broken_table,
    lost,
    mounted,
    swap,
    member,
    of_another_host,
    claimed_by_another_host,
    claimed,
    claimed_and_taken,
    claimed_half_table,
    ours_but_empty,
)
FREE = {nothing, claimed, claimed_half_table}
"""States in which a disk may be written to without a word."""
BUSY = {mounted, swap}
MARKED = {claimed, claimed_and_taken, claimed_half_table, ours_but_empty}
"""States that make a disk one of this layout's, wherever the layout looks for its disks now."""

WORD = re.compile(r"\{(?:disk|partition|partitions):(.+)\}")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    states=st.lists(st.sampled_from((nothing,) * 6 + STATES), min_size=6, max_size=6),
    count=st.sampled_from([4, 6]),
    wipe=st.sets(st.sampled_from(SERIALS)),
)
def test_no_plan_touches_what_it_must_not(states, count, wipe):
    with tempfile.TemporaryDirectory() as folder:
        server = blank_server(Path(folder), 6)
        state = dict(zip(SERIALS, states, strict=True))
        for serial, prepare in state.items():
            prepare(server, server.disk(serial))
        taken = SERIALS[:count]
        try:
            planned = plan_for(server, *wipe, wanted=layout(disks={"count": count, "serial": taken}))
        except StackctlError:
            marked = any(state[serial] in MARKED for serial in SERIALS[count:])
            assert wipe - set(taken) or marked or any(state[serial] not in FREE for serial in taken)
            return
        written = {key for step in planned.steps for key in step.disks}
        named = {
            match.group(1)
            for step in planned.steps
            for command in step.commands
            for word in command.argv
            if (match := WORD.fullmatch(word))
        }
        wiped = {key for step in planned.steps if step.kind == "wipe" for key in step.disks}
        assert written | named <= set(taken)
        for serial in written | named:
            assert state[serial] in FREE or serial in wipe
            assert state[serial] not in BUSY
        assert wiped <= wipe
        assert wiped == {serial for serial in taken if state[serial] not in FREE}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 39), st.sampled_from(["before", "middle", "after"]))
def test_what_is_left_after_a_cut_is_part_of_the_whole(number, moment):
    """The plan from any state on the way has no step that the whole plan lacks, save those that clear the way."""
    with tempfile.TemporaryDirectory() as folder:
        server = blank_server(Path(folder))
        whole = [step.id for step in plan_for(server).steps]
        server.cut, server.moment = number, moment
        try:
            apply(server)
        except PowerCut:
            server.reboot()
        left = [step.id for step in plan_for(server).steps]
        assert [step for step in left if step != "release:unfinished"] == [step for step in whole if step in left]
        assert set(left) <= {*whole, "release:unfinished"}
