"""One file out of initramfs images of every make."""

import subprocess
from pathlib import Path

import pytest

from stackctl.validation.probes import initramfs

NAME = "etc/mdadm/mdadm.conf"
CONF = "HOMEHOST <ignore>\nARRAY /dev/md/data UUID=1\n"


def archive(files: dict[str, str]) -> bytes:
    """A cpio archive in the form `newc`."""
    packed = b""
    for name, text in (files | {"TRAILER!!!": ""}).items():
        data, title = text.encode(), name.encode() + b"\0"
        fields = [1, 0o100644, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(title), 0]
        packed += b"070701" + b"".join(b"%08X" % field for field in fields) + title
        packed += bytes(-len(packed) % 4) + data
        packed += bytes(-len(packed) % 4)
    return packed + bytes(-len(packed) % 512)


def packed(program: str, data: bytes) -> bytes:
    # the kernel reads lz4 only in its old form
    done = subprocess.run(
        [program, *(["-l"] if program == "lz4" else []), "-c"], input=data, capture_output=True, check=True
    )
    return done.stdout


def read(folder: Path, image: bytes) -> dict[str, str | None]:
    file = folder / "initrd.img-1"
    file.write_bytes(image)
    return initramfs.file_in([str(file)], NAME)[str(file)]


FILES = {"bin/busybox": "x" * 5_000_001, NAME: CONF, "usr/lib/z": "y" * 3_000_000}


@pytest.mark.parametrize("program", ["zstd", "gzip", "xz", "lz4", "bzip2"])
def test_the_file_is_found_however_the_image_is_packed(tmp_path: Path, program: str) -> None:
    assert read(tmp_path, packed(program, archive(FILES))) == {"text": CONF, "wrong": None}


def test_the_file_is_found_behind_an_archive_of_microcode(tmp_path: Path) -> None:
    early = archive({"kernel/x86/microcode/AuthenticAMD.bin": "m" * 100_001})
    assert read(tmp_path, early + packed("zstd", archive(FILES)))["text"] == CONF


def test_the_file_is_found_in_a_plain_archive(tmp_path: Path) -> None:
    assert read(tmp_path, archive({f"./{name}": text for name, text in FILES.items()}))["text"] == CONF


def test_an_image_without_the_file_says_so(tmp_path: Path) -> None:
    image = archive({"a": "1"}) + packed("gzip", archive({"etc/fstab": "2"}))
    assert read(tmp_path, image) == {"text": None, "wrong": f"it holds no /{NAME}"}


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (b"\x89PNG....", "packed in an unknown way"),
        (archive(FILES)[:100], "damaged"),
        (archive(FILES)[:2_000_000], "ends early"),
        (packed("zstd", archive(FILES))[:60], "it holds no"),
        (b"", "it holds no"),
    ],
)
def test_a_damaged_image_says_so(tmp_path: Path, image: bytes, words: str) -> None:
    found = read(tmp_path, image)
    assert found["text"] is None
    assert words in str(found["wrong"])


def test_an_image_that_is_not_there_says_so() -> None:
    assert "No such file" in str(initramfs.file_in(["/no/such/image"], NAME)["/no/such/image"]["wrong"])
