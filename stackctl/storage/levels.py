"""RAID levels: how many disks hold data, and the words of mdadm and the kernel for them."""

from dataclasses import dataclass

from stackctl.site.models import Raid


@dataclass(frozen=True, slots=True)
class Level:
    """A RAID level as md builds it."""

    name: str
    """The kernel's word."""
    layout: str = ""
    """mdadm's word for how data lies on the disks; nothing where there is one way."""
    layout_number: int | None = 0
    """The kernel's number for the same; None where it may be any."""
    copies: int = 1
    """How many disks hold each chunk; 0 is all of them."""
    far: int = 1
    """In so many parts, one a copy, each member is used."""
    parity: int = 0
    """How many disks' worth of parity there is."""
    array: bool = True
    """Whether md makes an array: not of a disk that is taken as it is."""

    @property
    def striped(self) -> bool:
        """Whether data is dealt out in chunks: not in a plain mirror."""
        return self.copies > 0

    @property
    def redundant(self) -> bool:
        """Whether it outlives a disk."""
        return self.array and (self.copies != 1 or self.parity > 0)

    def data_disks(self, disks: int) -> int:
        """How many of ``disks`` hold data that no other disk holds: the stripe is so many chunks wide."""
        return (disks - self.parity) // (self.copies or disks)


# The numbers of RAID10: near copies in the low byte, far ones in the second, 0x10000 for offset
# (drivers/md/raid10.c); 2 is left-symmetric (drivers/md/raid5.h).
_LEVELS: dict[tuple[int | str, str | None], Level] = {
    ("none", None): Level("none", copies=0, array=False),
    (0, None): Level("raid0", layout_number=None),  # of zones of several sizes, of which ours have one
    (1, None): Level("raid1", copies=0),
    (5, None): Level("raid5", "left-symmetric", 2, parity=1),
    (6, None): Level("raid6", "left-symmetric", 2, parity=2),
    (10, "near"): Level("raid10", "n2", 0x102, copies=2),
    (10, "far"): Level("raid10", "f2", 0x201, copies=2, far=2),
    (10, "offset"): Level("raid10", "o2", 0x10201, copies=2, far=2),
}


def level_of(raid: Raid) -> Level:
    """The level that a site asks for."""
    return _LEVELS[raid.level, raid.layout or "near" if raid.level == 10 else None]
