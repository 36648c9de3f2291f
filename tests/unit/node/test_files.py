"""Files are compared first and written in one stroke."""

import getpass
import grp
import os
from pathlib import Path

import pytest

from stackctl.node import files
from stackctl.node.errors import NodeError
from stackctl.node.files import Wanted

_ME = getpass.getuser()
_MINE = grp.getgrgid(os.getgid()).gr_name


def _wanted(path: Path, content: str | None = "a = 1\n", mode: int = 0o640) -> Wanted:
    return Wanted(path, content, mode, _ME, _MINE)


def test_a_file_is_made_with_its_parents_and_then_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x.conf"
    change = files.apply(_wanted(path))
    assert change == files.Change(path, "", f"0640 {_ME}:{_MINE}\na = 1\n")
    assert path.read_text() == "a = 1\n"
    assert path.stat().st_mode & 0o7777 == 0o640
    assert [entry.name for entry in path.parent.iterdir()] == ["x.conf"]
    assert files.apply(_wanted(path)) is None


def test_a_change_of_the_mode_alone_is_a_change(tmp_path: Path) -> None:
    path = tmp_path / "x.conf"
    files.apply(_wanted(path))
    path.chmod(0o644)
    change = files.apply(_wanted(path))
    assert change is not None
    assert (change.before.splitlines()[0], change.after.splitlines()[0]) == (
        f"0644 {_ME}:{_MINE}",
        f"0640 {_ME}:{_MINE}",
    )
    assert path.stat().st_mode & 0o7777 == 0o640


def test_check_mode_writes_nothing_and_needs_neither_parents_nor_owners(tmp_path: Path) -> None:
    wanted = Wanted(tmp_path / "a" / "x.conf", "a = 1\n", owner="nobody-yet", group="nobody-yet")
    change = files.apply(wanted, check=True)
    assert change is not None
    assert "nobody-yet" in change.after
    assert list(tmp_path.iterdir()) == []


def test_an_owner_who_does_not_exist_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="no user nobody-yet"):
        files.apply(Wanted(tmp_path / "x.conf", "a", owner="nobody-yet"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_made_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "data" / "mysql"
    assert files.apply(_wanted(path, None, 0o750)) is not None
    (path / "kept").touch()
    assert path.stat().st_mode & 0o7777 == 0o750
    assert files.apply(_wanted(path, None, 0o750)) is None
    assert files.apply(_wanted(path, None, 0o700)) is not None
    assert (path / "kept").exists()


def test_a_link_is_replaced_by_the_file_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("a = 1\n")
    path = tmp_path / "x.conf"
    path.symlink_to("target")
    assert files.apply(_wanted(path)) is not None
    assert not path.is_symlink()
    assert (tmp_path / "target").read_text() == "a = 1\n"


@pytest.mark.parametrize("content", ["a = 1\n", None])
def test_what_stands_in_the_way_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "x"
    if content is None:
        path.touch()
    else:
        path.mkdir()
    with pytest.raises(NodeError) as caught:
        files.apply(_wanted(path, content))
    assert caught.value.kind == "refused"


def test_modes_are_octal() -> None:
    assert files.parse_mode("0640", folder=False) == 0o640
    assert files.parse_mode(None, folder=False) == 0o644
    assert files.parse_mode(None, folder=True) == 0o755
    for wrong in ("rw", "9", "-1", "77777"):
        with pytest.raises(NodeError, match="octal"):
            files.parse_mode(wrong, folder=False)


def test_files_and_links_go_and_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    assert files.remove(tmp_path / "file", check=True) == files.Change(tmp_path / "file", "a", "")
    assert (tmp_path / "file").exists()
    assert files.remove(tmp_path / "file") is not None
    assert files.remove(tmp_path / "link") is not None
    assert files.remove(tmp_path / "file") is None
    with pytest.raises(NodeError, match="is a folder"):
        files.remove(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
