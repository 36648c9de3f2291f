"""ELF files are read as they are: compiled here, and patched where no compiler makes them so."""

import contextlib
import os
import struct
from pathlib import Path

import pytest

from stackctl.node import elf
from tests.lib.forge import Forge


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Forge:
    return Forge(tmp_path_factory.mktemp("forge"))


@pytest.fixture(scope="module")
def program(forge: Forge) -> Path:
    own = forge.library("lib/libown.so.3", "int own(void) { return 1; }")
    return forge.program("program", "int own(void); int main(void) { return own(); }", own)


def test_a_program_of_this_machine(program: Path) -> None:
    found = elf.read(program)
    assert (found.bits, found.machine) == (64, os.uname().machine)
    assert found.needed == ("libown.so.3", "libc.so.6")
    assert found.soname is None
    assert found.runs_on(os.uname().machine)
    assert not found.runs_on("s390x")


def test_a_library_says_its_soname(forge: Forge) -> None:
    found = elf.read(forge.library("libnamed.so.2.1.0", soname="libnamed.so.2"))
    assert found.soname == "libnamed.so.2"
    assert b"nothing" in found.names


def test_the_newest_version_of_glibc_that_is_asked_for(forge: Forge) -> None:
    """This host's own compiler asks for 2.34 (``__libc_start_main`` of a program that was linked since)."""
    assert (2, 2) <= elf.read(forge.program("plain")).glibc <= (2, 99)
    future = forge.versioned("stub/libm.so.6", "future", "GLIBC_2.99")
    program = forge.program("newer", "int future(void); int main(void) { return future(); }", future)
    assert elf.read(program).glibc == (2, 99)


def test_versions_are_numbers_and_not_texts(forge: Forge) -> None:
    older = forge.versioned("stub9/libm.so.6", "nine", "GLIBC_2.9")
    assert elf.read(forge.library("nine.so", "int nine(void); int f(void) { return nine(); }", older)).glibc == (2, 9)


def test_another_machine(program: Path, tmp_path: Path) -> None:
    patched = bytearray(program.read_bytes())
    struct.pack_into("<H", patched, 18, 183)
    file = tmp_path / "arm"
    file.write_bytes(patched)
    assert str(elf.read(file)) == "aarch64 (64 bits)"
    struct.pack_into("<H", patched, 18, 4711)
    assert elf.parse(bytes(patched), "odd").machine == "machine 4711"


def test_32_bits() -> None:
    header = (
        b"\x7fELF"
        + bytes([1, 1, 1])
        + bytes(9)
        + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 52, 0, 0, 52, 32, 0, 0, 0, 0)
    )
    found = elf.parse(header, "old")
    assert str(found) == "i386 (32 bits)"
    assert not found.runs_on("i386"), "no server of ours is one"


def test_big_endian() -> None:
    header = (
        b"\x7fELF"
        + bytes([2, 2, 1])
        + bytes(9)
        + struct.pack(">HHIQQQIHHHHHH", 2, 22, 1, 0, 64, 0, 0, 64, 56, 0, 0, 0, 0)
    )
    assert str(elf.parse(header, "mainframe")) == "s390x (64 bits)"


def test_a_static_program_needs_nothing(tmp_path: Path) -> None:
    source = 'void _start(void) { __asm__("hlt"); }'
    found = elf.read(Forge(tmp_path)._compile("static", source, ["-static", "-nostdlib"], ()))
    assert (found.needed, found.glibc) == ((), (0, 0))


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\nexec .libs/drizzled\n", b"\x7fEL"])
def test_what_is_no_elf_file_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "drizzled"
    file.write_bytes(content)
    assert not elf.is_elf(file)
    with pytest.raises(elf.ElfError, match="drizzled is no ELF file"):
        elf.read(file)


def test_every_shorter_file_is_told_and_none_hangs(program: Path) -> None:
    whole = program.read_bytes()
    complete = elf.parse(whole, "program")
    for size in (5, 20, 63, 100, 200, 600, 900, 1200, len(whole) // 2):
        with contextlib.suppress(elf.ElfError):
            assert elf.parse(whole[:size], "program") == complete
    with pytest.raises(elf.ElfError, match="program ends early or is damaged"):
        elf.parse(whole[:100], "program")
