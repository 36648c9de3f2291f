"""Stripes, and what a shift against them costs: the derivation of each formula stands in docs/alignment.md."""

import math
from dataclasses import dataclass
from fractions import Fraction

from stackctl.hardware.array import Array
from stackctl.hardware.disk import Disk

_PARITY = {"raid4": 1, "raid5": 1, "raid6": 2}


@dataclass(frozen=True, slots=True)
class Stripe:
    """How data is dealt out over disks; ``element`` in bytes, the rest counted in elements of one stripe."""

    element: int
    """What lies in one piece on one disk: md's chunk, a controller's strip."""
    data: int
    copies: int = 1
    parity: int = 0

    @property
    def width(self) -> int:
        """The bytes of data in one stripe."""
        return self.element * self.data

    @property
    def grid(self) -> int:
        """What the start of anything on it must be a multiple of, in bytes, so that nothing is read or written twice.

        Mirrors and plain stripes ask for the element; parity is computed anew for each stripe that is not
        written whole, and asks for the width.
        """
        return self.width if self.parity else self.element

    def reads(self, request: int, shift: int) -> Fraction:
        """Reads of disks for a random read of ``request`` bytes, where pages begin ``shift`` bytes off."""
        return 1 + crossings(request, self.element, shift)

    def writes(self, request: int, shift: int) -> Fraction:
        """Reads and writes of disks for a random write of ``request`` bytes, at most one element.

        With parity each element that is touched costs its own parity: the old contents of both are read, or the
        other data of the stripe where that is less, and both are written.
        """
        touched = 1 + crossings(request, self.element, shift)
        if not self.parity:
            return touched * self.copies
        return touched * (min(1 + self.parity, self.data - 1) + 1 + self.parity)


def crossings(request: int, boundary: int, shift: int) -> Fraction:
    """How many boundaries lie within a random request, on the average: a share, where requests are short.

    Requests of ``request`` bytes begin at multiples of their size, ``shift`` bytes off the boundaries' own grid;
    a boundary is every ``boundary`` bytes.
    """
    grid = math.gcd(request, boundary)
    return Fraction(request if shift % grid else request - grid, boundary)


def of_array(array: Array) -> Stripe | None:
    """How a running array deals out its data; None for levels without stripes (raid1, linear)."""
    if not array.chunk:
        return None
    if array.level == "raid10":
        # near copies in the low byte, far ones (or offset ones) in the second (drivers/md/raid10.c)
        copies = (array.layout & 0xFF) * (array.layout >> 8 & 0xFF) or 1
        whole, rest = divmod(array.disks, copies)
        return Stripe(array.chunk, array.disks if rest else whole, copies)
    if array.level in _PARITY:
        parity = _PARITY[array.level]
        return Stripe(array.chunk, array.disks - parity, parity=parity)
    return Stripe(array.chunk, array.disks) if array.level == "raid0" else None


def of_disk(disk: Disk, believed: int) -> Stripe | None:
    """The stripes of a controller's virtual disk, where its optimal request size is ``believed`` (more than 1).

    The word of the controller's tool counts before what the disk reports. Of the disk's own sizes, the minimal one
    is the strip, where it says one; of parity it tells nothing. None for a disk without stripes.
    """
    if told := disk.striping:
        return Stripe(told.unit, told.data_disks, told.copies, told.parity) if told.data_disks > 1 else None
    if believed <= disk.limits.physical_block:
        return None
    strip = disk.limits.minimum_io
    if strip <= disk.limits.physical_block or believed % strip:
        strip = believed
    return Stripe(strip, believed // strip)
