"""Disks that take the places of those that a finished array has lost."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from stackctl.errors import RefusedError
from stackctl.hardware.array import Array
from stackctl.hardware.array import Member as ArrayMember
from stackctl.hardware.disk import Disk, Partition
from stackctl.storage import steps
from stackctl.storage.alignment import PAGE, TABLE_RESERVE, Geometry, grain_of, round_up
from stackctl.storage.chain import Member
from stackctl.storage.levels import Level
from stackctl.storage.marks import Marks
from stackctl.storage.numbers import member_on
from stackctl.storage.ownership import Holding, partition_is_right, partition_type
from stackctl.storage.plan import Step
from stackctl.units import format_size


def leave(wiped: Sequence[Disk], array: Array, marks: Marks) -> Iterator[Step]:
    """Disks that are wiped, and still hang in the array that has put them out, leave it."""
    members = {member.device for member in array.members}
    for disk in wiped:
        if members & {part.name for part in disk.partitions}:
            yield steps.leave(disk, marks)


def join(held: Holding, marks: Marks, level: Level, geometry: Geometry) -> Iterator[Step]:
    """The disks are parted like the array's members, and added; it rebuilds in the background.

    Raises RefusedError where one does not fit.
    """
    for found in held.joining:
        wanted = _like_the_others(found.disk, held, geometry)
        if not partition_is_right(found, wanted, level):
            yield steps.partition(found.disk, marks, wanted, partition_type(level))
        yield steps.join(found.disk, marks)


def members(held: Holding, geometry: Geometry) -> tuple[Member, ...]:
    """The disks' links of the alignment chain. Raises RefusedError where one does not fit."""
    return tuple(_member(found.disk, _like_the_others(found.disk, held, geometry)) for found in held.joining)


def _member(disk: Disk, geometry: Geometry) -> Member:
    return member_on(disk, geometry.chunk, geometry.start_on(disk), geometry.data_offset)


def _like_the_others(disk: Disk, held: Holding, geometry: Geometry) -> Geometry:
    """The numbers of the array's members, for a disk that joins them."""
    name = held.array.name if held.array else ""
    member, part = next(_members(held))
    grain = grain_of(disk, geometry.chunk or PAGE)
    start = round_up(part.start, grain)
    if member.data_offset % grain:
        raise RefusedError(
            f"{disk.title} asks for starts at multiples of {format_size(grain)}, and the data of the array {name} "
            f"begins {format_size(member.data_offset)} into its members",
            hint="take a disk like the others",
        )
    if start + disk.alignment_offset + part.size + TABLE_RESERVE > disk.size:
        raise RefusedError(
            f"{disk.title} is too small to take a place in the array {name}, "
            f"whose members have partitions of {format_size(part.size)} ({part.size} bytes)",
            hint="take a disk that is no smaller than the others",
        )
    return replace(geometry, partition_start=start, partition_size=part.size, data_offset=member.data_offset)


def _members(held: Holding) -> Iterator[tuple[ArrayMember, Partition]]:
    for found in held.contents:
        for member in held.array.members if held.array and found.partition else ():
            if found.partition and member.device == found.partition.name and member.works:
                yield member, found.partition
