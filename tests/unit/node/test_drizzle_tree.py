"""A tree of Drizzle: its parts are found, and what does not fit a server is told before anything is switched."""

import os
import shutil
import struct
from pathlib import Path

import pytest

from stackctl.node.drizzle_tree import Chosen, Tree
from stackctl.node.errors import NodeError
from tests.lib.forge import PLUGINS, Forge

_HERE = os.uname().machine
_NOW = (2, 99)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Forge(tmp_path_factory.mktemp("made")).tree()


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A copy to do things to."""
    return Path(shutil.copytree(made, tmp_path / "tree", symlinks=True))


def test_the_parts_are_found(made: Path) -> None:
    assert Tree.find(made).to_result() == {
        "program": "sbin/drizzled",
        "base": ".",
        "plugin_directory": PLUGINS,
        "library_directories": ["lib"],
        "plugins": ["auth_file", "crc32", "gearman_udf", "md5"],
    }


def test_a_prefix_within_the_archive(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "usr" / "local", symlinks=True)
    (tmp_path / "etc").mkdir()
    tree = Tree.find(tmp_path)
    assert (tree.program, tree.base) == ("usr/local/sbin/drizzled", "usr/local")
    assert tree.plugin_directory == f"usr/local/{PLUGINS}"
    assert tree.library_directories == ("usr/local/lib",)


def test_a_server_in_bin(root: Path) -> None:
    (root / "sbin").rename(root / "bin")
    assert Tree.find(root).program == "bin/drizzled"


def test_an_archive_without_a_server_is_told(tmp_path: Path) -> None:
    (tmp_path / "drizzled").mkdir()
    (tmp_path / "drizzled" / "drizzled.cc").touch()
    with pytest.raises(NodeError, match="no sbin/drizzled") as caught:
        Tree.find(tmp_path)
    assert caught.value.kind == "input"


def test_a_script_of_libtool_is_no_server(root: Path) -> None:
    (root / "sbin" / "drizzled").write_text("#!/bin/sh\nexec .libs/drizzled\n")
    with pytest.raises(NodeError, match=r"sbin/drizzled cannot be loaded: drizzled is no ELF file"):
        Tree.find(root).check(Chosen(), _HERE, _NOW)


def test_plugins_are_files_or_compiled_in(made: Path) -> None:
    tree = Tree.find(made)
    assert [name for name in ("auth_file", "syslog", "query_log") if tree.has(name)] == ["auth_file", "syslog"]


def test_what_drizzled_loads_by_itself_is_known_and_the_site_adds_and_takes_away(made: Path) -> None:
    tree = Tree.find(made)
    assert tree.by_itself == ("crc32", "md5")
    chosen = Chosen(("auth_file", "syslog", "gearman_udf"), ("gearman_udf",), ("md5",))
    assert [path.name for path in tree.loaded(chosen)] == [
        "drizzled",
        "libcrc32_plugin.so",
        "libauth_file_plugin.so",
        "libgearman_udf_plugin.so",
    ]


def test_a_plugin_that_is_not_there_is_told_with_those_that_are(made: Path) -> None:
    with pytest.raises(NodeError, match=r"the archive has no plugin rabbitmq, zeromq$") as caught:
        Tree.find(made).check(Chosen(("rabbitmq", "auth_file", "zeromq")), _HERE, _NOW)
    assert (caught.value.kind, "auth_file, crc32" in str(caught.value.hint)) == ("input", True)


def test_a_wished_plugin_may_be_absent(root: Path) -> None:
    (root / PLUGINS / "libgearman_udf_plugin.so").unlink()
    tree = Tree.find(root)
    chosen = Chosen(("auth_file", "gearman_udf"), ("gearman_udf",))
    assert tree.chosen(chosen) == ("auth_file",)
    tree.check(chosen, _HERE, _NOW)


def test_the_server_has_to_give_what_the_tree_does_not_bring(root: Path) -> None:
    forge = Forge(root)
    foreign = forge.library("away/libforeign.so.7")
    forge.library("lib/libdrizzle.so.9.0.0", "int x;", foreign, soname="libdrizzle.so.9")
    unused = forge.library("away/libunused.so.1")
    forge.library(f"{PLUGINS}/librabbitmq_plugin.so", "int x;", unused)
    shutil.rmtree(root / "away")
    needed = Tree.find(root).check(Chosen(("auth_file",)), _HERE, _NOW)
    assert "libforeign.so.7" in needed, "by way of a library of its own"
    assert "libc.so.6" in needed
    assert not {"libdrizzle.so.9", "libunused.so.1"} & set(needed), "own ones, and those of plugins that nobody loads"


@pytest.mark.parametrize("part", ["sbin/drizzled", f"{PLUGINS}/libauth_file_plugin.so", "lib/libdrizzle.so.9.0.0"])
def test_another_machine_is_told(root: Path, part: str) -> None:
    content = bytearray((root / part).read_bytes())
    struct.pack_into("<H", content, 18, 183 if _HERE != "aarch64" else 62)
    (root / part).write_bytes(content)
    with pytest.raises(NodeError, match=rf"another machine: .* and the server is {_HERE}$") as caught:
        Tree.find(root).check(Chosen(("auth_file",)), _HERE, _NOW)
    assert caught.value.kind == "input"


def test_a_newer_glibc_is_told_with_both_versions(root: Path) -> None:
    forge = Forge(root)
    future = forge.versioned("away/libm.so.6", "future", "GLIBC_2.99")
    source = "int future(void); int plugin(void) { return future(); }"
    forge.library(f"{PLUGINS}/libauth_file_plugin.so", source, future)
    shutil.rmtree(root / "away")
    with pytest.raises(NodeError) as caught:
        Tree.find(root).check(Chosen(("auth_file",)), _HERE, (2, 36))
    assert caught.value.message == (
        f"{PLUGINS}/libauth_file_plugin.so needs glibc 2.99 or newer, and the server has 2.36"
    )
    Tree.find(root).check(Chosen(("auth_file",)), _HERE, (2, 99))
    Tree.find(root).check(Chosen(), _HERE, (2, 36))


@pytest.mark.parametrize(
    ("part", "soname"),
    [
        ("sbin/drizzled", "libtcmalloc.so.4"),
        ("lib/libdrizzle.so.9", "libtcmalloc_minimal.so.4"),
        (f"{PLUGINS}/libauth_file_plugin.so", "libtcmalloc_and_profiler.so.4"),
    ],
)
def test_tcmalloc_is_refused_wherever_it_is_linked(root: Path, tmp_path: Path, part: str, soname: str) -> None:
    forge = Forge(root)
    allocator = Forge(tmp_path).library(f"away/{soname}")
    if part == "sbin/drizzled":
        forge.server(allocator)
    else:
        (root / part).unlink()
        forge.library(part, "int x;", allocator)
    shutil.rmtree(tmp_path / "away")
    with pytest.raises(NodeError) as caught:
        Tree.find(root).check(Chosen(("auth_file",)), _HERE, _NOW)
    assert caught.value.kind == "refused"
    assert caught.value.message == f"{part} is linked to tcmalloc, which halves Drizzle's throughput"
    assert caught.value.to_result()["stackctl_exit"] == 3


def test_tcmalloc_in_a_plugin_that_nobody_loads_is_no_matter(root: Path, tmp_path: Path) -> None:
    allocator = Forge(tmp_path).library("libtcmalloc.so.4")
    Forge(root).library(f"{PLUGINS}/libzeromq_plugin.so", "int x;", allocator)
    Tree.find(root).check(Chosen(("auth_file",)), _HERE, _NOW)
