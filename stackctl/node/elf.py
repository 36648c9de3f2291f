"""ELF files read without running them: what machine they are for, which libraries and which glibc they need.

Offsets and numbers are those of the System V ABI and of glibc's elf.h.
"""

import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

_MAGIC = b"\x7fELF"
_MACHINES = {3: "i386", 21: "ppc64", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""``e_machine``, in the words of ``uname -m``."""
_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME, _DT_VERNEED, _DT_VERNEEDNUM = 1, 5, 10, 14, 0x6FFFFFFE, 0x6FFFFFFF
_MOST = 65536
"""More entries than this in a table are no table."""
_GLIBC = re.compile(rb"GLIBC_(\d+)\.(\d+)")
_RELATIVE_RELOCATIONS = b"GLIBC_ABI_DT_RELR"
"""What a binary with packed relative relocations asks for; glibc 2.36 is the first that has it."""

Version = tuple[int, int]
Data = bytes | mmap.mmap


class ElfError(ValueError):
    """The file is no ELF file, or a damaged one."""


@dataclass(frozen=True)
class Elf:
    """What the headers and the dynamic section say."""

    bits: int
    machine: str
    """As ``uname -m`` says it; the number where the machine is an unusual one."""
    needed: tuple[str, ...] = ()
    """Sonames, DT_NEEDED."""
    soname: str | None = None
    glibc: Version = (0, 0)
    """The oldest glibc that has all that is asked of it; (0, 0) where nothing is."""
    names: frozenset[bytes] = field(default=frozenset(), repr=False)
    """The dynamic strings: among them every symbol that the file gives to others or wants from them."""

    def runs_on(self, machine: str) -> bool:
        """Whether a system that ``uname -m`` calls so runs it."""
        return self.machine == machine and self.bits == 64

    def __str__(self) -> str:
        return f"{self.machine} ({self.bits} bits)"


def is_elf(path: Path) -> bool:
    """Whether the file begins as an ELF file does."""
    with path.open("rb") as stream:
        return stream.read(4) == _MAGIC


def read(path: Path) -> Elf:
    """Read a file. Raises ElfError on what is no ELF file or ends early, OSError as ``open`` does."""
    with path.open("rb") as stream:
        if stream.read(4) != _MAGIC:
            raise ElfError(f"{path.name} is no ELF file")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return parse(data, path.name)


def parse(data: Data, name: str) -> Elf:
    """Read the bytes of a file; ``name`` is for the errors."""
    try:
        return _File(data).read()
    except (struct.error, IndexError):
        raise ElfError(f"{name} ends early or is damaged") from None


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


class _File:
    """One file's bytes, in its own word size and byte order."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._wide = data[4] == 2
        self._order = ">" if data[5] == 2 else "<"

    def read(self) -> Elf:
        (machine,) = self._take("H", 18)
        elf = Elf(64 if self._wide else 32, _MACHINES.get(machine, f"machine {machine}"))
        segments = list(self._segments())
        entries = [entry for each in segments if each.kind == _PT_DYNAMIC for entry in self._dynamic(each)]
        single = dict(entries)
        if _DT_STRTAB not in single:
            return elf
        start = self._offset(segments, single[_DT_STRTAB])
        strings = self._bytes(start, single.get(_DT_STRSZ, 0))
        versions: list[bytes] = []
        if _DT_VERNEED in single:
            versions = [
                _string(strings, at)
                for at in self._versions(self._offset(segments, single[_DT_VERNEED]), single.get(_DT_VERNEEDNUM, 0))
            ]
        soname = single.get(_DT_SONAME)
        return replace(
            elf,
            needed=tuple(_string(strings, value).decode() for tag, value in entries if tag == _DT_NEEDED),
            soname=None if soname is None else _string(strings, soname).decode(),
            glibc=_newest(versions),
            names=frozenset(strings.split(b"\0")),
        )

    def _take(self, form: str, offset: int) -> tuple[int, ...]:
        return struct.unpack_from(self._order + form, self._data, offset)

    def _bytes(self, offset: int, size: int) -> bytes:
        found = self._data[offset : offset + size]
        if len(found) != size:
            raise IndexError
        return found

    def _segments(self) -> Iterator[_Segment]:
        """The program headers."""
        (start,) = self._take("Q", 32) if self._wide else self._take("I", 28)
        size, count = self._take("HH", 54 if self._wide else 42)
        for number in range(count):
            at = start + number * size
            if self._wide:
                kind, _, offset, address, _, length = self._take("IIQQQQ", at)
            else:
                kind, offset, address, _, length = self._take("IIIII", at)
            yield _Segment(kind, offset, address, length)

    def _dynamic(self, segment: _Segment) -> Iterator[tuple[int, int]]:
        """Tags and values, up to the one that ends the section."""
        form = "QQ" if self._wide else "II"
        size = struct.calcsize(self._order + form)
        for number in range(min(segment.size // size, _MOST)):
            tag, value = self._take(form, segment.offset + number * size)
            if tag == 0:
                return
            yield tag, value

    def _offset(self, segments: list[_Segment], address: int) -> int:
        """Where in the file lies what is loaded to ``address``."""
        for segment in segments:
            if segment.kind == _PT_LOAD and segment.address <= address < segment.address + segment.size:
                return segment.offset + address - segment.address
        raise IndexError

    def _versions(self, start: int, count: int) -> Iterator[int]:
        """Where in the strings the names of the wanted symbol versions stand: Verneed and its Vernaux."""
        for _ in range(min(count, _MOST)):
            _, entries, _, first, following = self._take("HHIII", start)
            at = start + first
            for _ in range(entries):
                _, _, _, name, further = self._take("IHHII", at)
                yield name
                at += further
            start += following


def _string(strings: bytes, at: int) -> bytes:
    end = strings.find(b"\0", at)
    if end < 0:
        raise IndexError
    return strings[at:end]


def _newest(versions: list[bytes]) -> Version:
    found = [(0, 0)]
    for version in versions:
        if match := _GLIBC.match(version):
            found.append((int(match[1]), int(match[2])))
        elif version == _RELATIVE_RELOCATIONS:
            found.append((2, 36))
    return max(found)
