"""The file systems that a volume may hold: how each is made, named in fstab, and known to be in use."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stackctl.hardware.machine import Machine
from stackctl.site.models import Volume
from stackctl.site.values import FileSystem
from stackctl.storage.alignment import PAGE, log_stripe_unit
from stackctl.storage.chain import Stripes
from stackctl.storage.marks import FSTAB_OPTION, Marks, shorten
from stackctl.units import KIB

_ACCESS_TIMES = frozenset({"noatime", "relatime", "strictatime"})
NOWHERE = "none"
"""What fstab has in the place of a path for swap space (fstab(5))."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file system: its tool's words, and what it learns of the stripes."""

    tool: tuple[str, ...]
    """The program that makes it, with what is always said."""
    label_length: int
    stripes: Callable[[int, int], Stripes | None] = lambda chunk, data_disks: None
    """What it is told of stripes of ``chunk`` bytes (0 on a mirror) over ``data_disks``; None where it knows none."""
    words: Callable[[int, int], tuple[str, ...]] = lambda chunk, data_disks: ()
    """The same for its tool."""
    check: int = 0
    """When it is checked at boot, as fstab has it; 0 where mounting does all that is needed."""

    def label(self, volume: str) -> str:
        """The label of the file system on a volume."""
        return shorten(volume, self.label_length)


def _xfs_stripes(chunk: int, data_disks: int) -> Stripes:
    return Stripes("XFS", chunk, chunk * data_disks, log_stripe_unit(chunk))


def _xfs_words(chunk: int, data_disks: int) -> tuple[str, ...]:
    if not chunk:
        return ("-d", "noalign")
    return ("-d", f"su={chunk // KIB}k,sw={data_disks}", "-l", f"su={log_stripe_unit(chunk) // KIB}k")


def _ext4_stripes(chunk: int, data_disks: int) -> Stripes:
    return Stripes("ext4", chunk, chunk * data_disks)


def _ext4_words(chunk: int, data_disks: int) -> tuple[str, ...]:
    stride = chunk // PAGE
    return ("-b", str(PAGE), *(("-E", f"stride={stride},stripe_width={stride * data_disks}") if chunk else ()))


KINDS: Mapping[FileSystem, Kind] = {
    "xfs": Kind(("mkfs.xfs", "-q", "-f"), 12, _xfs_stripes, _xfs_words),
    "ext4": Kind(("mkfs.ext4", "-q", "-F"), 16, _ext4_stripes, _ext4_words, check=2),
    "swap": Kind(("mkswap", "--quiet"), 15),
}
"""By the site's word for it."""


def options(marks: Marks, name: str, volume: Volume, kernel: str) -> tuple[str, ...]:
    """What fstab says of a volume on a server that runs ``kernel``; the last words mark the line as ours."""
    if volume.filesystem == "swap":
        # a line without a path is known again by its volume
        return (*(volume.options or ("sw",)), FSTAB_OPTION, f"{FSTAB_OPTION}.volume={marks.group}/{name}")
    times = () if _ACCESS_TIMES & set(volume.options) else ("noatime",)
    # XFS's own default since Linux 3.7
    inodes = ("inode64",) if volume.filesystem == "xfs" and _version(kernel) < (3, 7) else ()
    return (*times, *inodes, *volume.options, FSTAB_OPTION)


def _version(kernel: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", kernel)
    return (int(match[1]), int(match[2])) if match else (99, 0)


def in_use(machine: Machine, device: str, volume: Volume) -> bool:
    """Whether what is on ``device`` is mounted where the volume is to be, or swapped to."""
    if volume.mount is None:
        return device in machine.swaps
    return any(mount.path == volume.mount for mount in machine.mounts_on(device))


def in_fstab(machine: Machine, device: str, volume: Volume, wanted: tuple[str, ...]) -> bool:
    """Whether fstab names what is on ``device``, by UUID, with the ``wanted`` options, and nothing else there."""
    filesystem = machine.filesystem(device)
    if filesystem is None:
        return False
    source, path = f"UUID={filesystem.uuid}", volume.mount or NOWHERE
    lines = [
        entry
        for entry in machine.fstab
        if entry.source == source or (entry.path == path if volume.mount else set(wanted[-2:]) <= set(entry.options))
    ]
    return len(lines) == 1 and all(
        entry.source == source
        and entry.path == path
        and entry.type == volume.filesystem
        and set(wanted) <= set(entry.options)
        for entry in lines
    )
