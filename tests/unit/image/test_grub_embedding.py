"""The bytes by which a BIOS finds GRUB, against the layout of GRUB's own sources."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.image import grub
from stackctl.units import MIB


def test_boot_sector_points_to_the_core() -> None:
    code = grub.boot_sector(bytes(range(256)) * 2, 2048)
    assert len(code) == 440
    assert struct.unpack_from("<Q", code, 0x5C) == (2048,)
    assert code[0x66:0x68] == b"\x90\x90"
    untouched = bytes(range(256)) * 2
    assert code[:0x5C] == untouched[:0x5C]
    assert code[0x68:] == untouched[0x68:440]


@given(st.binary(min_size=513, max_size=4000), st.integers(min_value=1, max_value=2**40))
def test_the_core_knows_its_other_blocks(core: bytes, lba: int) -> None:
    placed = grub.placed_core(core, lba)
    start, count, segment = struct.unpack_from("<QHH", placed, 0x1F4)
    assert start == lba + 1
    assert len(placed) % 512 == 0
    assert count == len(placed) // 512 - 1
    assert segment == 0x820
    assert placed[512 : len(core)] == core[512:]
    assert placed[:0x1F4] == core[:0x1F4]


def test_embedding_leaves_the_rest_of_the_disk_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grub, "MODULES_FOLDER", tmp_path)
    (tmp_path / "boot.img").write_bytes(b"\xeb" * 512)
    disk = tmp_path / "disk"
    disk.write_bytes(b"\xaa" * (3 * MIB))
    grub.embed(disk, b"\x01" * 1000, MIB, MIB)
    data = disk.read_bytes()
    assert data[440:MIB] == b"\xaa" * (MIB - 440), "the partition table must stay"
    assert data[MIB : MIB + 0x1F4] == b"\x01" * 0x1F4
    assert data[MIB + 1024 :] == b"\xaa" * (2 * MIB - 1024)


def test_a_core_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(b"\xaa" * 4096)
    with pytest.raises(ValueError, match="does not fit"):
        grub.embed(disk, b"\x01" * (MIB + 1), 0, MIB)
    assert disk.read_bytes() == b"\xaa" * 4096
