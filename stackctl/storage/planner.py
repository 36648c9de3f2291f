"""The planner: a layout and a machine become a Plan, or a refusal that says why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stackctl.errors import InputError, StackctlError
from stackctl.hardware.disk import Disk
from stackctl.hardware.machine import Machine
from stackctl.site.models import Layout
from stackctl.site.values import TITLES
from stackctl.storage import alignment, chain, joining, steps
from stackctl.storage.alignment import Geometry
from stackctl.storage.chain import Numbers, Stripes
from stackctl.storage.contents import Contents, State, contents
from stackctl.storage.filesystems import KINDS, in_fstab, in_use, options
from stackctl.storage.levels import Level, level_of
from stackctl.storage.marks import NEW_TAG, Marks
from stackctl.storage.names import check_names
from stackctl.storage.numbers import member_on, next_extent, numbers_of
from stackctl.storage.ownership import Holding, holding, partition_is_right, partition_type
from stackctl.storage.plan import Plan, PlannedDisk, Step
from stackctl.storage.refusal import released
from stackctl.storage.select import claimed, select
from stackctl.storage.sizes import Size, volume_sizes
from stackctl.storage.wiping import Release, release


def plan(host: str, layout: Layout, machine: Machine, wipe: frozenset[str] = frozenset()) -> Plan:
    """What is left to do so that ``machine``, the server ``host``, carries ``layout``.

    ``wipe`` holds the serial numbers (or WWNs) of disks that the operator releases, whatever is on them. A disk
    that already carries the layout needs no release, and loses nothing by one.

    Raises RefusedError when a disk holds what is neither ours nor released, InputError when the layout does not
    fit the machine, StackctlError when something else is in the way.
    """
    marks = Marks(host, layout.volume_group)
    level = level_of(layout.raid)
    disks = select(layout.disks, machine, marks)
    _check_sectors(disks)
    geometry = alignment.geometry(disks, level, layout.raid.chunk, active=layout.active_disks)
    found = contents(disks, machine, marks, array=level.array)
    count = layout.disks.count
    held = holding(found, machine, marks, level, geometry, count)
    wiped = released(held, machine, wipe)
    if wiped:
        found = tuple(Contents(f.disk, State.BLANK, f.holds, (), None) if f.disk in wiped else f for f in found)
        held = holding(found, machine, marks, level, geometry, count)
    check_names(layout, machine, marks, held, wiped)
    return _Draft(layout, machine, marks, level, geometry, held, wiped).plan()


def _check_sectors(disks: Sequence[Disk]) -> None:
    if len({disk.limits.logical_block for disk in disks}) > 1:
        listed = "\n".join(f"  {disk.title}: {disk.limits.logical_block} bytes" for disk in disks)
        raise InputError(
            f"the layout's disks have logical sectors of different sizes:\n{listed}",
            hint="take disks of one kind, or reformat them to one sector size (nvme format, sg_format)",
        )


@dataclass(frozen=True)
class _Draft:
    """All that is known when the steps are drawn up."""

    layout: Layout
    machine: Machine
    marks: Marks
    level: Level
    geometry: Geometry
    held: Holding
    wiped: tuple[Disk, ...]

    @property
    def disks(self) -> tuple[Disk, ...]:
        return tuple(found.disk for found in self.held.contents)

    def plan(self) -> Plan:
        group = self.held.group
        if self.held.assemble:
            return self._plan([steps.assemble(self.held.marked, self.marks, self.held.assemble)], {}, more=True)
        if group and any(volume.name in self.layout.volumes and not volume.device for volume in group.logical):
            return self._plan([steps.activate(self.marks)], {}, more=True)
        extent_size = group.extent_size if group else self.geometry.extent_size
        extents = group.extents if group else self.geometry.extents
        smallest = min(self.disks, key=lambda disk: disk.size)
        limit = smallest.title if not group and any(disk.size > smallest.size for disk in self.disks) else ""
        sizes = volume_sizes(self.layout, extent_size, extents, group, limit=limit)
        return self._plan([*self._steps(sizes, extent_size)], sizes)

    def _plan(self, planned: Sequence[Step], sizes: Mapping[str, Size], *, more: bool = False) -> Plan:
        return Plan(
            host=self.marks.host,
            group=self.marks.group,
            disks=tuple(self._disk(found) for found in self.held.contents),
            steps=tuple(planned),
            alignment=chain.links(self._numbers(sizes)),
            notes=self.held.notes,
            more=more,
        )

    def _disk(self, found: Contents) -> PlannedDisk:
        disk = found.disk
        if any(found.disk == disk for found in self.held.joining):
            first = "everything on it is destroyed, then it" if disk in self.wiped else "it"
            fate = f"{first} takes a place in the array that a lost disk has left"
        elif disk in self.wiped:
            fate = "everything on it is destroyed, then it is prepared"
        elif self.held.finished:
            fate = "kept: it carries this layout" if found.partition else "left alone"
        elif found.state is State.UNFINISHED:
            fate = "prepared further: an earlier run did not finish"
        else:
            fate = "prepared: it is blank"
        return PlannedDisk(disk.key, disk.title, disk.size, found.holds, fate, disk.fingerprint)

    def _steps(self, sizes: Mapping[str, Size], extent_size: int) -> Iterator[Step]:
        yield from self._clearing()
        if not self.held.finished:
            yield from self._array_and_group()
        yield from joining.join(self.held, self.marks, self.level, self.geometry)
        if self.held.finished and self._bitmap_differs():
            yield steps.bitmap(self.marks, self.layout.raid)
        fresh = [found.disk for found in self.held.joining]
        claims = [disk for disk in self.disks if not self.held.finished or disk in fresh or claimed(disk, self.marks)]
        if claims:
            yield steps.unclaim(claims, self.marks)
        named = self._array_is_named()
        if not named:
            yield steps.mdadm_conf(self.marks)
        for name, size in sizes.items():
            if not size.exists or size.redo:
                yield steps.volume(self.marks, name, size.extents, extent_size, redo=size.redo)
        yield from self._filesystems(sizes)
        yield from self._mounts(sizes)
        if not named or self._initramfs_is_stale():
            yield steps.initramfs()

    def _clearing(self) -> Iterator[Step]:
        """What must go before anything is made: what the operator has released, what an unfinished run left."""
        what = release(self.wiped, self.machine)
        if self.held.finished and self.held.array:  # what is kept is not stopped for a member that it has put out
            what = what.without(self.held.array, self.held.group)
            yield from joining.leave(self.wiped, self.held.array, self.marks)
        if what.groups or what.arrays:
            yield steps.release(self.wiped, what, unfinished=False)
        for found in self.held.contents:
            if found.disk in self.wiped:
                yield steps.wipe(found.disk, found.holds)
        if self.held.leftovers:
            arrays = tuple((array.name or array.device, array.uuid) for array in self.held.leftovers)
            yield steps.release(self.held.marked, Release((), arrays), unfinished=True)

    def _array_and_group(self) -> Iterator[Step]:
        if self.held.array is None and self.held.group is None:
            again = []
            for found in self.held.contents:
                if not partition_is_right(found, self.geometry, self.level):
                    yield steps.partition(found.disk, self.marks, self.geometry, partition_type(self.level))
                elif found.partition and found.partition.signatures:
                    again.append(found.disk)
            if self.level.array:
                yield steps.array(self.disks, self.marks, self.layout.raid, self.geometry, again=again)
        if self.held.group is None:
            yield steps.group(self.disks, self.marks, self.geometry, array=self.level.array, orphan=self.held.orphan)

    def _filesystems(self, sizes: Mapping[str, Size]) -> Iterator[Step]:
        for name, volume in self.layout.volumes.items():
            if self._is_new(name, sizes):
                yield steps.filesystem(self.marks, name, volume.filesystem, self.geometry)
                continue
            found = self.machine.filesystem(self._device(name))
            if found is None or found.type != volume.filesystem:
                holds = f"holds {TITLES[found.type]}" if found else f"holds no {TITLES[volume.filesystem]} now"
                wanted = f"; the site says {TITLES[volume.filesystem]}" if found else ""
                raise StackctlError(
                    f"the volume {self.marks.group}/{name} was completed once, and {holds}{wanted}",
                    hint="stackctl makes no file system on a volume that has held one; look at it with wipefs, "
                    "and remove the volume (lvremove) if nothing on it is of worth",
                )

    def _is_new(self, name: str, sizes: Mapping[str, Size]) -> bool:
        """Whether the volume's file system is still to be made."""
        here = self.held.group.volume(name) if self.held.group else None
        return here is None or NEW_TAG in here.tags or sizes[name].redo

    def _device(self, name: str) -> str:
        here = self.held.group.volume(name) if self.held.group else None
        return here.device if here else ""

    def _mounts(self, sizes: Mapping[str, Size]) -> Iterator[Step]:
        new = {name for name in self.layout.volumes if self._is_new(name, sizes)}
        if missing := {
            name: volume for name, volume in self.layout.volumes.items() if name in new or not self._is_listed(name)
        }:
            yield steps.fstab(self.marks, missing, self.machine.host.kernel)
        for name, volume in self.layout.volumes.items():
            if name in new or not in_use(self.machine, self._device(name), volume):
                yield steps.use(self.marks, name, volume)

    def _is_listed(self, name: str) -> bool:
        """Whether fstab has what it should have of a volume."""
        volume = self.layout.volumes[name]
        wanted = options(self.marks, name, volume, self.machine.host.kernel)
        return in_fstab(self.machine, self._device(name), volume, wanted)

    def _bitmap_differs(self) -> bool:
        """Whether the running array has not the bitmap that it should have, and can get it now: md makes and
        drops none while it resyncs."""
        array = self.held.array
        if array is None or not self.level.redundant or array.sync not in ("", "idle"):
            return False
        return array.has_bitmap != (self.layout.raid.bitmap == "internal")

    def _array_is_named(self) -> bool:
        """Whether mdadm.conf names the array, where there is one to name."""
        if not self.level.array:
            return True
        array = self.held.array
        lines = [entry for entry in self.machine.mdadm_conf if entry.device == self.marks.array_path]
        return array is not None and [entry.uuid for entry in lines] == [array.uuid]

    def _initramfs_is_stale(self) -> bool:
        return self.level.array and any(
            made < self.machine.mdadm_conf_changed for made in self.machine.initramfs.values()
        )

    def _numbers(self, sizes: Mapping[str, Size]) -> Numbers:
        """The chain's numbers: as they are where something is there, as planned where it will be."""
        held, geometry = self.held, self.geometry
        if held.array or (held.group and not self.level.array):
            numbers = numbers_of(self.machine, held.array, held.group)
            numbers = replace(numbers, members=(*numbers.members, *joining.members(held, geometry)))
        else:
            numbers = Numbers(
                members=tuple(
                    member_on(
                        disk,
                        geometry.chunk if self.level.array else 0,
                        geometry.start_on(disk),
                        geometry.data_offset if self.level.array else None,
                    )
                    for disk in self.disks
                ),
                chunk=geometry.chunk,
                width=geometry.width,
            )
        if not held.group:
            numbers = replace(
                numbers,
                group=self.marks.group,
                group_start=geometry.group_start,
                extent_size=geometry.extent_size,
            )
        here = {name: start for name, start in (numbers.volumes or {}).items() if name in self.layout.volumes}
        made = {name: found for name, found in (numbers.filesystems or {}).items() if name in self.layout.volumes}
        volumes: dict[str, int] = {}
        filesystems: dict[str, Stripes] = {}
        redone = {name for name, size in sizes.items() if size.redo}
        at = next_extent(held.group, {found.name for found in held.group.logical} - redone) if held.group else 0
        for name, size in sizes.items():
            if size.exists and not size.redo:
                volumes[name] = here[name]
            else:
                volumes[name] = (numbers.group_start or 0) + at * (numbers.extent_size or 0)
                at += size.extents
            told = KINDS[self.layout.volumes[name].filesystem].stripes(geometry.chunk, geometry.data_disks)
            if stripes := told if self._is_new(name, sizes) else made.get(name):
                filesystems[name] = stripes
        return replace(numbers, volumes=volumes, filesystems=filesystems)
