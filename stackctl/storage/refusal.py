"""The refusals: what must not be written to, and what the operator's word releases."""

from collections.abc import Sequence

from stackctl.errors import InputError, RefusedError
from stackctl.hardware.disk import Disk
from stackctl.hardware.machine import Machine
from stackctl.storage.contents import Contents
from stackctl.storage.ownership import Holding, works_in
from stackctl.storage.wiping import objections

_CANNOT = "these disks cannot be wiped as they are:\n"
_NOT_WIPED = "--wipe takes no disk that is in use, nor one whose contents lie on other disks too"


def released(held: Holding, machine: Machine, wipe: frozenset[str]) -> tuple[Disk, ...]:
    """The disks of the layout that will be wiped by the operator's word.

    A layout that is complete is kept whatever the word; other disks are left alone, but for those that are to
    take the places of members that it has lost. Raises RefusedError when a disk holds what is neither ours nor
    released, or is released but in use; InputError when the word names a disk of this server that the layout does
    not take, or more than one disk.
    """
    for word in sorted(wipe):
        meant = [disk.title for disk in machine.named(word)]
        if len(meant) > 1:
            raise InputError(f"--wipe {word} names {' and '.join(meant)}", hint="name each by its serial number")
    named = [disk for disk in machine.disks if wipe & ({disk.serial, disk.wwn} - {""})]
    chosen = {found.disk.name for found in held.contents}
    if others := [disk.title for disk in named if disk.name not in chosen]:
        raise InputError(
            f"--wipe names {', '.join(others)}, which the layout does not take",
            hint="only disks of the layout are wiped",
        )
    if held.finished and not held.conflicts:
        return _replacing(held, machine, named)
    reasons = {found.disk: why for found in held.contents if (why := _reasons(found, held))}
    unnamed = [disk for disk in reasons if disk not in named]
    wiped = [disk for disk in reasons if disk in named]
    in_use = {disk: why for disk in reasons if (why := objections(disk, [*wiped, *unnamed], machine))}
    if unnamed:
        words = " ".join(f"--wipe {disk.key}" for disk in unnamed)
        told = [(disk, [*reasons[disk], *in_use.get(disk, ())]) for disk in unnamed]
        raise RefusedError(
            "these disks hold what is not ours:\n" + _listed(told),
            hint=f"to destroy all that is on them: {words}{', when they are free' if in_use else ''}",
        )
    if in_use:
        raise RefusedError(
            _CANNOT + _listed(list(in_use.items())),
            hint=_NOT_WIPED,
        )
    return tuple(wiped)


def _replacing(held: Holding, machine: Machine, named: Sequence[Disk]) -> tuple[Disk, ...]:
    """The named disks that take the places of lost members of a complete layout: foreign ones, or those put out."""
    array = held.array
    if array is None:
        return ()
    wiped = [
        found.disk
        for found in held.contents
        if found.disk in named and found not in held.joining and not works_in(found, array)
    ][: held.lacking - len(held.joining)]
    put_out = {found.disk for found in held.contents if found.partition}
    if in_use := {disk: why for disk in wiped if disk not in put_out and (why := objections(disk, wiped, machine))}:
        raise RefusedError(_CANNOT + _listed(list(in_use.items())), hint=_NOT_WIPED)
    return tuple(wiped)


def _reasons(found: Contents, held: Holding) -> tuple[str, ...]:
    """Why the disk cannot be had without a word from the operator."""
    return found.foreign + (held.conflicts if found.partition else ())


def _listed(disks: Sequence[tuple[Disk, Sequence[str]]]) -> str:
    return "\n".join(
        f"  {disk.title}:\n" + "\n".join(f"    {reason}" for reason in dict.fromkeys(reasons))
        for disk, reasons in disks
    )
