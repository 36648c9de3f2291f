"""Whole disks and partitions: who they are, their limits, what is written on them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackctl.units import KIB, format_size

UNREADABLE = "unreadable"
"""The signature of a device that cannot be read."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A magic number that names what lies on a device; the words are those of libblkid."""

    type: str
    offset: int
    uuid: str = ""
    label: str = ""

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Signature":
        return cls(facts["type"], int(facts["offset"]), str(facts["uuid"]), str(facts["label"]))


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device reports about its sectors and its favourite requests, in bytes; 0 where it says nothing."""

    logical_block: int
    physical_block: int
    minimum_io: int
    optimal_io: int
    rotational: bool

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Limits":
        logical = int(facts.get("logical_block_size") or 512)
        return cls(
            logical_block=logical,
            physical_block=int(facts.get("physical_block_size") or logical),
            minimum_io=int(facts.get("minimum_io_size") or 0),
            optimal_io=int(facts.get("optimal_io_size") or 0),
            rotational=bool(facts.get("rotational")),
        )


@dataclass(frozen=True, slots=True)
class Queue:
    """How the kernel handles a disk's requests; words are empty and numbers 0 where it says nothing."""

    scheduler: str = ""
    read_ahead: int = 0
    """What is read beyond a sequential request, in bytes."""
    write_cache: str = ""
    """`write back` where the device says that it keeps writes in a cache of its own."""

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Queue":
        words = str(facts.get("scheduler") or "")
        chosen = next((word[1:-1] for word in words.split() if word.startswith("[")), words)
        return cls(chosen, int(facts.get("read_ahead_kb") or 0) * KIB, str(facts.get("write_cache") or ""))


@dataclass(frozen=True, slots=True)
class Striping:
    """How a controller deals out a virtual disk over drives, as its tool tells; ``unit`` in bytes."""

    unit: int
    """What lies in one piece on one drive: the strip."""
    data_disks: int
    copies: int = 1
    parity: int = 0
    """Strips of parity for each set of drives."""

    @property
    def width(self) -> int:
        """The bytes of data in one stripe, over all spans."""
        return self.unit * self.data_disks


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as the kernel has read it; ``start`` and ``size`` in bytes."""

    name: str
    index: int
    start: int
    size: int
    label: str
    type: str
    signatures: tuple[Signature, ...]
    holders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """The mark of a disk that is being prepared: nothing on it is of worth yet."""

    host: str
    group: str
    disk: str

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any] | None) -> "Claim | None":
        return cls(facts.get("host", ""), facts.get("group", ""), facts.get("disk", "")) if facts else None


@dataclass(frozen=True, slots=True)
class Disk:
    """A whole disk, or a controller's virtual disk."""

    name: str
    """What the kernel calls it this time; never a name to keep."""
    serial: str
    wwn: str
    model: str
    vendor: str
    transport: str
    size: int
    read_only: bool
    removable: bool
    alignment_offset: int
    limits: Limits
    table: str
    """`gpt`, `dos`, or nothing."""
    signatures: tuple[Signature, ...]
    lost: tuple[Signature, ...]
    """What begins where a first partition would, on a disk that has no partition table."""
    partitions: tuple[Partition, ...]
    holders: tuple[str, ...]
    claim: Claim | None
    links: tuple[str, ...]
    """Its persistent names under /dev/disk."""
    fingerprint: str
    """A word that changes when anything on the disk does."""
    queue: Queue = Queue()
    striping: Striping | None = None
    """Of a virtual disk whose controller tells; never guessed."""

    @property
    def key(self) -> str:
        """What the disk is named by: its serial number, or its WWN, or nothing."""
        return self.serial or self.wwn

    @property
    def title(self) -> str:
        """The disk for people: serial, size, model, and the kernel's name of the day."""
        model = " ".join(part for part in (self.vendor, self.model) if part and part not in self.model[:-1])
        return f"{self.key or 'without serial or WWN'} ({format_size(self.size)} {model or 'disk'}, now {self.name})"


def partitions_from_facts(facts: Mapping[str, Any]) -> dict[str, tuple[Partition, ...]]:
    """The partitions of collected facts by what they are parts of: disks, arrays."""
    described = described_by_lsblk(facts)
    found: dict[str, list[Partition]] = {}
    for name, block in facts["blocks"].items():
        if block["kind"] == "partition":
            found.setdefault(block["disk"], []).append(_partition(name, facts, described.get(name, {})))
    return {whole: tuple(sorted(parts, key=lambda part: part.index)) for whole, parts in found.items()}


def disks_from_facts(facts: Mapping[str, Any], partitions: Mapping[str, tuple[Partition, ...]]) -> tuple[Disk, ...]:
    """The disks of collected facts, with their partitions."""
    described = described_by_lsblk(facts)
    return tuple(
        _disk(name, facts, described.get(name, {}), partitions.get(name, ()))
        for name, block in facts["blocks"].items()
        if block["kind"] == "disk"
    )


def described_by_lsblk(facts: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What lsblk says, by the kernel's name."""
    return {device["kname"]: device for device in facts["lsblk"]}


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key in which ``LAB-10`` comes after ``LAB-9``."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|\D+", text))


def _signatures(facts: Mapping[str, Any], kind: str, name: str) -> tuple[Signature, ...]:
    return tuple(Signature.from_facts(item) for item in facts[kind].get(name, ()))


def _partition(name: str, facts: Mapping[str, Any], known: Mapping[str, Any]) -> Partition:
    block = facts["blocks"][name]
    return Partition(
        name=name,
        index=block["partition"],
        start=block["start"],
        size=block["size"],
        label=block["label"],
        type=str(known.get("parttype") or "").lower(),
        signatures=_signatures(facts, "signatures", name),
        holders=tuple(block["holders"]),
    )


def _disk(name: str, facts: Mapping[str, Any], known: Mapping[str, Any], partitions: tuple[Partition, ...]) -> Disk:
    block = facts["blocks"][name]
    return Disk(
        name=name,
        serial=str(known.get("serial") or ""),
        wwn=str(known.get("wwn") or ""),
        model=str(known.get("model") or ""),
        vendor=str(known.get("vendor") or ""),
        transport=str(known.get("tran") or ("virtio" if name.startswith("vd") else "")),
        size=block["size"],
        read_only=block["read_only"],
        removable=block["removable"],
        alignment_offset=block["alignment_offset"],
        limits=Limits.from_facts(block["limits"]),
        table=str(known.get("pttype") or ""),
        signatures=_signatures(facts, "signatures", name),
        lost=_signatures(facts, "lost", name),
        partitions=partitions,
        holders=tuple(block["holders"]),
        claim=Claim.from_facts(facts["claims"].get(name)),
        links=tuple(facts["links"].get(name, ())),
        fingerprint=facts["fingerprints"][name],
        queue=Queue.from_facts(block["limits"]),
    )
