"""Reading back: what a live machine has of a layout, and whether every layer is there, aligned, and kept at boot."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stackctl.hardware.array import Array
from stackctl.hardware.filesystem import Filesystem
from stackctl.hardware.lvm import LogicalVolume, VolumeGroup
from stackctl.hardware.machine import Machine
from stackctl.site.models import Layout, Volume
from stackctl.site.values import TITLES
from stackctl.storage import chain
from stackctl.storage.alignment import Link
from stackctl.storage.filesystems import KINDS, NOWHERE, in_fstab, in_use, options
from stackctl.storage.levels import Level, level_of
from stackctl.storage.marks import GROUP_TAG, NEW_TAG, OURS, Marks
from stackctl.storage.numbers import numbers_of
from stackctl.units import format_size


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what it should be, what it is."""

    layer: str
    subject: str
    expected: str
    found: str
    ok: bool

    def __str__(self) -> str:
        return f"{self.layer} {self.subject}: {self.found}" + ("" if self.ok else f", expected {self.expected}")

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def check(layout: Layout, machine: Machine) -> list[Finding]:
    """Every layer of ``layout`` on ``machine``, from the partitions to the boot image; ``ok`` where all is well."""
    return list(_check(layout, machine))


def faults(findings: list[Finding]) -> list[Finding]:
    """The findings that are not as they should be."""
    return [finding for finding in findings if not finding.ok]


def _check(layout: Layout, machine: Machine) -> Iterator[Finding]:
    level = level_of(layout.raid)
    name = Marks("", layout.volume_group).array_name
    group = next((found for found in machine.groups if found.name == layout.volume_group), None)
    array = _array(machine, group, name) if level.array else None
    if level.array:
        yield _present("array", name, array is not None)
    if array:
        yield from _array_findings(array, layout, level, machine)
        yield from _partition_findings([member.device for member in array.members], layout, machine)
    elif group and not level.array:
        yield from _partition_findings([volume.device for volume in group.physical], layout, machine)
    yield _present("volume group", layout.volume_group, group is not None)
    if array or (group and not level.array):
        for link in chain.links(numbers_of(machine, array, group)):
            yield _aligned(link)
    if group:
        tags = ", ".join(sorted(group.tags))
        yield Finding("volume group", f"{group.name}, tags", GROUP_TAG, tags or "none", GROUP_TAG in group.tags)
    for volume_name in layout.volumes:
        yield from _volume_findings(volume_name, layout, level, machine, group)
    if array:
        yield from _boot_findings(array, machine)


def _array(machine: Machine, group: VolumeGroup | None, name: str) -> Array | None:
    physical = {volume.device for volume in group.physical} if group else set()
    under = (array for array in machine.arrays if array.device in physical)
    named = (array for array in machine.arrays if array.name == name)
    return next(under, None) or next(named, None)


def _present(layer: str, subject: str, there: bool) -> Finding:
    return Finding(layer, subject, "present", "present" if there else "missing", there)


def _aligned(link: Link) -> Finding:
    off = "" if link.aligned else f", off by {link.off}"
    expected = f"a multiple of {link.multiple_of} ({link.why})"
    return Finding(f"alignment, {link.layer}", link.subject, expected, f"{link.value}{off}", link.aligned)


def _array_findings(array: Array, layout: Layout, level: Level, machine: Machine) -> Iterator[Finding]:
    count, spares = layout.active_disks, layout.raid.spares
    yield _same("array", f"{array.name}, level", level.name, array.level)
    if level.layout_number is not None:
        yield _same("array", f"{array.name}, layout", f"{level.layout_number:#x}", f"{array.layout:#x}")
    yield _same("array", f"{array.name}, chunk", format_size(_chunk(layout, level)), format_size(array.chunk))
    yield _same("array", f"{array.name}, members", f"{count} of {count}", f"{len(array.slots)} of {array.disks}")
    waiting = sum(1 for member in array.members if member.slot is None and member.works)
    if spares or waiting:
        yield _same("array", f"{array.name}, spares", str(spares), str(waiting))
    if level.redundant:
        expected = layout.raid.bitmap
        yield Finding(
            "array", f"{array.name}, bitmap", expected, array.bitmap, array.has_bitmap == (expected == "internal")
        )


def _partition_findings(devices: Sequence[str], layout: Layout, machine: Machine) -> Iterator[Finding]:
    """The partitions that the layout lies on, and the tables that they stand in."""
    labels = {part.name: part.label for disk in machine.disks for part in disk.partitions}
    mark = f"{OURS}:{layout.volume_group}:"[:28]
    for device in devices:
        label = labels.get(device, "")
        ours = label.startswith(mark)
        yield Finding("partition", f"{_disk(machine, device)}, name", f"{mark}…", label or "none", ours)
    for disk in machine.disks:
        copies = sum(1 for signature in disk.signatures if signature.type == "gpt")
        if any(machine.disk_of(device) == disk.name for device in devices):
            yield _same("partition", f"{disk.key}, copies of the table", "2", str(copies))


