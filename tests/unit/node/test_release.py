"""Releases are unpacked whole or not at all, and switched to in one stroke."""

import hashlib
import io
import os
import sys
import tarfile
import time
from pathlib import Path

import pytest

from stackctl.node.errors import NodeError
from stackctl.node.process import RecordingRunner, Result, SystemRunner
from stackctl.node.release import Releases

_HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def _archive(
    folder: Path, files: dict[str, str], *, name: str = "r.tar.gz", link: str | None = None
) -> tuple[Path, str]:
    path = folder / name
    with tarfile.open(path, "w:gz") as tar:
        for member, text in files.items():
            info = tarfile.TarInfo(member)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
        if link:
            info = tarfile.TarInfo("link")
            info.type, info.linkname = tarfile.SYMTYPE, link
            tar.addfile(info)
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def releases(tmp_path: Path) -> Releases:
    return Releases(SystemRunner(), tmp_path / "app", sys.executable)


def _install(releases: Releases, folder: Path, digest: str) -> None:
    releases.install(digest, *_archive(folder, {"app/__init__.py": f"D = {digest!r}\n"}, name=f"{digest}.tar.gz"))
    releases.switch(digest)


def test_a_blank_server(releases: Releases) -> None:
    found = releases.look()
    assert (found.current, found.present) == (None, ())
    assert found.python == _HERE
    assert found.machine == os.uname().machine
    assert found.libc.startswith("glibc 2.")


def test_another_interpreter_is_asked(tmp_path: Path) -> None:
    runner = RecordingRunner(lambda argv: Result(argv, 0, "3.13 x86_64 glibc 2.41\n"))
    found = Releases(runner, tmp_path, "/opt/python/bin/python3").look()
    assert (found.python, found.machine, found.libc) == ("3.13", "x86_64", "glibc 2.41")
    assert runner.calls[0][0] == "/opt/python/bin/python3"


def test_an_interpreter_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="/no/python does not run") as caught:
        Releases(SystemRunner(), tmp_path, "/no/python").look()
    assert caught.value.hint


def test_a_release_is_unpacked_compiled_and_in_force(releases: Releases, tmp_path: Path) -> None:
    _install(releases, tmp_path, "aaaa")
    assert releases.look().current == "aaaa"
    current = releases.root / "current"
    assert current.readlink() == Path("releases/aaaa")
    assert (current / "app" / "__init__.py").read_text() == "D = 'aaaa'\n"
    assert list((current / "app" / "__pycache__").glob("__init__.*.pyc"))
    assert current.stat().st_mode & 0o777 == 0o755
    assert [entry.name for entry in (releases.root / "releases").iterdir()] == ["aaaa"]


def test_an_archive_that_did_not_arrive_whole_changes_nothing(releases: Releases, tmp_path: Path) -> None:
    archive, checksum = _archive(tmp_path, {"a.py": ""})
    archive.write_bytes(archive.read_bytes()[:-9])
    with pytest.raises(NodeError, match="did not arrive whole"):
        releases.install("aaaa", archive, checksum)
    assert releases.look().present == ()


@pytest.mark.parametrize("name", ["../evil.py", "/evil.py", "a/../../evil.py"])
def test_nothing_is_written_outside(releases: Releases, tmp_path: Path, name: str) -> None:
    with pytest.raises(NodeError, match="which a release must not"):
        releases.install("aaaa", *_archive(tmp_path, {"good.py": "", name: ""}))
    assert releases.look().present == ()
    assert not list(tmp_path.rglob("evil.py"))


def test_links_are_refused(releases: Releases, tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="holds link"):
        releases.install("aaaa", *_archive(tmp_path, {}, link="/etc/passwd"))


def test_what_a_power_cut_left_is_swept_away(releases: Releases, tmp_path: Path) -> None:
    leftover = releases.root / "releases" / ".new-half"
    (leftover / "app").mkdir(parents=True)
    assert releases.look().present == ()
    _install(releases, tmp_path, "aaaa")
    assert not leftover.exists()


def test_a_file_in_the_way_is_told(releases: Releases, tmp_path: Path) -> None:
    releases.root.write_text("not a folder")
    with pytest.raises(NodeError, match="cannot be made"):
        releases.install("aaaa", *_archive(tmp_path, {"a.py": ""}))


def test_a_folder_named_current_is_not_replaced(releases: Releases, tmp_path: Path) -> None:
    (releases.root / "current").mkdir(parents=True)
    releases.install("aaaa", *_archive(tmp_path, {"a.py": ""}))
    with pytest.raises(NodeError) as caught:
        releases.switch("aaaa")
    assert caught.value.kind == "refused"


def test_the_last_ones_stay_and_the_one_in_force_always(releases: Releases, tmp_path: Path) -> None:
    for number, digest in enumerate(("aaaa", "bbbb", "cccc", "dddd")):
        _install(releases, tmp_path, digest)
        os.utime(releases.root / "releases" / digest, (number, number))
    releases.switch("aaaa")
    assert releases.prune(3) == ["bbbb"]
    assert releases.look().present == ("cccc", "dddd", "aaaa")
    os.utime(releases.root / "releases" / "aaaa", (0, 0))
    assert releases.prune(1) == ["cccc"]
    assert releases.look().current == "aaaa"


def test_the_link_never_points_to_nothing(releases: Releases, tmp_path: Path) -> None:
    """Switching is watched from outside: every look finds a release."""
    _install(releases, tmp_path, "aaaa")
    _install(releases, tmp_path, "bbbb")
    ended = time.monotonic() + 0.3
    while time.monotonic() < ended:
        for digest in ("aaaa", "bbbb"):
            releases.switch(digest)
            assert (releases.root / "current" / "app" / "__init__.py").exists()
    assert not list(releases.root.glob(".current-*"))


def test_a_link_to_a_release_that_has_gone_counts_as_none(releases: Releases) -> None:
    releases.root.mkdir()
    (releases.root / "current").symlink_to("releases/gone")
    assert releases.look().current is None
