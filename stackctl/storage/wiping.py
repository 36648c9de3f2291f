"""What the operator's word `--wipe SERIAL` may take, and what it may not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stackctl.hardware.array import Array
from stackctl.hardware.disk import Disk, Signature
from stackctl.hardware.lvm import VolumeGroup
from stackctl.hardware.machine import Machine
from stackctl.storage.contents import device_words, words

_SHARED = frozenset({"btrfs", "zfs_member", "linux_raid_member", "bcache"})
"""Kinds of which several disks carry one UUID because they are parts of one thing."""


@dataclass(frozen=True, slots=True)
class Release:
    """What lies on the disks that are wiped and must be stopped first, the uppermost first."""

    groups: tuple[tuple[str, str], ...]
    """Names and UUIDs of volume groups with active volumes."""
    arrays: tuple[tuple[str, str], ...]
    """Names and UUIDs of running arrays."""

    def without(self, array: Array, group: VolumeGroup | None) -> "Release":
        """The same, but for an array and its group."""
        return Release(
            tuple(entry for entry in self.groups if group is None or entry[1] != group.uuid),
            tuple(entry for entry in self.arrays if entry[1] != array.uuid),
        )


def objections(disk: Disk, wiped: Sequence[Disk], machine: Machine) -> tuple[str, ...]:
    """Why the disk may not be wiped even with the operator's word; nothing when it may."""
    return tuple(dict.fromkeys((*_uses(disk, machine), *_spread(disk, wiped, machine))))


def release(wiped: Sequence[Disk], machine: Machine) -> Release:
    """What must be stopped before the disks can be wiped."""
    upper = {name for disk in wiped for name in (disk.name, *machine.above(disk.name))}
    groups = [
        (group.name, group.uuid)
        for group in machine.groups
        if any(volume.device in upper for volume in group.physical) and any(volume.active for volume in group.logical)
    ]
    arrays = [array for array in machine.arrays if array.device in upper]
    arrays.sort(key=lambda array: len(machine.above(array.device)))
    return Release(tuple(groups), tuple((array.name or array.device, array.uuid) for array in arrays))


def _uses(disk: Disk, machine: Machine) -> Iterator[str]:
    """Uses that only whoever began them can end."""
    if disk.read_only:
        yield "it is read-only"
    for array in machine.arrays:
        if array.device in machine.above(disk.name) and not array.uuid.strip("0-"):
            # the kernel knows none of arrays of BIOS RAID, and the step that stops one names it by its UUID
            yield f"it is part of {device_words(array.device, machine)}: stop that first (mdadm --stop)"
    for name in (disk.name, *machine.above(disk.name)):
        for mount in machine.mounts_on(name):
            yield f"it is mounted at {mount.path}: unmount it first"
        if name in machine.swaps:
            yield "it is in use as swap: swapoff first"
        volume = machine.volume_of(name)
        if volume and volume[1].open and not machine.mounts_on(name) and name not in machine.swaps:
            if not any(upper for upper in machine.above(name)):
                yield f"{device_words(name, machine)} on it is open: stop what uses it first"
        elif machine.kind(name) == "stacked" or (machine.kind(name) == "dm" and not _is_lvm(name, machine)):
            yield f"it is held by {device_words(name, machine)}: close that first"


def _is_lvm(name: str, machine: Machine) -> bool:
    return machine.mapped(name)[1].startswith("LVM-")


def _spread(disk: Disk, wiped: Sequence[Disk], machine: Machine) -> Iterator[str]:
    """Things of which a part lies on disks that the operator has not named."""
    upper = machine.above(disk.name)
    named = {other.name for other in wiped}

    def others(what: str, devices: Sequence[str]) -> Iterator[str]:
        below = {lower.name: lower for device in devices for lower in machine.disks_below(device)}
        if rest := [lower.key or lower.name for name, lower in below.items() if name not in named]:
            yield f"{what} also lies on {', '.join(sorted(rest))}: name those too"

    for array in machine.arrays:
        if array.device in upper:
            yield from others(device_words(array.device, machine), [array.device])
    for group in machine.groups:
        physical = [volume.device for volume in group.physical if volume.device]
        if set(physical) & {disk.name, *upper}:
            yield from others(f"volume group {group.name}", physical)
    running = {array.uuid for array in machine.arrays if array.running}
    for signature in _signatures(disk):
        # a member that a running array does without is a leftover, and the array's other disks are not touched
        if signature.type in _SHARED and signature.uuid and signature.uuid not in running:
            for other in machine.disks:
                same = any(
                    (found.type, found.uuid) == (signature.type, signature.uuid) for found in _signatures(other)
                )
                if same and other.name not in named:
                    yield f"{words(signature)} also lies on {other.key or other.name}: name that too"


def _signatures(disk: Disk) -> tuple[Signature, ...]:
    return disk.signatures + tuple(signature for part in disk.partitions for signature in part.signatures)
