"""The arithmetic of the alignment chain, from the disk's first sector to the file system's stripe."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stackctl.hardware.disk import Disk, Limits
from stackctl.storage.levels import Level
from stackctl.storage.stripes import of_disk
from stackctl.units import KIB, MIB

FIRST_START = 1 * MIB
"""Where the first partition begins, where nothing asks for more: the custom since 2009, a multiple of every
physical block and every usual chunk."""

TABLE_RESERVE = 1 * MIB
"""Kept free at the end of a disk, for the second copy of the partition table."""
PAGE = 4 * KIB
"""What a file system and the kernel's cache deal in at the least."""
_METADATA = 1 * MIB
"""LVM's metadata area ends here at the latest (pvcreate's default)."""
_EXTENT = 4 * MIB
"""LVM's usual extent."""
_ODD_EXTENT = 128 * KIB
"""An extent that is no power of two must be a multiple of this (vgcreate(8), --physicalextentsize)."""
_LOG_LIMIT = 256 * KIB
_LOG_FALLBACK = 32 * KIB
"""XFS takes no larger log stripe unit than 256 KiB, and mkfs.xfs falls back to 32 KiB then (mkfs.xfs(8), -l su)."""
_WIDEST = 64 * MIB
"""No controller's stripe is wider."""
_COUNT_LIMIT = 65535
"""What devices report that mean "as many blocks as the field can count", not a stripe."""


@dataclass(frozen=True, slots=True)
class Link:
    """One link of the chain: a number, and what it must be a multiple of; all in bytes."""

    layer: str
    subject: str
    value: int
    multiple_of: int
    why: str

    @property
    def off(self) -> int:
        """By how much the number is off; 0 is aligned."""
        return self.value % self.multiple_of if self.multiple_of else self.value

    @property
    def aligned(self) -> bool:
        """Whether it is: a number that was never given (0) is not."""
        return self.value > 0 and self.off == 0


@dataclass(frozen=True, slots=True)
class Geometry:
    """All numbers of a layout over given disks, in bytes (``extents`` counts)."""

    disks: int
    """Those that hold data or parity."""
    data_disks: int
    chunk: int
    """What is dealt out to one disk at a time, by md or by the controller of the one disk that is taken as it is;
    0 for a plain mirror, or a plain disk, which deal nothing out."""
    element: int
    """What everything above is aligned to in one disk: the chunk, or the grain of a mirror's disks."""
    partition_start: int
    """On a disk whose physical blocks begin at its first sector; see ``start_on``."""
    partition_size: int
    data_offset: int
    array_size: int
    group_start: int
    extent_size: int
    extents: int

    @property
    def width(self) -> int:
        """The stripe width: the elements that hold data in one stripe."""
        return self.element * self.data_disks

    def start_on(self, disk: Disk) -> int:
        """Where the partition begins on ``disk``: further in by what its physical blocks are off."""
        return self.partition_start + disk.alignment_offset


def geometry(disks: Sequence[Disk], level: Level, chunk: int, *, active: int | None = None) -> Geometry:
    """The numbers of a layout of ``level`` with ``chunk`` over ``disks``, of which ``active`` hold data or parity.

    Numbers that do not fit (a disk smaller than what is reserved) come out as no extents, never negative.
    """
    active = len(disks) if active is None else active
    chunk = chunk if level.array else PAGE
    common = math.lcm(*(grain_of(disk, chunk) for disk in disks))
    if level.array:
        chunk, data_disks = chunk if level.striped else 0, level.data_disks(active)
    else:
        stripe = of_disk(disks[0], believed_optimal_io(disks[0].limits, chunk))
        chunk, data_disks = (stripe.element, stripe.data) if stripe else (0, 1)
    element = chunk or math.lcm(common, PAGE)
    start = round_up(FIRST_START, common)
    room = min(disk.size - TABLE_RESERVE - disk.alignment_offset for disk in disks) - start
    size = max(room, 0) // MIB * MIB
    offset = data_offset(size, math.lcm(element, common)) if level.array else 0
    piece = element * level.far
    usable = max(size - offset, 0)
    array = usable // piece * piece * data_disks if level.array else usable
    first = group_start(element * data_disks)
    extent = extent_size(element * data_disks)
    return Geometry(
        disks=active,
        data_disks=data_disks,
        chunk=chunk,
        element=element,
        partition_start=start,
        partition_size=size,
        data_offset=offset,
        array_size=array,
        group_start=first,
        extent_size=extent,
        extents=max(array - first, 0) // extent,
    )


def grain(limits: Limits, chunk: int, *, stripe: int = 0) -> int:
    """What a start on the disk must be a multiple of: its physical block and, where it is believed, its stripe.

    ``stripe`` is the stripe width that a controller tells of its virtual disk: it is believed, whatever the disk
    reports as its optimal request size.
    """
    told = replace(limits, optimal_io=stripe) if stripe else limits
    return math.lcm(limits.physical_block, believed_optimal_io(told, chunk, confirmed=bool(stripe)))


def grain_of(disk: Disk, chunk: int) -> int:
    """The grain of a disk; that of a controller's virtual disk holds strip x data disks, where its tool tells."""
    return grain(disk.limits, chunk, stripe=disk.striping.width if disk.striping else 0)


def believed_optimal_io(limits: Limits, chunk: int, *, confirmed: bool = False) -> int:
    """The device's optimal request size where it can be believed to be a stripe, else 1.

    It is a hint, often a lie: SCSI's field counts 65535 blocks where a controller means "no limit", 33553920
    bytes with blocks of 512. It is believed when md or the controller confirms it, or when it is a multiple of
    4096 and of the physical block, or a power-of-two multiple of the chunk.
    """
    optimal = limits.optimal_io
    if not optimal:
        return 1
    if confirmed:
        return optimal
    if optimal % limits.physical_block or optimal == _COUNT_LIMIT * limits.logical_block or optimal > _WIDEST:
        return 1
    chunks, rest = divmod(optimal, chunk)
    if optimal % 4096 == 0 or (rest == 0 and chunks & (chunks - 1) == 0):
        return optimal
    return 1


def data_offset(member: int, multiple: int) -> int:
    """Where md's data begins on a member of ``member`` bytes.

    As mdadm does it, up to 128 MiB and about a thousandth of the member are left before the data, for a reshape
    to come; here always a multiple of ``multiple`` (chunk and grain), and given to mdadm, so that the plan knows.
    """
    room = 128 * MIB
    while room > 2 * MIB and room * 1024 > member:
        room //= 2
    return round_up(room, math.lcm(multiple, MIB))


def group_start(width: int) -> int:
    """Where LVM's data begins on a physical volume made with ``--dataalignment`` of the stripe width."""
    return round_up(_METADATA, width)


def extent_size(width: int) -> int:
    """The extent: about 4 MiB, a multiple of the stripe width, so that every volume begins and ends on a stripe."""
    if width & (width - 1) == 0:
        return max(_EXTENT, width)
    return round_up(_EXTENT, math.lcm(width, _ODD_EXTENT))


def log_stripe_unit(chunk: int) -> int:
    """XFS's log stripe unit: the chunk, or 32 KiB where the chunk is more than XFS takes."""
    return chunk if chunk <= _LOG_LIMIT else _LOG_FALLBACK


def round_up(value: int, multiple: int) -> int:
    """The first multiple of ``multiple`` that is not below ``value``."""
    return -(-value // multiple) * multiple
