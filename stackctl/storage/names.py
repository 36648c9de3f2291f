"""What else may stand in the way of a layout: names that are taken, folders that are not empty."""

from collections.abc import Iterator, Sequence

from stackctl.errors import InputError, StackctlError
from stackctl.hardware.disk import Disk
from stackctl.hardware.machine import Machine
from stackctl.site.models import Layout
from stackctl.storage.levels import level_of
from stackctl.storage.marks import FSTAB_OPTION, Marks
from stackctl.storage.ownership import Holding


def check_names(layout: Layout, machine: Machine, marks: Marks, held: Holding, wiped: Sequence[Disk]) -> None:
    """Raise InputError when a name is taken by what is not ours, StackctlError when a mount point is in use."""
    ours = {disk.name for disk in (*wiped, *held.marked)}
    for group in machine.groups:
        if group.name == marks.group and not (held.group and group.uuid == held.group.uuid):
            below = {disk.name: disk for volume in group.physical for disk in machine.disks_below(volume.device)}
            if not below or set(below) - ours:
                titles = ", ".join(disk.title for disk in below.values()) or "disks that are not there"
                raise InputError(
                    f"volume_group: {group.name} is the name of another volume group, on {titles}",
                    hint="give the layout's volume group another name",
                )
    for array in machine.arrays if level_of(layout.raid).array else ():
        if array.name == marks.array_name and {disk.name for disk in machine.disks_below(array.device)} - ours:
            raise InputError(
                f"volume_group: {array.name} is the name of another md array, {array.device}",
                hint="give the layout's volume group, whose name the array takes, another name",
            )
    if problems := [problem for name in layout.mounts for problem in _mount_point(name, layout, machine, held)]:
        raise StackctlError("\n".join(problems), hint="move what is there, or mount the volume elsewhere")


def _mount_point(name: str, layout: Layout, machine: Machine, held: Holding) -> Iterator[str]:
    path = layout.mounts[name]
    here = held.group.volume(name) if held.group else None
    mounted = [mount for mount in machine.mounts if mount.path == path]
    for mount in mounted:
        if here is None or mount.device != here.device:
            yield f"volumes.{name}: {path} is where {mount.device} ({mount.type}) is mounted"
    for entry in machine.fstab:
        if entry.path == path and FSTAB_OPTION not in entry.options:
            yield f"volumes.{name}: /etc/fstab already mounts {entry.source} at {path}"
    folder = machine.folders.get(path)
    if folder and folder.exists and not mounted:
        if not folder.folder:
            yield f"volumes.{name}: {path} is not a folder"
        elif not folder.empty:
            yield f"volumes.{name}: {path} holds files that the mount would hide"
