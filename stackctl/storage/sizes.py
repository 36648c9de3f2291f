"""How large each volume becomes: absolute, a share, the rest; always whole extents."""

from collections.abc import Mapping
from dataclasses import dataclass

from stackctl.errors import InputError
from stackctl.hardware.lvm import VolumeGroup
from stackctl.site.models import Layout
from stackctl.site.values import SMALLEST, TITLES
from stackctl.storage.marks import NEW_TAG
from stackctl.units import format_size


@dataclass(frozen=True, slots=True)
class Size:
    """A volume's size in extents, and whether it is there already."""

    extents: int
    exists: bool = False
    redo: bool = False
    """It is there from an unfinished run, in another size: it is taken away and made anew."""


def volume_sizes(
    layout: Layout, extent_size: int, extents: int, group: VolumeGroup | None, *, limit: str = ""
) -> Mapping[str, Size]:
    """The size of every volume of the layout in a group of ``extents``; volumes that are complete are kept.

    ``limit`` is the disk that keeps the group small, for people, where it is smaller than the others.

    Raises InputError when they do not fit, one is too small for a file system, or one that is complete has
    another size than the site says.
    """
    wanted = {
        name: _extents(layout, name, extent_size, extents)
        for name, volume in layout.volumes.items()
        if volume.parsed_size()[0] != "rest"
    }
    present = {name: found for name in layout.volumes if group and (found := group.volume(name))}
    complete = {name: here for name, here in present.items() if NEW_TAG not in here.tags}
    for name, here in complete.items():
        if name in wanted and here.size != wanted[name] * extent_size:
            raise InputError(
                f"volumes.{name}: it is {format_size(here.size)} on the server, the site says "
                f"{layout.volumes[name].size}, which is {format_size(wanted[name] * extent_size)}",
                hint=f"give it the size that it has: {here.size}",
            )
    free = group.free if group else extents
    room = free + sum(here.size // extent_size for name, here in present.items() if name not in complete)
    rest = room - sum(count for name, count in wanted.items() if name not in complete)
    new = {name: wanted.get(name, rest) for name in layout.volumes if name not in complete}
    _check(layout, new, extent_size, room, limit)
    sizes = {}
    for name in layout.volumes:
        count = new[name] if name in new else complete[name].size // extent_size
        redo = name in present and present[name].size != count * extent_size
        sizes[name] = Size(count, exists=name in present, redo=redo)
    return sizes


def _extents(layout: Layout, name: str, extent_size: int, extents: int) -> int:
    kind, number = layout.volumes[name].parsed_size()
    return extents * number // 100 if kind == "percent" else number // extent_size


def _check(layout: Layout, new: Mapping[str, int], extent_size: int, room: int, limit: str) -> None:
    larger = f"take larger disks: the array takes no more of each than {limit} has" if limit else "take larger disks"
    needed = sum(max(count, 0) for count in new.values())
    if needed > room:
        raise InputError(
            f"volumes: they need {format_size(needed * extent_size)}, and the volume group has room for "
            f"{format_size(room * extent_size)}",
            hint=f"make them smaller, or {larger}",
        )
    for name, count in new.items():
        size = max(count, 0) * extent_size
        kind = layout.volumes[name].filesystem
        if size < SMALLEST[kind]:
            raise InputError(
                f"volumes.{name}: {layout.volumes[name].size} comes to {format_size(size)}, "
                f"and {TITLES[kind]} wants {format_size(SMALLEST[kind])} at least",
                hint=f"make the other volumes smaller, or {larger}",
            )
