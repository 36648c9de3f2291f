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
    for number in range(128):
        struct.pack_into("<H", raw, 256 + 2 * number, number if number < member.disks else 0xFFFF)
    return bytes(raw)


def beginning(filesystem: Filesystem | None, size: int) -> bytes:
    """The first page of what a file system, or swap space, lies on."""
    if filesystem is None:
        return bytes(4096)
    if filesystem.type == "xfs":
        return xfs_superblock(filesystem, size).ljust(4096, b"\0")
    raw = bytearray(4096)
    known = uuid.UUID(filesystem.uuid).bytes
    name = filesystem.label.encode().ljust(16, b"\0")
    if filesystem.type == "swap":
        struct.pack_into("<III", raw, 1024, 1, size // 4096 - 1, 0)
        raw[1036:1052], raw[1052:1068], raw[4086:4096] = known, name, b"SWAPSPACE2"
    else:
        struct.pack_into("<I", raw, 1024 + 0x4, size // 4096 & 0xFFFFFFFF)
        struct.pack_into("<I", raw, 1024 + 0x18, 2)
        raw[1024 + 0x38 : 1024 + 0x3A] = b"\x53\xef"
        raw[1024 + 0x68 : 1024 + 0x78], raw[1024 + 0x78 : 1024 + 0x88] = known, name
        struct.pack_into("<I", raw, 1024 + 0x150, size // 4096 >> 32)
        struct.pack_into("<H", raw, 1024 + 0x164, filesystem.unit // 4096)
        struct.pack_into("<I", raw, 1024 + 0x170, filesystem.width // 4096)
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
