"""Which disks a layout takes: the grammar of hints, and an answer for every disk that it does not take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from stackctl.errors import InputError, RefusedError
from stackctl.hardware.disk import UNREADABLE, Disk, Signature, natural
from stackctl.hardware.machine import Machine
from stackctl.site.models import DiskMatch, DiskSelector
from stackctl.storage.marks import Marks
from stackctl.units import format_size

_SYSTEM = ("/", "/boot", "/boot/efi", "/usr", "/var", "/home")
"""A disk that carries one of these carries the running system, and is never a candidate."""

_BY_PATH = "/dev/disk/by-path/"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A disk and why the layout does not take it; no reason means that it matches."""

    disk: Disk
    reasons: tuple[str, ...]


def select(selector: DiskSelector, machine: Machine, marks: Marks) -> tuple[Disk, ...]:
    """The disks that the layout takes, in the order of their serial numbers.

    Disks that carry the layout's mark already come first: a disk that is plugged in later does not unsettle a
    layout that is complete. An array that runs lives without those that it has lost: they may be fewer then.
    Raises InputError when too few or too many match, with every disk and its reasons, and RefusedError when a
    disk cannot be told from another.
    """
    candidates = tuple(candidate(disk, selector, machine) for disk in machine.disks)
    matching = [found.disk for found in candidates if not found.reasons]
    marked = [disk for disk in matching if carries_mark(disk, marks)]
    strays = [found for found in candidates if found.reasons and carries_mark(found.disk, marks)]
    if strays:
        raise InputError(
            "disks that carry this layout are not among those it takes now:\n" + _table(strays),
            hint="change the layout's `disks` back so that it takes them, or mend what is wrong with them; or clear "
            "those disks by hand (mdadm --stop, wipefs --all), if nothing on them is of worth",
        )
    chosen = marked if len(marked) == selector.count else matching
    _refuse_twins(chosen, machine)
    if len(chosen) != selector.count and not (len(chosen) < selector.count and _runs(machine, marked, marks)):
        number = "no disk matches" if not matching else _count(len(matching), "disk matches", "disks match")
        raise InputError(
            f"the layout takes {_count(selector.count, 'disk', 'disks')}, but {number}:\n" + _table(candidates),
            hint="narrow or widen the layout's `disks` (serial, model, transport, rotational, size, path, exclude)",
        )
    return tuple(sorted(chosen, key=lambda disk: natural(disk.key)))


def _runs(machine: Machine, marked: Sequence[Disk], marks: Marks) -> bool:
    """Whether the layout's array runs, on disks that were all completed."""
    parts = {part.name for disk in marked if not claimed(disk, marks) for part in disk.partitions}
    return any(
        array.running and parts.issuperset(member.device for member in array.members) for array in machine.arrays
    )


def candidate(disk: Disk, selector: DiskSelector, machine: Machine) -> Candidate:
    """The disk with every reason against it."""
    return Candidate(disk, tuple(_reasons(disk, selector, machine)))


def carries_mark(disk: Disk, marks: Marks) -> bool:
    """Whether the disk carries the mark of this host's volume group: the partition's name, or a claim."""
    return claimed(disk, marks) or any(partition.label == marks.partition_label for partition in disk.partitions)


def claimed(disk: Disk, marks: Marks) -> bool:
    """Whether the disk is claimed for this host's volume group, and is the disk that was claimed."""
    claim = disk.claim
    return claim is not None and (claim.host, claim.group, claim.disk) == (marks.host, marks.group, disk.key)


def _reasons(disk: Disk, selector: DiskSelector, machine: Machine) -> Iterator[str]:
    if not disk.key:
        yield "it reports neither a serial number nor a WWN to name it by"
    if disk.read_only:
        yield "it is read-only"
    if any(signature.type == UNREADABLE for signature in _all_signatures(disk)):
        yield "it cannot be read, or not all of it: it may be failing"
    if carried := _system_mounts(disk, machine):
        yield f"it carries the running system ({', '.join(carried)})"
    exclude = selector.exclude
    if exclude and not any(_mismatches(disk, exclude)) and (excluded := ", ".join(_words(exclude))):
        yield f"excluded by {excluded}"
    yield from _mismatches(disk, selector)


