"""Superblocks are read as the kernel lays them out. The bytes are of a real array and a real file system."""

import pytest
from twin.raw import md_superblock, xfs_superblock
from twin.state import Filesystem, Member

from stackctl.hardware import array, xfs

UUID = "b66a7cff-8894-96ed-524c-797b35651958"


def test_an_md_member():
    found = array.superblock("sda1", md_superblock(Member(UUID, "data", 65536, 4, 4 << 20, 3)))
    assert (found.uuid, found.name, array.bare_name(found.name)) == (UUID, "any:data", "data")
    assert (found.level, found.layout, found.chunk, found.disks) == (10, 0x102, 65536, 4)
    assert (found.data_offset, found.role, found.device) == (4 << 20, 3, "sda1")


def test_an_xfs():
    found = xfs.superblock("dm-0", xfs_superblock(Filesystem("database", 65536, 131072, 65536, UUID), 1 << 30))
    assert (found.uuid, found.label, found.size, found.block, found.sector) == (UUID, "database", 1 << 30, 4096, 512)
    assert (found.stripe_unit, found.stripe_width, found.log_stripe_unit) == (65536, 131072, 65536)
    assert found.complete


def test_an_xfs_whose_mkfs_was_cut_is_not_complete():
    raw = xfs_superblock(Filesystem("database", 0, 0, 0, complete=False), 1 << 30)
    assert not xfs.superblock("dm-0", raw).complete


@pytest.mark.parametrize("read", [lambda raw: array.superblock("x", raw), lambda raw: xfs.superblock("x", raw)])
@pytest.mark.parametrize("raw", [b"", bytes(512), b"\xff" * 512, b"XFSB"])
def test_anything_else_is_none(read, raw):
    assert read(raw) is None
