"""Superblocks as bytes, laid out by the kernel's headers and not by the code under test."""

import struct
import uuid

from twin.state import Filesystem, Member


def md_superblock(member: Member) -> bytes:
    """A version 1.2 superblock (struct mdp_superblock_1)."""
    raw = bytearray(512)
    struct.pack_into("<II", raw, 0, 0xA92B4EFC, 1)
    raw[16:32] = uuid.UUID(member.array).bytes
    name = f"{member.homehost}:{member.name}".encode()
    raw[32 : 32 + len(name)] = name
    struct.pack_into("<ii", raw, 72, member.level, member.layout)
    struct.pack_into("<QII", raw, 80, 0, member.chunk // 512, member.disks)
    struct.pack_into("<Q", raw, 128, member.data_offset // 512)
    struct.pack_into("<I", raw, 160, member.role)
    struct.pack_into("<Q", raw, 200, 17)
    for number in range(member.disks):
        struct.pack_into("<H", raw, 256 + 2 * number, number)
    return bytes(raw)


def xfs_superblock(filesystem: Filesystem, size: int) -> bytes:
    """The first 512 bytes of an XFS."""
    raw = bytearray(512)
    raw[0:4] = b"XFSB"
    struct.pack_into(">IQ", raw, 4, 4096, size // 4096)
    raw[32:48] = uuid.UUID(filesystem.uuid).bytes
    struct.pack_into(">H", raw, 102, 512)
    raw[108:120] = filesystem.label.encode().ljust(12, b"\0")
    raw[126] = 0 if filesystem.complete else 1
    struct.pack_into(">II", raw, 184, filesystem.unit // 4096, filesystem.width // 4096)
    struct.pack_into(">I", raw, 196, filesystem.log_unit)
    return bytes(raw)
