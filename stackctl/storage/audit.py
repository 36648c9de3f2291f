"""The audit: whether every layer of a machine begins where it should, what it costs if not, and what mends it."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from stackctl.hardware.array import Array
from stackctl.hardware.disk import Disk
from stackctl.hardware.filesystem import Filesystem
from stackctl.hardware.machine import Machine
from stackctl.hardware.tables import Mount
from stackctl.storage import health
from stackctl.storage.alignment import believed_optimal_io, log_stripe_unit
from stackctl.storage.grounds import Holder, Path, holders, title
from stackctl.storage.readback import Finding
from stackctl.storage.stripes import Stripe, crossings, of_array, of_disk
from stackctl.units import KIB, format_size

REQUESTS = (4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB)
"""The requests whose cost is told: databases' pages, and a crawler's documents."""

_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a layer begins on its ground, what that must be a multiple of, and by how much it is off; in bytes."""

    layer: str
    subject: str
    ground: str
    start: int
    multiple_of: int
    why: str
    off: int
    mended_above: bool = False
    """It is off, but what lies on it begins right again, as LVM can see to: nothing is lost by it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a random request of ``request`` bytes costs in requests of disks, as it lies and as it could."""

    subject: str
    ground: str
    request: int
    straddling: float
    """The share of requests that take one disk more than they must."""
    reads: float
    reads_aligned: float
    writes: float | None
    """None for requests longer than an element."""
    writes_aligned: float | None


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is off, and how it is mended."""

    subject: str
    words: str
    mend: str
    in_place: bool
    """Mended on the spot; else only by making it anew."""


@dataclass(frozen=True)
class Audit:
    """What was found on one machine."""

    begins: tuple[Begin, ...]
    costs: tuple[Cost, ...]
    faults: tuple[Fault, ...]
    warnings: tuple[Finding, ...]
    """What is not as it should be beside the alignment: caches, batteries, drives, schedulers."""
    notes: tuple[str, ...]
    """What could not be looked at."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class _Ground:
    """A disk or array as the audit sees it."""

    title: str
    block: int
    """The physical block: the largest of the disks below."""
    offset: int
    """Where the first physical block begins (alignment_offset)."""
    stripe: Stripe | None

    @property
    def multiple_of(self) -> int:
        return math.lcm(self.block, self.stripe.grid if self.stripe else 1)

    @property
    def why(self) -> str:
        if self.stripe is None:
            return "physical block"
        return "stripe width" if self.stripe.parity else "stripe element"

    def off(self, start: int) -> int:
        return (start - self.offset) % self.multiple_of


def audit(machine: Machine) -> Audit:
    """Look at every layer of a machine; nothing is asked of it any more."""
    found = tuple(holders(machine))
    begins: dict[Begin, None] = {}
    costs: list[Cost] = []
    faults: dict[Fault, None] = {}
    for holder in found:
        for path in holder.paths:
            ground = _ground(machine, path.ground)
            begins.update(dict.fromkeys(_begins(path, ground)))
            if ground.off(path.start):
                faults[_start_fault(path, ground)] = None
                costs += _costs(holder, path, ground)
    for holder in found:
        filesystem = machine.filesystem(holder.device)
        if filesystem:
            faults.update(dict.fromkeys(_geometry_faults(machine, holder, filesystem)))
        faults.update(dict.fromkeys(_mount_faults(machine.mounts_on(holder.device), filesystem)))
    warnings = tuple(finding for finding in health.check(machine) if not finding.ok)
    return Audit(_worst(begins), tuple(costs), tuple(faults), warnings, tuple(_notes(machine, found)))


def _worst(begins: dict[Begin, None]) -> tuple[Begin, ...]:
    """Each layer once: a physical volume is mended above only where all of its volumes are."""
    harmful = {(begin.subject, begin.start) for begin in begins if begin.off and not begin.mended_above}
    return tuple(b for b in begins if not (b.mended_above and (b.subject, b.start) in harmful))


def _ground(machine: Machine, whole: Disk | Array) -> _Ground:
    if isinstance(whole, Array):
        block = math.lcm(1, *(disk.limits.physical_block for disk in machine.disks_below(whole.device)))
        return _Ground(title(whole), block, 0, of_array(whole))
    limits = whole.limits
    stripe = of_disk(whole, believed_optimal_io(limits, limits.physical_block))
    return _Ground(title(whole), limits.physical_block, whole.alignment_offset, stripe)


def _begins(path: Path, ground: _Ground) -> Iterator[Begin]:
    fine = not ground.off(path.start)
    for layer in path.layers:
        off = ground.off(layer.start)
        yield Begin(
            layer.kind, layer.subject, ground.title, layer.start, ground.multiple_of, ground.why, off,
            mended_above=bool(off) and fine,
        )  # fmt: skip


_MENDS = {
    "partition": "make the partition anew at a multiple of it (1 MiB is the custom), and what lies on it",
    "md data": "make the array anew with --data-offset at a multiple of it",
    "PV data": "make the physical volume anew with --dataalignment; pvmove brings volumes there from this one",
    "LV": "make the volume anew, or pvmove it, to begin at such a multiple; take extents that are multiples of it",
}


