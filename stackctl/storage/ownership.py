"""What of a layout is already there: which array, which group, and what an unfinished run has left."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stackctl.errors import StackctlError
from stackctl.hardware.array import Array, Superblock
from stackctl.hardware.disk import Disk, Signature
from stackctl.hardware.lvm import VolumeGroup
from stackctl.hardware.machine import Machine
from stackctl.storage.alignment import Geometry
from stackctl.storage.contents import Contents, State, our_arrays, words
from stackctl.storage.levels import Level
from stackctl.storage.marks import GROUP_TAG, Marks
from stackctl.units import format_size

_RAID_PARTITION = "a19d880f-05fc-4d3b-a006-743f0f84911e"
_LVM_PARTITION = "e6d6d379-f507-44c2-a23c-238f2a3df928"


def partition_type(level: Level) -> str:
    """The GPT type of the layout's partitions: "Linux RAID", or "Linux LVM" where no array lies on them."""
    return _RAID_PARTITION if level.array else _LVM_PARTITION


class MissingToolError(StackctlError):
    """The server lacks a program without which it cannot be told what is on its disks."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What a layout already has on its disks."""

    contents: tuple[Contents, ...]
    finished: bool
    """The group was completed once: from then on nothing of it is made anew."""
    array: Array | None = None
    """The running array that is kept."""
    group: VolumeGroup | None = None
    """The volume group that is kept."""
    assemble: str = ""
    """The UUID of a finished array that must be assembled first."""
    leftovers: tuple[Array, ...] = ()
    """Arrays of an unfinished run, in the way of a new one."""
    orphan: bool = False
    """The kept array, or the partition of a disk as it is, carries a physical volume of an unfinished run."""
    lacking: int = 0
    """How many members a finished array has lost."""
    joining: tuple[Contents, ...] = ()
    """The disks that take their places."""
    conflicts: tuple[str, ...] = field(default=())
    """Why what is there cannot be this layout, although it carries its marks."""
    notes: tuple[str, ...] = ()

    @property
    def marked(self) -> tuple[Disk, ...]:
        """The disks that carry the layout's partition."""
        return tuple(found.disk for found in self.contents if found.partition)


def holding(
    contents: Sequence[Contents], machine: Machine, marks: Marks, level: Level, geometry: Geometry, count: int
) -> Holding:
    """What is there of the layout on its disks, of which it wants ``count``; foreign ones are left out of account.

    Raises MissingToolError when the server lacks the tools to tell.
    """
    finished = any(found.state is State.OURS for found in contents)
    if not level.array:
        (found,) = contents
        return (
            _finished_bare(found, machine, marks) if finished else _unfinished_bare(found, machine, geometry, level)
        )
    if finished:
        return _finished(tuple(contents), machine, marks, level, geometry, count)
    return _unfinished(tuple(contents), machine, marks, level, geometry)


def _finished(
    contents: tuple[Contents, ...], machine: Machine, marks: Marks, level: Level, geometry: Geometry, count: int
) -> Holding:
    parts = {found.partition.name for found in contents if found.partition}
    members = [member for member in machine.members if member.device in parts]
    uuids = {member.uuid for member in members}
    if not uuids:
        return Holding(contents, True, conflicts=("it carries this layout's partition, but no array lies in it",))
    if len(uuids) > 1:
        return Holding(contents, True, conflicts=("its disks are members of different arrays",))
    if wrong := tuple(_array_conflicts(members[0], level, geometry)):
        return Holding(contents, True, conflicts=wrong)
    array = next((found for found in our_arrays(machine, marks) if found.uuid in uuids and found.running), None)
    if array is None:
        return Holding(contents, True, assemble=uuids.pop())
    group = machine.group_of(array.device)
    if group is None:
        _want_lvm(machine, f"the array {array.name}", machine.signatures.get(array.device, ()))
        return Holding(contents, True, array, conflicts=("its array holds no volume group",))
    if group.name != marks.group or GROUP_TAG not in group.tags:
        return Holding(contents, True, array, conflicts=(f"its array holds the volume group {group.name}, not ours",))
    lacking = max(count - sum(1 for member in array.members if member.works), 0)
    joining = tuple(found for found in contents if _can_join(found, array))[:lacking]
    notes = tuple(_shortage(array, lacking - len(joining), contents, joining))
    return Holding(contents, True, array, group, lacking=lacking, joining=joining, notes=notes)


def works_in(found: Contents, array: Array) -> bool:
    """Whether the disk is a member of the array that has not failed."""
    device = found.partition.name if found.partition else ""
    return any(member.device == device and member.works for member in array.members)


def _can_join(found: Contents, array: Array) -> bool:
    """Blank, or prepared for it by a run that did not finish; never a disk that the array has put out."""
    return found.state in (State.BLANK, State.UNFINISHED) and not works_in(found, array)


def _shortage(array: Array, lacking: int, contents: Sequence[Contents], joining: Sequence[Contents]) -> Iterator[str]:
    """What is to be said of an array that lacks members still, or rebuilds what it has lost."""
    missing = array.disks - len(array.slots)
    if lacking:
        there = [found.disk.key for found in contents if found not in joining and not works_in(found, array)]
        how = " or ".join(f"--wipe {key}" for key in there) or "plug in a disk that the layout takes, and apply again"
        what = f"{missing} of its {array.disks} members" if missing else f"{lacking} of its spares"
        yield f"the array {array.name} runs without {what}: {how}"
    elif array.degraded and not missing:
        yield f"the array {array.name} rebuilds what it has lost"


