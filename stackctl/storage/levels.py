"""RAID levels: how many disks hold data, and the words of mdadm and the kernel for them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """A RAID level as md builds it."""

    name: str
    """The kernel's and mdadm's word."""
    layout: str
    """mdadm's word for how data lies on the disks."""
    layout_number: int
    """The kernel's number for the same."""
    copies: int
    """How many disks hold each chunk."""

    def data_disks(self, disks: int) -> int:
        """How many of ``disks`` hold data that no other disk holds: the stripe is so many chunks wide."""
        return disks // self.copies


LEVELS: dict[int, Level] = {
    # near=2 is 0x102: one far copy, two near ones (drivers/md/raid10.c)
    10: Level(name="raid10", layout="n2", layout_number=0x102, copies=2),
}
"""By the number that a site gives."""
