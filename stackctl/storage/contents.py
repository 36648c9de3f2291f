"""What is on a disk, in words: every signature, partition, holder, mount; and what of it is not ours."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from stackctl.hardware.array import Array, bare_name
from stackctl.hardware.disk import UNREADABLE, Disk, Partition, Signature
from stackctl.hardware.machine import Machine
from stackctl.storage.marks import OURS, Marks
from stackctl.storage.select import claimed
from stackctl.units import format_size

TABLES = frozenset({"gpt", "PMBR", "dos", "mac", "sun", "sgi", "bsd", "minix", "atari"})
"""Signatures that are partition tables."""
_HALF_TABLE = frozenset({"gpt", "PMBR"})
"""What a power cut may leave of the table that we write."""
_MEMBER = "linux_raid_member"
_PHYSICAL_VOLUME = "LVM2_member"

_WORDS = {
    _PHYSICAL_VOLUME: "LVM physical volume",
    _MEMBER: "member of an md array",
    "crypto_LUKS": "LUKS encryption",
    "zfs_member": "ZFS",
    "bcache": "bcache",
    "swap": "swap space",
    "isw_raid_member": "BIOS RAID (Intel)",
    "ddf_raid_member": "BIOS RAID (DDF)",
    "several signatures": "signs of more than one thing",
    UNREADABLE: "something that cannot be read",
}


class State(StrEnum):
    """What a disk is to a layout."""

    BLANK = "blank"
    UNFINISHED = "unfinished"
    """Ours, and being prepared: nothing of worth is on it."""
    OURS = "ours"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Contents:
    """A disk and what is on it."""

    disk: Disk
    state: State
    holds: tuple[str, ...]
    """All that is on it, in words."""
    foreign: tuple[str, ...]
    """What of it is not ours, in words."""
    partition: Partition | None
    """Our partition, where it is there."""

    @property
    def claimed(self) -> bool:
        return self.state is State.UNFINISHED


def contents(disks: Sequence[Disk], machine: Machine, marks: Marks, *, array: bool) -> tuple[Contents, ...]:
    """What is on each of ``disks``, seen by the layout with ``marks``, whose partitions carry an ``array`` or not."""
    arrays = our_arrays(machine, marks) if array else ()
    return tuple(_contents(disk, machine, marks, arrays, _inside(marks, array=array)) for disk in disks)


def _inside(marks: Marks, *, array: bool) -> Callable[[Signature], bool]:
    """What the layout itself writes into its partition."""
    if array:
        return lambda found: found.type == _MEMBER and bare_name(found.label) == marks.array_name
    return lambda found: found.type == _PHYSICAL_VOLUME


def _contents(
    disk: Disk, machine: Machine, marks: Marks, arrays: Sequence[Array], inside: Callable[[Signature], bool]
) -> Contents:
    ours = our_partition(disk, marks)
    explained = set()
    if ours and (group := machine.group_of(ours.name)) and group.name == marks.group:
        explained |= {*machine.above(ours.name)}
    for array in arrays:
        if any(machine.disk_of(member.device) == disk.name for member in array.members):
            explained |= {array.device, *machine.above(array.device)}
    foreign = tuple(dict.fromkeys((*_foreign(disk, machine, marks, ours, inside), *_users(disk, machine, explained))))
    if foreign:
        state = State.FOREIGN
    elif claimed(disk, marks):
        state = State.UNFINISHED
    else:
        state = State.OURS if ours else State.BLANK
    return Contents(disk, state, tuple(dict.fromkeys(_holds(disk, machine))), foreign, None if foreign else ours)


def our_partition(disk: Disk, marks: Marks) -> Partition | None:
    """The one partition of a disk that is ours: GPT, nothing beside it, our name on it."""
    gpt = any(signature.type == "gpt" for signature in disk.signatures)
    if gpt and len(disk.partitions) == 1 and disk.partitions[0].label == marks.partition_label:
        return disk.partitions[0]
    return None


def our_arrays(machine: Machine, marks: Marks) -> tuple[Array, ...]:
    """Arrays of which every member is a partition of ours; started or not."""
    ours = {part.name for disk in machine.disks if (part := our_partition(disk, marks))}
    return tuple(
        array for array in machine.arrays if array.members and all(member.device in ours for member in array.members)
    )


def _foreign(
    disk: Disk, machine: Machine, marks: Marks, ours: Partition | None, inside: Callable[[Signature], bool]
) -> Iterator[str]:
    prepared = claimed(disk, marks)
    tables = {signature.type for signature in disk.signatures if signature.type in TABLES}
    for signature in disk.signatures:
        if signature.type not in TABLES:
            yield f"{words(signature)} on the whole disk"
    if ours:
        for signature in ours.signatures:
            if not inside(signature):
                yield f"{words(signature)} in our partition"
    elif disk.partitions:
        yield from _partitions(disk, machine)
    elif tables and not (prepared and tables <= _HALF_TABLE):
        yield f"an empty partition table ({', '.join(sorted(tables))})"
    for signature in disk.lost:
        if not (prepared and inside(signature)):
            yield (
                f"{words(signature)} at {format_size(signature.offset)}, where a first partition begins: "
                "its partition table may be lost"
            )


def _users(disk: Disk, machine: Machine, explained: set[str]) -> Iterator[str]:
    for name in (disk.name, *machine.above(disk.name)):
        if name in explained:
            continue
        if machine.kind(name) not in ("disk", "partition"):
            yield f"held by {device_words(name, machine)}"
        for mount in machine.mounts_on(name):
            yield f"mounted at {mount.path}"
        if name in machine.swaps:
            yield "in use as swap"


def _holds(disk: Disk, machine: Machine) -> Iterator[str]:
    for signature in disk.signatures:
        if signature.type not in TABLES:
            yield f"{words(signature)} on the whole disk"
    if disk.partitions:
        yield from _partitions(disk, machine)
    elif tables := sorted({signature.type for signature in disk.signatures if signature.type in TABLES}):
        yield f"an empty partition table ({', '.join(tables)})"
    for signature in disk.lost:
        yield f"{words(signature)} at {format_size(signature.offset)}"
    yield from _users(disk, machine, set())


def _partitions(disk: Disk, machine: Machine) -> Iterator[str]:
    for partition in disk.partitions:
        name = f"partition {partition.index}" + (f" '{partition.label}'" if partition.label else "")
        inside = ", ".join(words(signature) for signature in partition.signatures if signature.type not in TABLES)
        other = ""
        if partition.label.startswith(f"{OURS}:"):
            group, _, host = partition.label.removeprefix(f"{OURS}:").partition(":")
            other = f", volume group {group} of host {host}"
        yield f"{name} of {format_size(partition.size)}{other} ({inside or 'no signature'})"


def words(signature: Signature) -> str:
    """A signature for people: ``ext4 file system 'root'``, ``member of an md array 'old'``."""
    kind = _WORDS.get(signature.type) or f"{signature.type} file system"
    label = bare_name(signature.label) if signature.type == _MEMBER else signature.label
    return f"{kind} '{label}'" if label else kind


def device_words(name: str, machine: Machine) -> str:
    """A device that lies on others, for people: ``md array 'old' (md127)``, ``LVM volume vg0/root``."""
    for array in machine.arrays:
        if array.device == name:
            return f"md array '{array.name}' ({name})" if array.name else f"md array {name}"
    if found := machine.volume_of(name):
        return f"LVM volume {found[0].name}/{found[1].name}"
    mapped, uuid = machine.mapped(name)
    kind = {"CRYPT": "an open LUKS device", "mpath": "multipath", "LVM": "LVM volume"}.get(uuid.split("-")[0], "")
    return f"{kind or 'device'} {mapped or name}"
