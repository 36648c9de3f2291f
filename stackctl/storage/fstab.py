"""Whether a volume is mounted, now and at every boot, as a layout says."""

from stackctl.hardware.machine import Machine
from stackctl.storage.marks import FSTAB_OPTION

OPTIONS = ("noatime", FSTAB_OPTION)
"""inode64 is XFS's own default since Linux 3.7."""


def is_mounted(machine: Machine, device: str, path: str) -> bool:
    """Whether the file system on ``device`` is mounted at ``path``."""
    return bool(device) and any(mount.path == path for mount in machine.mounts_on(device))


def in_fstab(machine: Machine, device: str, path: str) -> bool:
    """Whether fstab mounts the file system on ``device`` at ``path``, by UUID, and nothing else there."""
    filesystem = machine.filesystem(device)
    if filesystem is None:
        return False
    source = f"UUID={filesystem.uuid}"
    lines = [entry for entry in machine.fstab if entry.path == path or entry.source == source]
    return len(lines) == 1 and all(
        entry.source == source and entry.path == path and entry.type == "xfs" and set(OPTIONS) <= set(entry.options)
        for entry in lines
    )
