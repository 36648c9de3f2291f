"""A tar archive, packed in any usual way, unpacked into a folder: whole, and nothing outside of it."""

import bz2
import gzip
import lzma
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from . import process
from .errors import NodeError

_SPECIAL = 0o6000
"""setuid and setgid."""
_ENDING = 1024
"""A tar archive ends with as many zero bytes, or more."""

_PACKERS: tuple[tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"\xfd7zXZ\0", lzma.open),
    (b"BZh", bz2.open),
)
_ZSTD = b"\x28\xb5\x2f\xfd"


def unpack(archive: Path, folder: Path) -> None:
    """Unpack ``archive`` into the empty ``folder``; a single folder that all lies in is left out.

    Files, folders, hard links, and symbolic links that stay inside; all of them become root's, without special
    modes. Raises NodeError on anything else, and on an archive that ends early.
    """
    try:
        with archive.open("rb") as stream, _unpacked(stream) as plain:
            _Folder(folder).fill(plain)
    except process.ProcessError as error:
        raise NodeError(
            f"{archive.name} cannot be unpacked: {error.result.stderr}", hint="apt-get install zstd"
        ) from None
    except (EOFError, tarfile.TarError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise NodeError(
            f"{archive.name} is no whole tar archive: {error}",
            kind="input",
            hint="it was cut short, or is no tar archive packed by gzip, xz, bzip2 or zstd; fetch or make it anew",
        ) from None
    except OSError as error:
        raise NodeError(f"{archive.name} cannot be unpacked to {folder}: {error.strerror or error}") from None
    _strip(folder)


@contextmanager
def _unpacked(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """The bytes of the tar archive itself."""
    head = stream.read(6)
    stream.seek(0)
    if head.startswith(_ZSTD):
        with process.reading(["zstd", "-dc"], stream) as plain:
            yield plain
        return
    for magic, opener in _PACKERS:
        if head.startswith(magic):
            with opener(stream) as plain:
                yield plain
            return
    yield stream


class _Ending:
    """A stream that remembers how what was read from it ended."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.last = b""

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.last = (self.last + data[-_ENDING:])[-_ENDING:]
        return data


class _Folder:
    """A folder that is being filled; links are made last, so that nothing is written through one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._links: list[tuple[Path, str]] = []

    def fill(self, plain: IO[bytes]) -> None:
        ending = _Ending(plain)
        # a stream: what is packed cannot be read twice
        with tarfile.open(fileobj=ending, mode="r|") as tar:  # type: ignore[call-overload]
            for member in tar:
                self._add(tar, member)
        while ending.read(1 << 20):
            pass
        if ending.last.strip(b"\0") or len(ending.last) < _ENDING:
            raise tarfile.ReadError("it ends early")
        for path, target in self._links:
            self._link(path, target)

    def _add(self, tar: Any, member: tarfile.TarInfo) -> None:
        path = self._inside(member.name)
        if member.mode & _SPECIAL and not member.isdir():
            raise _unwanted(member.name, "a program that runs as its owner (setuid or setgid)")
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if member.isreg():
            with path.open("wb") as file:
                shutil.copyfileobj(tar.extractfile(member), file)
            path.chmod(0o755 if member.mode & 0o111 else 0o644)
        elif member.issym():
            self._links.append((path, member.linkname))
        elif member.islnk():
            target = self._inside(member.linkname)
            if not target.is_file():
                raise _unwanted(member.name, f"a hard link to {member.linkname}, which is not in it")
            path.hardlink_to(target)
        else:
            raise _unwanted(member.name, "neither a file, a folder nor a link")

    def _inside(self, name: str) -> Path:
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts:
            raise _unwanted(name, "outside of its folder")
        return self._root / pure

    def _link(self, path: Path, target: str) -> None:
        if PurePosixPath(target).is_absolute():
            raise _unwanted(str(path.relative_to(self._root)), f"a link to the absolute path {target}")
        path.symlink_to(target)
        root = os.path.realpath(self._root)
        # other links may be on the way, so the kernel's word counts and not the text
        if os.path.commonpath([root, os.path.realpath(path)]) != root:
            raise _unwanted(str(path.relative_to(self._root)), f"a link to {target}, outside of its folder")


def _unwanted(name: str, why: str) -> NodeError:
    return NodeError(
        f"the archive holds {name}, which is {why}",
        kind="refused",
        hint="nothing was unpacked; make the archive without it",
    )


def _strip(folder: Path) -> None:
    """Take out the one folder that everything lies in."""
    entries = list(folder.iterdir())
    if len(entries) != 1 or entries[0].is_symlink() or not entries[0].is_dir():
        return
    (top,) = entries
    aside = top.rename(folder / f".{os.getpid()}-top")
    for entry in aside.iterdir():
        entry.rename(folder / entry.name)
    aside.rmdir()
