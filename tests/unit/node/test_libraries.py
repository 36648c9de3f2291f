"""Libraries: what the loader of this host says, and the packages of Debian that bring them."""

import subprocess
from pathlib import Path

import pytest

from stackctl.node import libraries
from stackctl.node.errors import NodeError
from stackctl.node.libraries import Release
from stackctl.node.process import RecordingRunner, Result, SystemRunner
from tests.lib.forge import Forge

_BOOKWORM, _TRIXIE = Release("12", "Debian 12"), Release("13", "Debian 13")
_DRIZZLE = {
    "libaio.so.1": "libaio1",
    "libboost_filesystem.so.1.74.0": "libboost-filesystem1.74.0",
    "libboost_iostreams.so.1.74.0": "libboost-iostreams1.74.0",
    "libboost_program_options.so.1.74.0": "libboost-program-options1.74.0",
    "libboost_regex.so.1.74.0": "libboost-regex1.74.0",
    "libboost_thread.so.1.74.0": "libboost-thread1.74.0",
    "libprotobuf.so.32": "libprotobuf32",
    "libpcre.so.3": "libpcre3",
    "libuuid.so.1": "libuuid1",
    "libz.so.1": "zlib1g",
    "libreadline.so.8": "libreadline8",
    "libicuuc.so.72": "libicu72",
    "libgcrypt.so.20": "libgcrypt20",
    "libgearman.so.8": "libgearman8",
    "libevent-2.1.so.7": "libevent-2.1-7",
    "libcurl.so.4": "libcurl4",
    "libpam.so.0": "libpam0g",
}
"""What Drizzle 7.2 was seen to need on Debian 12, and where it comes from."""


def test_packages_of_debian_12() -> None:
    assert {soname: libraries.package(soname, "12") for soname in _DRIZZLE} == _DRIZZLE


@pytest.mark.parametrize(
    "soname", ["libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "libdl.so.2"]
)
def test_parts_of_glibc(soname: str) -> None:
    assert libraries.package(soname, "12") == libraries.package(soname, "13") == "libc6"


def test_this_hosts_own_libraries_come_from_the_packages_that_the_table_says() -> None:
    """dpkg knows of those that are installed here."""
    version = libraries.release().version
    said = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    there = {line.split()[0] for line in said.splitlines() if "x86-64" in line}
    asked = 0
    for soname in there & {*_DRIZZLE, "libc.so.6", "libstdc++.so.6"}:
        if package := libraries.package(soname, version):
            lists = [*Path("/var/lib/dpkg/info").glob(f"{package}.list")]
            lists += Path("/var/lib/dpkg/info").glob(f"{package}:*.list")
            assert any(f"/{soname}\n" in file.read_text() for file in lists), (soname, package)
            asked += 1
    assert asked >= 3


def test_missing_ones_are_packages_and_those_that_are_there_are_not() -> None:
    needed = ["libprotobuf.so.32", "libz.so.1", "libboost_thread.so.1.74.0"]
    assert libraries.packages(needed, frozenset({"libz.so.1"}), _BOOKWORM) == (
        "libboost-thread1.74.0",
        "libprotobuf32",
    )


def test_what_debian_13_no_longer_has_is_told_with_whom_the_archive_is_for() -> None:
    needed = ["libboost_thread.so.1.74.0", "libpcre.so.3", "libz.so.1"]
    with pytest.raises(NodeError) as caught:
        libraries.packages(needed, frozenset(), _TRIXIE)
    assert caught.value.message == (
        "the archive needs libraries that Debian 13 does not have: libboost_thread.so.1.74.0, libpcre.so.3"
    )
    assert caught.value.kind == "input"
    assert "the archive is for Debian 12" in str(caught.value.hint)


def test_what_no_debian_has_is_told() -> None:
    with pytest.raises(NodeError, match=r"Debian 12 does not have: libown\.so\.1$") as caught:
        libraries.packages(["libown.so.1"], frozenset(), _BOOKWORM)
    assert "into the archive" in str(caught.value.hint)


def test_another_system_gets_no_packages() -> None:
    with pytest.raises(NodeError, match=r"Elsewhere Linux does not have: libz\.so\.1"):
        libraries.packages(["libz.so.1"], frozenset(), Release("", "Elsewhere Linux"))


@pytest.mark.parametrize(
    ("text", "version"), [('ID=debian\nVERSION_ID="13"\n', "13"), ("ID=ubuntu\nVERSION_ID=24.04\n", ""), ("", "")]
)
def test_the_release_of_a_server(tmp_path: Path, text: str, version: str) -> None:
    (tmp_path / "os-release").write_text(text)
    assert libraries.release(tmp_path / "os-release").version == version


def test_the_loader_is_asked(tmp_path: Path) -> None:
    forge = Forge(tmp_path)
    own = forge.library("lib/libown.so.1")
    gone = forge.library("lib/libgone.so.1")
    program = forge.program("program", "int main(void) { return 0; }", own, gone)
    gone.unlink()
    found = libraries.linked(SystemRunner(), program, [tmp_path / "lib"])
    assert found.missing == ("libgone.so.1",)
    assert found.found["libown.so.1"] == str(own)
    assert "libc.so.6" in found.found
    assert found.complaints == ()
    assert "libown.so.1" in libraries.linked(SystemRunner(), program, []).missing


def test_a_library_that_is_too_old_is_told(tmp_path: Path) -> None:
    forge = Forge(tmp_path)
    newer = forge.versioned("newer/libold.so.1", "call", "OLD_2")
    program = forge.program("program", "int call(void); int main(void) { return call(); }", newer)
    forge.versioned("older/libold.so.1", "call", "OLD_1")
    found = libraries.linked(SystemRunner(), program, [tmp_path / "older"])
    assert found.complaints == (f"{tmp_path}/older/libold.so.1: version `OLD_2' not found",)


def test_known_libraries_are_those_of_the_loaders_cache() -> None:
    said = "2 libs found in cache `/etc/ld.so.cache'\n\tlibz.so.1 (libc6,x86-64) => /lib/libz.so.1\n"
    assert libraries.known(RecordingRunner(lambda argv: Result(argv, 0, said))) == {"libz.so.1"}
    assert "libc.so.6" in libraries.known(SystemRunner())