def _start_fault(path: Path, ground: _Ground) -> Fault:
    """The fault of the layer where it comes from: the lowest from which on everything is off."""
    cause = path.layers[-1]
    for layer in reversed(path.layers):
        if not ground.off(layer.start):
            break
        cause = layer
    off, multiple = ground.off(cause.start), format_size(ground.multiple_of)
    words = (
        f"{cause.kind} begins {format_size(off)} off: no multiple of {multiple}, the {ground.why} of {ground.title}"
    )
    return Fault(cause.subject, words, _MENDS[cause.kind], in_place=False)


def _costs(holder: Holder, path: Path, ground: _Ground) -> Iterator[Cost]:
    if ground.stripe is None:
        return
    stripe, shift = ground.stripe, path.start - ground.offset
    for request in REQUESTS:
        short = request <= stripe.element
        share = crossings(request, stripe.element, shift) - crossings(request, stripe.element, 0)
        yield Cost(
            holder.subject, ground.title, request, float(share),
            float(stripe.reads(request, shift)), float(stripe.reads(request, 0)),
            float(stripe.writes(request, shift)) if short else None,
            float(stripe.writes(request, 0)) if short else None,
        )  # fmt: skip


def _geometry_faults(machine: Machine, holder: Holder, found: Filesystem) -> Iterator[Fault]:
    """The file system's stripe words against the array that it lies on."""
    if found.type == "swap":
        return
    grounds = {_ground(machine, path.ground) for path in holder.paths}
    stripes = {ground.stripe for ground in grounds if ground.stripe and ground.stripe.data > 1}
    if len(stripes) != 1:
        return
    (stripe,) = stripes
    yield from (_xfs_faults if found.type == "xfs" else _ext4_faults)(holder.subject, stripe, found)


def _ext4_faults(subject: str, stripe: Stripe, found: Filesystem) -> Iterator[Fault]:
    if (found.stripe_unit, found.stripe_width) == (stripe.element, stripe.width):
        return
    told = f"stride={stripe.element // found.block},stripe_width={stripe.width // found.block}"
    has = f"stride={found.stripe_unit // found.block},stripe_width={found.stripe_width // found.block}"
    yield Fault(
        subject,
        f"ext4 has {has}, the array {told}" if found.stripe_unit else "ext4 knows no stripes",
        f"tell it with tune2fs -E {told}: it is heeded from the next mount on, for what is written then",
        in_place=True,
    )


def _xfs_faults(subject: str, stripe: Stripe, found: Filesystem) -> Iterator[Fault]:
    told = f"su={stripe.element // KIB}k,sw={stripe.data}"
    if not found.stripe_unit:
        yield Fault(
            subject,
            "XFS knows no stripes: allocation groups, inodes and files begin anywhere on them",
            f"make it anew with -d {told}; a mount option gives no stripes to an XFS that was made without",
            in_place=False,
        )
        return
    if (found.stripe_unit, found.stripe_width) != (stripe.element, stripe.width):
        options = f"sunit={stripe.element // _SECTOR},swidth={stripe.width // _SECTOR}"
        has = f"su={found.stripe_unit // KIB}k,sw={found.stripe_width / found.stripe_unit:g}"
        yield Fault(
            subject,
            f"XFS has {has}, the array {told}",
            f"mount it once with -o {options}: it is kept, for what is written from then on",
            in_place=True,
        )
    log = found.log_stripe_unit
    if log and stripe.element % log and log % stripe.element:
        wanted = log_stripe_unit(stripe.element) // KIB
        words = f"XFS's log unit is {format_size(log)}, which neither divides the element nor is a multiple of it"
        yield Fault(subject, words, f"make it anew with -l su={wanted}k", in_place=False)


def _mount_faults(mounts: tuple[Mount, ...], filesystem: Filesystem | None) -> Iterator[Fault]:
    for mount in mounts:
        if "inode32" in mount.options:
            words = "inode32 crowds all inodes into the first terabyte"
            yield Fault(mount.path, words, "mount it with inode64, XFS's own default", in_place=True)
        if mount.options & {"nobarrier", "barrier=0"}:
            words = "barriers are off: a power cut loses what is in any cache that is not kept by a battery"
            yield Fault(mount.path, words, "mount it without that option", in_place=True)
        unit = filesystem.stripe_unit if filesystem and filesystem.type == "xfs" else 0
        if unit and _sunit(mount) != unit:
            has, told = format_size(_sunit(mount)), format_size(unit)
            words = f"mounted with a stripe unit of {has}, the file system has {told}"
            yield Fault(mount.path, words, "mount it without noalign and other stripe words", in_place=True)


def _sunit(mount: Mount) -> int:
    """The stripe unit that a mounted XFS tells, in bytes: 0 where it heeds none."""
    words = dict(option.partition("=")[::2] for option in mount.options)
    return int(words.get("sunit", "0")) * _SECTOR


def _notes(machine: Machine, found: tuple[Holder, ...]) -> Iterator[str]:
    yield from machine.errors
    for holder in found:
        if not holder.paths:
            yield f"{holder.subject}: what lies below it cannot be followed (encrypted, thin, or a volume on volumes)"
