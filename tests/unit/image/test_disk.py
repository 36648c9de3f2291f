"""The disk image: partitions on whole MiB, the root last, and a real file system in a real table."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.image import disk
from stackctl.image.build import identifiers
from stackctl.image.definition import Disk
from stackctl.process import SystemRunner
from stackctl.units import GIB, MIB

IDS = identifiers("test")


@given(st.integers(min_value=1024, max_value=1 << 22).map(lambda count: count * MIB))
def test_partitions_are_aligned_and_the_root_is_last(size: int) -> None:
    bios, root = disk.partitions(size, IDS)
    assert bios.start == MIB
    assert bios.start + bios.size <= root.start
    assert root.start % MIB == 0
    assert root.size % MIB == 0
    assert root.start + root.size == size - MIB, "room for the second table, and for nothing else"


def test_identifiers_belong_to_the_content() -> None:
    assert identifiers("a") == identifiers("a")
    assert len({*vars(identifiers("a")).values(), *vars(identifiers("b")).values()}) == 6


def test_mke2fs_leaves_out_what_grub_does_not_read() -> None:
    root = disk.partitions(2 * GIB, IDS)[1]
    words = disk.mke2fs_argv(Path("tree"), Path("image"), Disk(), root, IDS.root)
    assert words[words.index("-O") + 1] == "^orphan_file,^metadata_csum_seed"
    assert f"offset={root.start}" in words[words.index("-E") + 1]
    assert words[-2:] == ["image", f"{root.size // 1024}k"]


@pytest.mark.skipif(not shutil.which("grub-mkimage"), reason="needs grub-pc-bin")
def test_a_real_image(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "boot").mkdir(parents=True)
    (tree / "boot" / "hello").write_text("hello from the root\n")
    image = disk.make(tree, Disk(size=1 * GIB), IDS, tmp_path, SystemRunner())
    assert image.stat().st_size == GIB
    assert image.stat().st_blocks * 512 < 64 * MIB, "sparse"

    dump = json.loads(subprocess.check_output(["sfdisk", "--json", image]))["partitiontable"]
    assert dump["label"] == "gpt"
    assert dump["id"].lower() == IDS.disk
    assert [(part["start"], part["size"]) for part in dump["partitions"]] == [
        (2048, 2048),
        (4096, (GIB - 3 * MIB) // 512),
    ]
    assert [part["type"] for part in dump["partitions"]] == [disk.BIOS_BOOT, disk.ROOT_X86_64]
    assert dump["partitions"][1]["uuid"].lower() == IDS.root_partition

    inside = f"{image}?offset={2 * MIB}"
    said = subprocess.check_output(["debugfs", "-R", "cat /boot/hello", inside], stderr=subprocess.DEVNULL)
    assert said == b"hello from the root\n"
    assert IDS.root.encode() in subprocess.check_output(["debugfs", "-R", "show_super_stats -h", inside])

    data = image.read_bytes()[: 3 * MIB]
    assert data[510:512] == b"\x55\xaa"
    assert b"GRUB" in data[:440]
    assert data[MIB : MIB + 512] != bytes(512)