def _all_signatures(disk: Disk) -> tuple[Signature, ...]:
    return disk.signatures + tuple(signature for part in disk.partitions for signature in part.signatures)


def _system_mounts(disk: Disk, machine: Machine) -> list[str]:
    names = (disk.name, *machine.above(disk.name))
    carried = {mount.path for name in names for mount in machine.mounts_on(name)}
    return [path for path in _SYSTEM if path in carried]


def _mismatches(disk: Disk, match: DiskMatch) -> Iterator[str]:
    """Why the disk is not as ``match`` says; every word that is given must hold."""
    if match.serial and not {disk.serial, disk.wwn} & set(match.serial):
        yield f"its serial is not one of {', '.join(match.serial)}"
    if match.model is not None and match.model.lower() not in disk.model.lower():
        yield f"its model {disk.model or 'is unknown and'} does not contain {match.model}"
    if match.transport is not None and match.transport.lower() != disk.transport.lower():
        yield f"its transport is {disk.transport or 'unknown'}, not {match.transport}"
    if match.rotational is not None and match.rotational != disk.limits.rotational:
        yield "it spins" if disk.limits.rotational else "it does not spin"
    if not all(bound.holds(disk.size) for bound in match.size_bounds()):
        yield f"its size {format_size(disk.size)} ({disk.size} bytes) is not {match.size}"
    if match.path is not None and not any(fnmatchcase(place, match.path) for place in _places(disk)):
        yield f"it is plugged in at {', '.join(_places(disk)) or 'a place unknown'}, not at {match.path}"


def _places(disk: Disk) -> list[str]:
    """Where it is plugged in, as udev tells; nothing for disks that are plugged in nowhere."""
    return [link.removeprefix(_BY_PATH) for link in disk.links if link.startswith(_BY_PATH)]


def _words(match: DiskMatch) -> Iterator[str]:
    if match.serial:
        yield f"serial {', '.join(match.serial)}"
    if match.model is not None:
        yield f"model {match.model}"
    if match.transport is not None:
        yield f"transport {match.transport}"
    if match.rotational is not None:
        yield "rotational" if match.rotational else "not rotational"
    if match.size is not None:
        yield f"size {match.size}"
    if match.path is not None:
        yield f"path {match.path}"


def _table(candidates: Sequence[Candidate]) -> str:
    if not candidates:
        return "  the server has no disks"
    return "\n".join(
        f"  {found.disk.title}: {'; '.join(found.reasons) if found.reasons else 'matches'}" for found in candidates
    )


def _refuse_twins(chosen: Sequence[Disk], machine: Machine) -> None:
    """A disk must be told from every other by its name: a serial number that two report names neither."""
    for disk in chosen:
        twins = _twins(disk, machine)
        names = ", ".join(sorted({other.name for other in (disk, *twins)}))
        if twins and disk.wwn and all(other.wwn == disk.wwn for other in twins):
            mapped = (machine.mapped(name) for name in machine.above(disk.name))
            held = next((f", held by multipath {name}" for name, uuid in mapped if uuid.startswith("mpath-")), "")
            raise RefusedError(
                f"{names} are paths to one disk, {disk.key} (WWN {disk.wwn}){held}",
                hint="stackctl lays nothing on a disk that has several paths: exclude it, or leave it one path",
            )
        if twins:
            raise RefusedError(
                f"more than one disk reports the serial number {disk.key} (now {names}): they cannot be told apart",
                hint="exclude one of them by another word, or take it out",
            )


def _twins(disk: Disk, machine: Machine) -> list[Disk]:
    """Other disks that are named by what names this one, or the other way about."""
    return [
        other
        for name in (disk.serial, disk.wwn)
        for other in machine.named(name)
        if other is not disk and name in (disk.key, other.key)
    ]


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
