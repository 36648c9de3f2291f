"""Linux md arrays: as they run (sysfs), and as their members' superblocks tell (running or not)."""

import struct
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackctl.hardware.disk import Partition

_MAGIC = 0xA92B4EFC
_SECTOR = 512
_RUNNING = frozenset({"clean", "active", "active-idle", "write-pending", "readonly", "read-auto"})
_NO_ROLE = 0xFFF0
"""Roles from here on are spare, faulty, journal."""


@dataclass(frozen=True, slots=True)
class Superblock:
    """A member's version-1 superblock (struct mdp_superblock_1, linux/raid/md_p.h); offsets in bytes."""

    device: str
    uuid: str
    name: str
    level: int
    layout: int
    chunk: int
    disks: int
    data_offset: int
    data_size: int
    events: int
    role: int | None
    """The member's place in the array; None for a spare or a faulty one."""


def superblock(device: str, raw: bytes) -> Superblock | None:
    """What the superblock of ``device`` says; None for another version's."""
    if len(raw) < 256:
        return None
    magic, version = struct.unpack_from("<II", raw, 0)
    if magic != _MAGIC or version != 1:
        return None
    level, layout, _, chunk, disks = struct.unpack_from("<iIQII", raw, 72)
    data_offset, data_size = struct.unpack_from("<QQ", raw, 128)
    (number,) = struct.unpack_from("<I", raw, 160)
    (events,) = struct.unpack_from("<Q", raw, 200)
    place = 256 + 2 * number
    (role,) = struct.unpack_from("<H", raw, place) if place + 2 <= len(raw) else (_NO_ROLE,)
    return Superblock(
        device=device,
        uuid=str(uuid.UUID(bytes=raw[16:32])),
        name=raw[32:64].split(b"\0", 1)[0].decode(errors="replace"),
        level=level,
        layout=layout,
        chunk=chunk * _SECTOR,
        disks=disks,
        data_offset=data_offset * _SECTOR,
        data_size=data_size * _SECTOR,
        events=events,
        role=role if role < _NO_ROLE else None,
    )


@dataclass(frozen=True, slots=True)
class Member:
    """A device in a running array; ``data_offset`` in bytes."""

    device: str
    slot: int | None
    state: str
    data_offset: int

    @property
    def works(self) -> bool:
        """Whether the array uses it, or would: it has not failed."""
        return "faulty" not in self.state


@dataclass(frozen=True, slots=True)
class Array:
    """An array that the kernel has, started or not."""

    device: str
    """md127: what the kernel calls it this time."""
    uuid: str
    name: str
    """The name in the superblocks, without the home host."""
    level: str
    layout: int
    chunk: int
    disks: int
    size: int
    metadata: str
    state: str
    degraded: int
    sync: str
    bitmap: str
    members: tuple[Member, ...]
    partitions: tuple[Partition, ...]
    """Where it is parted itself."""
    holders: tuple[str, ...]

    @property
    def running(self) -> bool:
        """Started: it can be read and written."""
        return self.state in _RUNNING

    @property
    def has_bitmap(self) -> bool:
        """Whether a write-intent bitmap lies beside its superblocks."""
        return self.bitmap.startswith(("+", "-"))

    @property
    def whole(self) -> bool:
        """Running, with a member in every place (a resync may be under way)."""
        return self.running and not self.degraded and len(self.slots) == self.disks

    @property
    def slots(self) -> tuple[int, ...]:
        """The places that are taken."""
        return tuple(sorted(member.slot for member in self.members if member.slot is not None))


def bare_name(name: str) -> str:
    """An array's name without the home host before it: ``any:data`` is ``data``."""
    return name.rpartition(":")[2]


def array_from_facts(
    device: str,
    facts: Mapping[str, Any],
    superblocks: Mapping[str, Superblock],
    partitions: tuple[Partition, ...],
) -> Array:
    """The array behind the named md device of collected facts."""
    block = facts["blocks"][device]
    array = block["array"]
    members = tuple(
        Member(
            device=name,
            slot=member["slot"] if isinstance(member["slot"], int) else None,
            state=str(member["state"] or ""),
            data_offset=int(member["offset"] or 0) * _SECTOR,
        )
        for name, member in array["members"].items()
    )
    told = next((superblocks[member.device] for member in members if member.device in superblocks), None)
    return Array(
        device=device,
        uuid=str(array["uuid"] or (told.uuid if told else "")),
        name=bare_name(told.name) if told else "",
        level=str(array["level"] or ""),
        layout=int(array["layout"] or 0),
        chunk=int(array["chunk_size"] or 0),
        disks=int(array["raid_disks"] or 0),
        size=block["size"],
        metadata=str(array["metadata_version"] or ""),
        state=str(array["array_state"] or ""),
        degraded=int(array["degraded"] or 0),
        sync=str(array["sync_action"] or ""),
        bitmap=str(array["bitmap/location"] or "none"),
        members=members,
        partitions=partitions,
        holders=tuple(block["holders"]),
    )