def _disk(machine: Machine, device: str) -> str:
    name = machine.disk_of(device)
    return next((disk.key for disk in machine.disks if disk.name == name), device)


def _volume_findings(
    name: str, layout: Layout, level: Level, machine: Machine, group: VolumeGroup | None
) -> Iterator[Finding]:
    subject = f"{layout.volume_group}/{name}"
    volume = group.volume(name) if group else None
    yield _present("volume", subject, volume is not None)
    if volume is None:
        return
    yield Finding("volume", f"{subject}, complete", "yes", *_complete(volume))
    wanted = layout.volumes[name]
    filesystem = machine.filesystem(volume.device)
    found = TITLES[filesystem.type] if filesystem else "missing"
    yield _same("file system", subject, TITLES[wanted.filesystem], found)
    if filesystem is None or filesystem.type != wanted.filesystem:
        return
    yield from _stripe_findings(subject, _stripe(layout, level, machine, group), filesystem)
    said = options(Marks("", layout.volume_group), name, wanted, machine.host.kernel)
    yield from _use_findings(subject, wanted, said, machine, volume)
    path = wanted.mount or NOWHERE
    source = f"UUID={filesystem.uuid}"
    kept = in_fstab(machine, volume.device, wanted, said)
    expected = f"{source} {path} {wanted.filesystem} {','.join(said)}"
    lines = [
        f"{entry.source} {entry.path} {entry.type} {','.join(entry.options)}"
        for entry in machine.fstab
        if entry.source == source or entry.path == path != NOWHERE
    ]
    yield Finding("fstab", wanted.mount or subject, expected, "; ".join(lines) or "no line", kept)


def _stripe_findings(subject: str, stripe: tuple[int, int], filesystem: Filesystem) -> Iterator[Finding]:
    wanted = KINDS[filesystem.type].stripes(*stripe)
    if wanted is None:
        return
    for what, expected, found in (
        ("stripe unit", wanted.unit, filesystem.stripe_unit),
        ("stripe width", wanted.width, filesystem.stripe_width),
        ("log unit", wanted.log_unit, filesystem.log_stripe_unit),
    ):
        yield _same("file system", f"{subject}, {what}", format_size(expected), format_size(found))


def _use_findings(
    subject: str, wanted: Volume, said: tuple[str, ...], machine: Machine, volume: LogicalVolume
) -> Iterator[Finding]:
    path = wanted.mount
    if path is None:
        yield _same("swap", subject, "in use", "in use" if in_use(machine, volume.device, wanted) else "not in use")
        return
    mount = next((found for found in machine.mounts_on(volume.device) if found.path == path), None)
    yield _present("mount", path, mount is not None)
    if mount:
        # what the kernel shows of the options: those that no file system renames
        seen = [word for word in said if word == "noatime"] + ["inode64"] * (wanted.filesystem == "xfs")
        shown = ", ".join(sorted(mount.options))
        yield Finding("mount", f"{path}, options", ", ".join(seen), shown, set(seen) <= mount.options)


def _stripe(layout: Layout, level: Level, machine: Machine, group: VolumeGroup | None) -> tuple[int, int]:
    """What file systems are to know: the element that is dealt out, and over how many disks."""
    if level.array:
        return _chunk(layout, level), level.data_disks(layout.active_disks)
    numbers = numbers_of(machine, None, group)
    return numbers.chunk, numbers.width // (numbers.chunk or numbers.width)


def _chunk(layout: Layout, level: Level) -> int:
    return layout.raid.chunk if level.striped else 0


def _complete(volume: LogicalVolume) -> tuple[str, bool]:
    new = NEW_TAG in volume.tags
    return ("its file system is not complete" if new else "yes"), not new


def _boot_findings(array: Array, machine: Machine) -> Iterator[Finding]:
    path = f"/dev/md/{array.name}"
    named = [entry.uuid for entry in machine.mdadm_conf if entry.device == path]
    yield _same("mdadm.conf", path, array.uuid, ", ".join(named) or "no line")
    for image, made in machine.initramfs.items():
        newer = made >= machine.mdadm_conf_changed
        found = "newer than mdadm.conf" if newer else "older than mdadm.conf"
        yield Finding("initramfs", image, "newer than mdadm.conf", found, newer)


def _same(layer: str, subject: str, expected: str, found: str) -> Finding:
    return Finding(layer, subject, expected, found, expected == found)
