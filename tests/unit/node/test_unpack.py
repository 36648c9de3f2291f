"""Archives are unpacked whole, whatever packs them, and nothing gets outside of their folder."""

import gzip
import io
import lzma
import subprocess
import tarfile
from pathlib import Path

import pytest

from stackctl.node.errors import NodeError
from stackctl.node.unpack import unpack

Member = tuple[tarfile.TarInfo, bytes]


def _file(name: str, content: bytes = b"", mode: int = 0o644) -> Member:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    return info, content


def _link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> Member:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def _odd(name: str, kind: bytes) -> Member:
    info = tarfile.TarInfo(name)
    info.type = kind
    return info, b""


def _tar(*members: Member) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


_GOOD = _tar(
    _file("top/sbin/drizzled", b"program", 0o755),
    _file("top/lib/libx.so.1.0", b"library" * 3000),
    _link("top/lib/libx.so.1", "libx.so.1.0"),
    _link("top/lib64", "lib"),
    _link("top/sbin/again", "top/sbin/drizzled", tarfile.LNKTYPE),
)


def _zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout


def _bzip2(data: bytes) -> bytes:
    import bz2

    return bz2.compress(data)


_PACKERS = {"gzip": gzip.compress, "xz": lzma.compress, "bzip2": _bzip2, "zstd": _zstd, "tar": bytes}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    folder.mkdir()
    return folder


def _archive(tmp_path: Path, content: bytes) -> Path:
    file = tmp_path / "archive"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("packer", _PACKERS)
def test_whatever_packs_it(tmp_path: Path, folder: Path, packer: str) -> None:
    unpack(_archive(tmp_path, _PACKERS[packer](_GOOD)), folder)
    assert sorted(path.name for path in folder.iterdir()) == ["lib", "lib64", "sbin"], (
        "the one top folder is left out"
    )
    assert (folder / "sbin/drizzled").read_bytes() == b"program"
    assert (folder / "lib64/libx.so.1").read_bytes() == b"library" * 3000
    assert str((folder / "lib/libx.so.1").readlink()) == "libx.so.1.0"
    assert (folder / "sbin/drizzled").stat().st_mode & 0o7777 == 0o755
    assert (folder / "lib/libx.so.1.0").stat().st_mode & 0o7777 == 0o644
    assert (folder / "sbin/again").read_bytes() == b"program"


@pytest.mark.parametrize("packer", _PACKERS)
def test_an_archive_that_ends_early_is_told(tmp_path: Path, folder: Path, packer: str) -> None:
    whole = _PACKERS[packer](_GOOD)
    # a tar archive by itself ends with zeros that may be missing in part
    for size in (len(whole) // 3, len(whole.rstrip(b"\0")) + 300 if packer == "tar" else len(whole) - 9):
        with pytest.raises(NodeError, match="no whole tar archive") as caught:
            unpack(_archive(tmp_path, whole[:size]), folder)
        assert caught.value.kind == "input"


def test_a_tar_cut_between_two_members_is_told(tmp_path: Path, folder: Path) -> None:
    """Python's own reader takes it for whole."""
    cut = _tar(_file("a", b"x" * 512), _file("b", b"y" * 512))[: 2 * 512]
    with pytest.raises(NodeError, match="ends early"):
        unpack(_archive(tmp_path, gzip.compress(cut)), folder)


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"<!doctype html><title>404</title>"])
def test_what_is_no_archive_is_told(tmp_path: Path, folder: Path, content: bytes) -> None:
    with pytest.raises(NodeError, match="no whole tar archive"):
        unpack(_archive(tmp_path, content), folder)


_ATTACKS: dict[str, tuple[Member, ...]] = {
    "parent": (_file("a/../../evil"),),
    "absolute": (_file("/evil"),),
    "link out": (_link("a/b", "../../evil"),),
    "absolute link": (_link("a", "/etc/passwd"),),
    "link through a link": (_link("p/q/up", "../.."), _link("out", "p/q/up/../../../evil"), _file("p/q/x")),
    "file through a link": (_link("a", ".."), _file("a/evil", b"x")),
    "hard link out": (_link("a", "../evil", tarfile.LNKTYPE),),
    "hard link to nothing": (_link("a", "absent", tarfile.LNKTYPE),),
    "setuid": (_file("sbin/drizzled", b"", 0o4755),),
    "setgid": (_file("sbin/drizzled", b"", 0o2755),),
    "device": (_odd("dev/sda", tarfile.BLKTYPE),),
    "terminal": (_odd("dev/tty", tarfile.CHRTYPE),),
    "pipe": (_odd("pipe", tarfile.FIFOTYPE),),
}


@pytest.mark.parametrize("attack", _ATTACKS)
def test_attacks_are_refused_and_write_nothing_outside(tmp_path: Path, folder: Path, attack: str) -> None:
    with pytest.raises(NodeError) as caught:
        unpack(_archive(tmp_path, _tar(*_ATTACKS[attack])), folder)
    if attack == "file through a link":
        assert "File exists" in caught.value.message, "links come last, and find the folder in their place"
    else:
        assert caught.value.kind == "refused"
        assert "the archive holds" in caught.value.message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "release"]
    assert not Path("/evil").exists()


def test_a_folder_beside_others_stays(tmp_path: Path, folder: Path) -> None:
    unpack(_archive(tmp_path, _tar(_file("sbin/drizzled"), _file("README"))), folder)
    assert sorted(path.name for path in folder.iterdir()) == ["README", "sbin"]


def test_names_that_begin_with_a_dot_and_a_top_folder_that_holds_its_own_name(tmp_path: Path, folder: Path) -> None:
    unpack(_archive(tmp_path, _tar(_file("./drizzle/drizzle/x", b"1"), _file("./drizzle/y"))), folder)
    assert (folder / "drizzle/x").read_bytes() == b"1"
    assert (folder / "y").exists()


def test_a_missing_zstd_is_told(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = _archive(tmp_path, _zstd(_GOOD))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NodeError, match="zstd: not found") as caught:
        unpack(archive, folder)
    assert caught.value.hint == "apt-get install zstd"
