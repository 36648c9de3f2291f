"""Whose data a directory holds."""

from pathlib import Path

import pytest

from stackctl.node import drizzle_data
from stackctl.node.errors import NodeError


def _directory(tmp_path: Path, *names: str) -> Path:
    directory = tmp_path / "drizzle"
    directory.mkdir()
    for name in names:
        (directory / name).touch()
    return directory


def test_nothing_is_to_be_filled(tmp_path: Path) -> None:
    assert not drizzle_data.holds_data(tmp_path / "absent")
    assert not drizzle_data.holds_data(_directory(tmp_path))


@pytest.mark.parametrize(
    "names",
    [
        ("server.uuid", "local", "ibdata1", "ib_logfile0", "ib_logfile1"),
        ("server.uuid",),
        ("server.uuid", "local"),
    ],
    ids=["whole", "cut at its first file", "cut before InnoDB"],
)
def test_drizzles_own(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert drizzle_data.holds_data(_directory(tmp_path, *names))


@pytest.mark.parametrize(
    ("names", "whose"),
    [
        (("mysql", "ibdata1", "ib_logfile0", "aria_log_control"), "the data of a MariaDB or MySQL server"),
        (("mysql.ibd", "ibdata1"), "the data of a MariaDB or MySQL server"),
        (("ibdata1", "aria_log_control", "server.uuid"), "the data of a MariaDB or MySQL server"),
        (("base", "pg_wal", "PG_VERSION"), "no Drizzle data but PG_VERSION, base, pg_wal"),
        (("ibdata1",), "no Drizzle data but ibdata1"),
    ],
)
def test_others_data_is_refused(tmp_path: Path, names: tuple[str, ...], whose: str) -> None:
    with pytest.raises(NodeError) as caught:
        drizzle_data.holds_data(_directory(tmp_path, *names))
    assert whose in caught.value.message
    assert caught.value.kind == "refused"
    assert "database_data_directory" in str(caught.value.hint)


def test_a_mount_point_itself_is_told() -> None:
    with pytest.raises(NodeError, match="/proc is itself a mount point"):
        drizzle_data.holds_data(Path("/proc"))


def test_an_empty_directory_does_not_take_the_place_of_data_elsewhere(tmp_path: Path) -> None:
    process = tmp_path / "proc" / "812"
    process.mkdir(parents=True)
    (process / "comm").write_text("drizzled\n")
    (process / "cwd").symlink_to(tmp_path / "old")
    with pytest.raises(NodeError, match=f"drizzled runs with its data in {tmp_path}/old"):
        drizzle_data.check_in_use(tmp_path / "new", tmp_path / "proc")
    drizzle_data.check_in_use(tmp_path / "old", tmp_path / "proc")
    drizzle_data.check_in_use(_directory(tmp_path, "server.uuid"), tmp_path / "proc")
    drizzle_data.check_in_use(tmp_path / "new", tmp_path)


def test_the_size_of_the_log(tmp_path: Path) -> None:
    directory = _directory(tmp_path)
    assert drizzle_data.log_size(directory) is None
    with (directory / "ib_logfile0").open("wb") as file:
        file.truncate(32 << 20)
    assert drizzle_data.log_size(directory) == 32 << 20
