"""From what holds data down to what deals it out: where each layer begins on the disk or array at the bottom."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from stackctl.hardware.array import Array
from stackctl.hardware.disk import Disk, Partition
from stackctl.hardware.lvm import LogicalVolume, VolumeGroup
from stackctl.hardware.machine import Machine


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: what begins there, and where on the ground, in bytes."""

    kind: str
    """`partition`, `md data`, `PV data` or `LV`."""
    subject: str
    start: int


@dataclass(frozen=True, slots=True)
class Path:
    """The layers between the ground (a disk, an array) and what holds data, the lowest first."""

    ground: Disk | Array
    layers: tuple[Layer, ...] = ()

    @property
    def start(self) -> int:
        """Where the uppermost layer begins on the ground, in bytes."""
        return self.layers[-1].start if self.layers else 0

    def then(self, kind: str, subject: str, further: int) -> "Path":
        """The path with a layer more, which begins ``further`` bytes into the one below."""
        return replace(self, layers=(*self.layers, Layer(kind, subject, self.start + further)))


@dataclass(frozen=True, slots=True)
class Holder:
    """Something that holds data, and the ways down from it: one, or one for each run of a volume."""

    kind: str
    """`array member`, `volume` or `device`."""
    subject: str
    device: str
    """The kernel's name; nothing for a volume that is not active."""
    paths: tuple[Path, ...]


def holders(machine: Machine) -> Iterator[Holder]:
    """All that holds data on a machine: members of arrays, logical volumes, and devices that are used as they are.

    What cannot be followed down (dm-crypt, thin volumes) has no paths.
    """
    for array in machine.arrays:
        for member in array.members:
            below = _below(machine, member.device)
            paths = tuple(path.then("md data", title(array), member.data_offset) for path in below)
            yield Holder("array member", f"{_title(machine, member.device)} in {title(array)}", member.device, paths)
    for group in machine.groups:
        for volume in group.logical:
            subject = f"{group.name}/{volume.name}"
            yield Holder("volume", subject, volume.device, tuple(_below_volume(machine, group, volume)))
    for device in _plain(machine):
        yield Holder("device", _title(machine, device), device, tuple(_below(machine, device)))


def _plain(machine: Machine) -> Iterator[str]:
    """Devices that are mounted, swapped to, or hold a file system, and are no logical volumes."""
    used = [mount.device for mount in machine.mounts]
    used += [filesystem.device for filesystem in machine.filesystems]
    used += machine.swaps
    for device in dict.fromkeys(used):
        if machine.kind(device) not in ("", "loop") and machine.volume_of(device) is None:
            yield device


def _below(machine: Machine, device: str) -> Iterator[Path]:
    """The ways down from a device."""
    wholes: tuple[Disk | Array, ...] = (*machine.disks, *machine.arrays)
    for whole in wholes:
        name = whole.name if isinstance(whole, Disk) else whole.device
        if device == name:
            yield Path(whole)
        for part in whole.partitions:
            if device == part.name:
                yield Path(whole).then("partition", _part(whole, part), part.start)
    if found := machine.volume_of(device):
        yield from _below_volume(machine, *found)


def _below_volume(machine: Machine, group: VolumeGroup, volume: LogicalVolume) -> Iterator[Path]:
    starts = {physical.device: physical.start for physical in group.physical}
    for segment in volume.segments:
        for path in _below(machine, segment.device) if segment.device in starts else ():
            lower = path.then("PV data", group.name, starts[segment.device])
            yield lower.then("LV", f"{group.name}/{volume.name}", segment.start * group.extent_size)


def _title(machine: Machine, device: str) -> str:
    path = next(_below(machine, device), None)
    if path is None:
        return device
    return path.layers[-1].subject if path.layers else title(path.ground)


def _part(whole: Disk | Array, part: Partition) -> str:
    return f"{title(whole)}, partition {part.index}"


def title(whole: Disk | Array) -> str:
    """A disk by its serial number or WWN, an array by its name; the kernel's name where there is none."""
    return whole.key or whole.name if isinstance(whole, Disk) else whole.name or whole.device
