"""XFS geometry as the superblock tells it (XFS Algorithms & Data Structures, "Superblocks")."""

import struct
import uuid
from dataclasses import dataclass

_MAGIC = b"XFSB"


@dataclass(frozen=True, slots=True)
class Xfs:
    """A file system's geometry, in bytes; stripe words are 0 where none was given."""

    device: str
    uuid: str
    label: str
    block: int
    sector: int
    size: int
    stripe_unit: int
    stripe_width: int
    log_stripe_unit: int
    complete: bool
    """False while mkfs has not finished."""


def superblock(device: str, raw: bytes) -> Xfs | None:
    """What the first sector of ``device`` says; None where it is no XFS superblock."""
    if len(raw) < 208 or raw[:4] != _MAGIC:
        return None
    block, blocks = struct.unpack_from(">IQ", raw, 4)
    (sector,) = struct.unpack_from(">H", raw, 102)
    unit, width = struct.unpack_from(">II", raw, 184)
    (log_unit,) = struct.unpack_from(">I", raw, 196)
    return Xfs(
        device=device,
        uuid=str(uuid.UUID(bytes=raw[32:48])),
        label=raw[108:120].split(b"\0", 1)[0].decode(errors="replace"),
        block=block,
        sector=sector,
        size=blocks * block,
        stripe_unit=unit * block,
        stripe_width=width * block,
        log_stripe_unit=log_unit if log_unit > 1 else 0,
        complete=raw[126] == 0,
    )
