"""LVM as its own report tells: physical volumes, volume groups, logical volumes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PhysicalVolume:
    """A device in a volume group, or waiting for one; ``start`` (pe_start) and ``size`` in bytes."""

    device: str
    uuid: str
    group: str
    """The group's UUID; nothing for an orphan."""
    start: int
    size: int
    missing: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of extents of a logical volume; ``start`` is where it begins on the physical volume, in extents."""

    type: str
    device: str
    start: int
    extents: int


@dataclass(frozen=True, slots=True)
class LogicalVolume:
    """A logical volume; ``device`` is the kernel's name while it is active, else nothing."""

    name: str
    uuid: str
    size: int
    tags: frozenset[str]
    active: bool
    open: bool
    """Something uses its device: a mount, a virtual machine."""
    device: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class VolumeGroup:
    """A volume group with all that it holds; sizes in bytes, counts in extents."""

    name: str
    uuid: str
    tags: frozenset[str]
    extent_size: int
    extents: int
    free: int
    missing: int
    """How many of its physical volumes are not there."""
    physical: tuple[PhysicalVolume, ...]
    logical: tuple[LogicalVolume, ...]

    def volume(self, name: str) -> LogicalVolume | None:
        """The logical volume of that name."""
        return next((volume for volume in self.logical if volume.name == name), None)


def groups_from_facts(facts: Mapping[str, Any]) -> tuple[tuple[VolumeGroup, ...], tuple[PhysicalVolume, ...]]:
    """The volume groups, and the physical volumes that belong to none."""
    groups: list[VolumeGroup] = []
    orphans: list[PhysicalVolume] = []
    names = _Names(facts)
    for part in facts["lvm"] or ():
        physical = tuple(_physical(row, names) for row in part.get("pv", ()))
        if not part.get("vg"):
            orphans.extend(volume for volume in physical if not volume.group)
            continue
        row = part["vg"][0]
        segments = _segments(part.get("seg", ()), names)
        groups.append(
            VolumeGroup(
                name=row["vg_name"],
                uuid=row["vg_uuid"],
                tags=_tags(row["vg_tags"]),
                extent_size=int(row["vg_extent_size"]),
                extents=int(row["vg_extent_count"]),
                free=int(row["vg_free_count"]),
                missing=int(row["vg_missing_pv_count"]),
                physical=physical,
                logical=tuple(_logical(volume, row["vg_uuid"], segments, names) for volume in part.get("lv", ())),
            )
        )
    return tuple(groups), tuple(orphans)


class _Names:
    """From LVM's names to the kernel's."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        blocks = facts["blocks"]
        numbers = {str(device["number"]): name for name, device in blocks.items()}
        rows = [row for part in facts["lvm"] or () for row in part.get("pv", ())]
        self._physical: dict[str, str] = {
            row["pv_name"]: numbers.get(f"{row['pv_major']}:{row['pv_minor']}", "") for row in rows
        }
        self._logical: dict[str, str] = {
            device["dm"]["uuid"]: name for name, device in blocks.items() if "dm" in device
        }

    def physical(self, name: str) -> str:
        """The device of a physical volume; nothing for a missing one."""
        return self._physical.get(name, "")

    def logical(self, group: str, volume: str) -> str:
        """The device of an active logical volume, by the UUIDs."""
        return self._logical.get(f"LVM-{group.replace('-', '')}{volume.replace('-', '')}", "")


def _tags(text: str) -> frozenset[str]:
    return frozenset(tag for tag in text.split(",") if tag)


def _physical(row: Mapping[str, str], names: _Names) -> PhysicalVolume:
    return PhysicalVolume(
        device=names.physical(row["pv_name"]),
        uuid=row["pv_uuid"],
        group=row["vg_uuid"],
        start=int(row["pe_start"] or 0),
        size=int(row["pv_size"] or 0),
        missing=bool(row["pv_missing"]),
    )


def _segments(rows: Sequence[Mapping[str, str]], names: _Names) -> dict[str, tuple[Segment, ...]]:
    """The segments of every volume, in the volume's order."""
    found: dict[str, list[tuple[int, Segment]]] = {}
    for row in rows:
        for device, start, extents in _ranges(row["seg_pe_ranges"]):
            segment = Segment(row["segtype"], names.physical(device), start, extents)
            found.setdefault(row["lv_uuid"], []).append((int(row["seg_start_pe"]), segment))
    return {
        volume: tuple(segment for _, segment in sorted(entries, key=lambda entry: entry[0]))
        for volume, entries in found.items()
    }


def _ranges(text: str) -> Iterator[tuple[str, int, int]]:
    """``/dev/md127:0-999`` as device, first extent and count; a striped segment has several, apart by blanks."""
    for word in text.split():
        device, _, run = word.rpartition(":")
        first, _, last = run.partition("-")
        if device.startswith("/") and first.isdigit() and last.isdigit():
            yield device, int(first), int(last) - int(first) + 1


def _logical(
    row: Mapping[str, str], group: str, segments: Mapping[str, tuple[Segment, ...]], names: _Names
) -> LogicalVolume:
    return LogicalVolume(
        name=row["lv_name"],
        uuid=row["lv_uuid"],
        size=int(row["lv_size"] or 0),
        tags=_tags(row["lv_tags"]),
        active=row["lv_active"] == "active",
        open=row["lv_attr"][5:6] == "o",
        device=names.logical(group, row["lv_uuid"]),
        segments=segments.get(row["lv_uuid"], ()),
    )
