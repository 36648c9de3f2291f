"""Geometry and identity of file systems and swap space, as their superblocks tell them."""

import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Filesystem:
    """What a superblock says; sizes in bytes, stripe words are 0 where none was given."""

    device: str
    type: Literal["xfs", "ext4", "swap"]
    uuid: str
    label: str
    block: int
    size: int
    stripe_unit: int = 0
    stripe_width: int = 0
    log_stripe_unit: int = 0
    """Of XFS."""
    complete: bool = True
    """False while mkfs has not finished, where that can be told."""


def xfs(device: str, raw: bytes) -> Filesystem | None:
    """XFS Algorithms & Data Structures, "Superblocks"; the device's first sector."""
    if len(raw) < 208 or raw[:4] != b"XFSB":
        return None
    block, blocks = struct.unpack_from(">IQ", raw, 4)
    unit, width = struct.unpack_from(">II", raw, 184)
    (log_unit,) = struct.unpack_from(">I", raw, 196)
    return Filesystem(
        device=device,
        type="xfs",
        uuid=str(uuid.UUID(bytes=raw[32:48])),
        label=_text(raw[108:120]),
        block=block,
        size=blocks * block,
        stripe_unit=unit * block,
        stripe_width=width * block,
        log_stripe_unit=log_unit if log_unit > 1 else 0,
        complete=raw[126] == 0,
    )


def ext4(device: str, raw: bytes) -> Filesystem | None:
    """struct ext4_super_block (fs/ext4/ext4.h), which begins at 1024."""
    if len(raw) < 374 or raw[56:58] != b"\x53\xef":
        return None
    (blocks, power) = struct.unpack_from("<4xI16xI", raw)
    (upper,) = struct.unpack_from("<I", raw, 336)
    (stride,) = struct.unpack_from("<H", raw, 356)
    (width,) = struct.unpack_from("<I", raw, 368)
    block = 1024 << power
    return Filesystem(
        device=device,
        type="ext4",
        uuid=str(uuid.UUID(bytes=raw[104:120])),
        label=_text(raw[120:136]),
        block=block,
        size=(upper << 32 | blocks) * block,
        stripe_unit=stride * block,
        stripe_width=width * block,
    )


def swap(device: str, raw: bytes) -> Filesystem | None:
    """union swap_header (include/linux/swap.h), from 1024 on; its pages are taken for those of 4 KiB."""
    if len(raw) < 44 or struct.unpack_from("<I", raw)[0] != 1:
        return None
    (last,) = struct.unpack_from("<I", raw, 4)
    return Filesystem(
        device=device,
        type="swap",
        uuid=str(uuid.UUID(bytes=raw[12:28])),
        label=_text(raw[28:44]),
        block=4096,
        size=(last + 1) * 4096,
    )


READERS: Mapping[str, Callable[[str, bytes], Filesystem | None]] = {"xfs": xfs, "ext4": ext4, "swap": swap}
"""By the kinds of superblocks that the facts hold raw: what a device and its superblock's 512 bytes say."""


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")
