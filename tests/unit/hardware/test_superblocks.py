"""Superblocks are read as the kernel lays them out. The bytes are of a real array and a real file system."""

import pytest
from twin.raw import beginning, md_superblock, xfs_superblock
from twin.state import Filesystem, Member

from stackctl.hardware import array, filesystem

UUID = "b66a7cff-8894-96ed-524c-797b35651958"


def test_an_md_member():
    found = array.superblock("sda1", md_superblock(Member(UUID, "data", 65536, 4, 4 << 20, 3)))
    assert (found.uuid, found.name, array.bare_name(found.name)) == (UUID, "any:data", "data")
    assert (found.level, found.layout, found.chunk, found.disks) == (10, 0x102, 65536, 4)
    assert (found.data_offset, found.role, found.device) == (4 << 20, 3, "sda1")


def test_an_xfs():
    found = filesystem.xfs("dm-0", xfs_superblock(Filesystem("database", 65536, 131072, 65536, UUID), 1 << 30))
    assert (found.uuid, found.label, found.size, found.block) == (UUID, "database", 1 << 30, 4096)
    assert (found.stripe_unit, found.stripe_width, found.log_stripe_unit) == (65536, 131072, 65536)
    assert found.complete


def test_an_xfs_whose_mkfs_was_cut_is_not_complete():
    raw = xfs_superblock(Filesystem("database", 0, 0, 0, complete=False), 1 << 30)
    assert not filesystem.xfs("dm-0", raw).complete


def test_an_ext4_larger_than_16_tib():
    made = Filesystem("documents", 65536, 131072, 0, UUID, type="ext4")
    found = filesystem.ext4("dm-1", beginning(made, 20 << 40)[1024:1536])
    assert (found.type, found.uuid, found.label) == ("ext4", UUID, "documents")
    assert (found.size, found.block) == (20 << 40, 4096)
    assert (found.stripe_unit, found.stripe_width, found.log_stripe_unit) == (65536, 131072, 0)


def test_swap_space():
    made = Filesystem("swap", 0, 0, 0, UUID, type="swap")
    found = filesystem.swap("dm-2", beginning(made, 1 << 30)[1024:1536])
    assert (found.type, found.uuid, found.label, found.size) == ("swap", UUID, "swap", 1 << 30)


READERS = [
    lambda raw: array.superblock("x", raw),
    *(lambda raw, read=read: read("x", raw) for read in filesystem.READERS.values()),
]


@pytest.mark.parametrize("read", READERS, ids=["md", *filesystem.READERS])
@pytest.mark.parametrize("raw", [b"", bytes(512), b"\xff" * 512, b"XFSB"])
def test_anything_else_is_none(read, raw):
    assert read(raw) is None