def _unfinished(
    contents: tuple[Contents, ...], machine: Machine, marks: Marks, level: Level, geometry: Geometry
) -> Holding:
    parts = {found.partition.name for found in contents if found.partition}
    arrays = [
        array for array in our_arrays(machine, marks) if any(member.device in parts for member in array.members)
    ]
    if conflicts := tuple(conflict for array in arrays for conflict in _in_unfinished(array, machine, marks)):
        return Holding(contents, False, conflicts=conflicts)
    right = all(partition_is_right(found, geometry, level) for found in contents)
    kept = next(
        (
            array
            for array in arrays
            if right
            and array.whole
            and {member.device for member in array.members} == parts
            and (array.level, array.chunk, array.disks) == (level.name, geometry.chunk, geometry.disks)
            and level.layout_number in (None, array.layout)
            and all(member.data_offset == geometry.data_offset for member in array.members)
        ),
        None,
    )
    leftovers = tuple(array for array in arrays if array is not kept)
    if kept is None:
        return Holding(contents, False, leftovers=leftovers)
    group = machine.group_of(kept.device)
    if group and _group_is_right(group, geometry):
        return Holding(contents, False, kept, group, leftovers=leftovers)
    if group and group.logical:
        return Holding(contents, False, kept, conflicts=("its unfinished volume group already holds volumes",))
    if group is None:
        _want_lvm(machine, f"the array {kept.name}", machine.signatures.get(kept.device, ()))
    return Holding(contents, False, kept, leftovers=leftovers, orphan=bool(machine.signatures.get(kept.device)))


def _finished_bare(found: Contents, machine: Machine, marks: Marks) -> Holding:
    group = machine.group_of(found.partition.name) if found.partition else None
    if group is None:
        if found.partition:
            _want_lvm(machine, f"the disk {found.disk.title}", found.partition.signatures)
        return Holding(
            (found,), True, conflicts=("it carries this layout's partition, but no volume group lies in it",)
        )
    if group.name != marks.group or GROUP_TAG not in group.tags:
        return Holding((found,), True, conflicts=(f"its partition holds the volume group {group.name}, not ours",))
    return Holding((found,), True, group=group)


def _unfinished_bare(found: Contents, machine: Machine, geometry: Geometry, level: Level) -> Holding:
    if found.partition is None:
        return Holding((found,), False)
    group = machine.group_of(found.partition.name)
    if group is None:
        _want_lvm(machine, f"the disk {found.disk.title}", found.partition.signatures)
    right = partition_is_right(found, geometry, level)
    if group and right and _group_is_right(group, geometry):
        return Holding((found,), False, group=group)
    if group and group.logical:
        return Holding((found,), False, conflicts=("its unfinished volume group already holds volumes",))
    return Holding((found,), False, orphan=right and bool(found.partition.signatures))


def partition_is_right(found: Contents, geometry: Geometry, level: Level) -> bool:
    """Whether the disk has our partition where the layout wants it, in both copies of the table."""
    partition, start = found.partition, geometry.start_on(found.disk)
    if partition is None or (partition.start, partition.size) != (start, geometry.partition_size):
        return False
    copies = sum(1 for signature in found.disk.signatures if signature.type == "gpt")
    return copies == 2 and partition.type in ("", partition_type(level))


def _array_conflicts(member: Superblock, level: Level, geometry: Geometry) -> Iterator[str]:
    kind = f"raid{member.level}"
    if kind != level.name or level.layout_number not in (None, member.layout):
        wanted = f"{level.name}, {level.layout}" if level.layout else level.name
        yield f"its array is {kind}, layout {member.layout:#x}; the site says {wanted}"
    if member.chunk != geometry.chunk:
        yield f"its array has a chunk of {format_size(member.chunk)}; the site says {format_size(geometry.chunk)}"
    if member.disks != geometry.disks:
        yield f"its array is made of {member.disks} disks; the site says {geometry.disks}"


def _in_unfinished(array: Array, machine: Machine, marks: Marks) -> Iterator[str]:
    """What stands in the way of making an unfinished array anew: someone has used it meanwhile."""
    for signature in machine.signatures.get(array.device, ()):
        if signature.type != "LVM2_member":
            yield f"its unfinished array holds {words(signature)}"
    group = machine.group_of(array.device)
    if group and group.name != marks.group:
        yield f"its unfinished array holds the volume group {group.name}"
    for name in (array.device, *machine.above(array.device)):
        for mount in machine.mounts_on(name):
            yield f"its unfinished array is mounted at {mount.path}"
        if name in machine.swaps:
            yield "its unfinished array is in use as swap"


def _group_is_right(group: VolumeGroup, geometry: Geometry) -> bool:
    return (
        GROUP_TAG in group.tags
        and group.extent_size % geometry.width == 0
        and not group.missing
        and len(group.physical) == 1
        and group.physical[0].start % geometry.width == 0
    )


def _want_lvm(machine: Machine, what: str, signatures: Sequence[Signature]) -> None:
    if "lvm" in machine.missing and any(signature.type == "LVM2_member" for signature in signatures):
        raise MissingToolError(
            f"{what} holds LVM volumes, and lvm2 is not installed there to read them",
            hint="apply installs it before it looks; or install lvm2 on the server",
        )
