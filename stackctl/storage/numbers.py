"""The numbers of the alignment chain as they are on a machine."""

import math
from collections.abc import Collection

from stackctl.hardware.array import Array
from stackctl.hardware.disk import Disk
from stackctl.hardware.lvm import LogicalVolume, VolumeGroup
from stackctl.hardware.machine import Machine
from stackctl.site.values import TITLES
from stackctl.storage.alignment import PAGE, believed_optimal_io, grain_of
from stackctl.storage.chain import Member, Numbers, Stripes
from stackctl.storage.stripes import Stripe, of_array, of_disk


def numbers_of(machine: Machine, array: Array | None, group: VolumeGroup | None) -> Numbers:
    """What was read back of an array and the volume group on it; without an array, of the group on its disk."""
    if array:
        members, stripe = _members(machine, array), of_array(array)
    else:
        members, stripe = _bare(machine, group)
    width = stripe.width if stripe else math.lcm(PAGE, *(member.grain for member in members))
    logical = [volume for volume in group.logical if volume.segments] if group else []
    return Numbers(
        members=members,
        chunk=stripe.element if stripe else 0,
        width=width,
        group=group.name if group else "",
        group_start=group.physical[0].start if group else None,
        extent_size=group.extent_size if group else None,
        volumes={volume.name: volume_start(group, volume) for volume in logical} if group else {},
        filesystems={
            volume.name: Stripes(TITLES[found.type], found.stripe_unit, found.stripe_width, found.log_stripe_unit)
            for volume in logical
            if (found := machine.filesystem(volume.device)) and found.type != "swap"
        },
    )


def volume_start(group: VolumeGroup, volume: LogicalVolume) -> int:
    """Where a logical volume begins, counted from the start of its physical volume, in bytes."""
    return group.physical[0].start + volume.segments[0].start * group.extent_size


def next_extent(group: VolumeGroup, kept: Collection[str]) -> int:
    """The first extent behind the volumes that are kept: where LVM puts the next one."""
    ends = [
        segment.start + segment.extents
        for volume in group.logical
        if volume.name in kept
        for segment in volume.segments
    ]
    return max(ends, default=0)


def member_on(disk: Disk, chunk: int, start: int, data_offset: int | None) -> Member:
    """A disk's part in an array of ``chunk`` (0 in a mirror), begun at ``start``; bytes."""
    return Member(
        disk=disk.key,
        grain=grain_of(disk, chunk or PAGE),
        alignment_offset=disk.alignment_offset,
        partition_start=start,
        data_offset=data_offset,
        striped=disk.striping is not None,
    )


def _bare(machine: Machine, group: VolumeGroup | None) -> tuple[tuple[Member, ...], Stripe | None]:
    """The disk that a group lies on without an array, and its controller's stripe."""
    devices = {volume.device for volume in group.physical} if group else set()
    found = [(disk, part) for disk in machine.disks for part in disk.partitions if part.name in devices]
    members = tuple(member_on(disk, 0, part.start, None) for disk, part in found)
    return members, of_disk(found[0][0], believed_optimal_io(found[0][0].limits, PAGE)) if found else None


def _members(machine: Machine, array: Array) -> tuple[Member, ...]:
    """The array's members; a disk that is a member as a whole counts as a partition that begins at 0."""
    starts = {
        name: (disk, start)
        for disk in machine.disks
        for name, start in ((disk.name, 0), *((part.name, part.start) for part in disk.partitions))
    }
    return tuple(
        member_on(disk, array.chunk, start, member.data_offset)
        for member in array.members
        if member.device in starts
        for disk, start in [starts[member.device]]
    )
