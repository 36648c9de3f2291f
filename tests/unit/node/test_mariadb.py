"""Accounts: what is left to do, and that no password shows."""

from pathlib import Path

import pytest

from stackctl.node import mariadb
from stackctl.node.errors import NodeError
from stackctl.node.mariadb import Account, Found
from stackctl.node.process import RecordingRunner, Result
from stackctl.node.running import working_directory

_ACCOUNT = Account("stacksearch", "stacksearch", "%", "correct horse")
_DIGEST = "*5C98B0BA6C9EB7BD9CE2B2DC26EB5B81E0ACB8C5"


def _found(**more: object) -> Found:
    """A server on which all is as it should be."""
    good: dict[str, object] = {
        "users": {
            ("root", "localhost"): ("unix_socket", ""),
            ("stacksearch", "%"): ("mysql_native_password", _ACCOUNT.digest),
        },
        "databases": {"mysql": 31, "stacksearch": 4},
        "grants": frozenset({("stacksearch", "%", "stacksearch")}),
    }
    return Found(**{**good, **more})  # type: ignore[arg-type]


def _what(found: Found, *accounts: Account) -> list[str]:
    return [statement.what for statement in mariadb.plan(accounts or (_ACCOUNT,), found)]


def test_the_digest_is_the_servers() -> None:
    """The value of MariaDB 10.11's SELECT PASSWORD('password')."""
    assert Account("a", "a", "%", "password").digest == "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"


def test_nothing_is_left_where_all_is_right() -> None:
    assert _what(_found()) == []


def test_a_fresh_server_gets_database_user_and_grant() -> None:
    fresh = Found(users={("root", "localhost"): ("unix_socket", "")}, databases={"mysql": 31})
    assert _what(fresh) == [
        "create database stacksearch",
        "create user 'stacksearch'@'%'",
        "grant all on stacksearch to 'stacksearch'@'%'",
    ]


@pytest.mark.parametrize("known", [("mysql_native_password", _DIGEST), ("unix_socket", ""), ("ed25519", "x")])
def test_a_wrong_password_is_put_right(known: tuple[str, str]) -> None:
    found = _found(users={("stacksearch", "%"): known})
    assert _what(found) == ["set the password of 'stacksearch'@'%'"]


def test_what_nobody_should_have_goes() -> None:
    users = {
        **_found().users,
        ("", "localhost"): ("mysql_native_password", ""),
        ("", "metal-1"): ("mysql_native_password", ""),
        ("root", "metal-1"): ("mysql_native_password", ""),
        ("root", "127.0.0.1"): ("unix_socket", ""),
    }
    found = _found(users=users, databases={"stacksearch": 1, "test": 0}, open_to_all=True)
    assert _what(found) == [
        "drop user ''@'localhost'",
        "drop user ''@'metal-1'",
        "drop user 'root'@'metal-1'",
        "revoke the rights of nameless users",
        "drop the empty database test",
    ]


def test_a_database_test_with_tables_stays() -> None:
    assert _what(_found(databases={"stacksearch": 1, "test": 2})) == []


def test_a_database_test_that_is_wanted_stays() -> None:
    found = _found(databases={"stacksearch": 1, "test": 0})
    assert "drop the empty database test" not in _what(found, Account("stacksearch", "test", "%", "correct horse"))


def test_an_underscore_in_a_database_is_no_wildcard() -> None:
    account = Account("a", "my_db", "%", "x")
    sql = [statement.sql for statement in mariadb.plan([account], Found())]
    assert r"GRANT ALL PRIVILEGES ON `my\_db`.* TO 'a'@'%';" in sql


@pytest.mark.parametrize("name", ["a'b", "a`b", "", "a b", "a;b", "x" * 65, "a\n"])
def test_names_that_are_no_names_are_refused(name: str) -> None:
    with pytest.raises(NodeError, match="no name for a database account"):
        mariadb.plan([Account(name, "db", "%", "x")], Found())


def test_passwords_stand_neither_in_argv_nor_in_sql_nor_in_what_is_shown(tmp_path: Path) -> None:
    socket = tmp_path / "socket"
    socket.touch()
    runner = RecordingRunner()
    done = mariadb.Server(runner, socket).ensure([_ACCOUNT])
    seen = f"{runner.calls} {runner.inputs} {done} {_ACCOUNT!r} {_ACCOUNT}"
    assert "correct horse" not in seen
    assert _ACCOUNT.digest not in f"{runner.calls} {done} {_ACCOUNT!r}"
    assert runner.calls[0][0] == "mariadb"
    assert f"--socket={socket}" in runner.calls[0]


def test_an_error_of_the_server_shows_no_digest(tmp_path: Path) -> None:
    said = f"ERROR 1064 at line 1: near 'USING '{_ACCOUNT.digest}''\n"
    runner = RecordingRunner(lambda argv: Result(argv, 1, "", said))
    with pytest.raises(NodeError) as caught:
        mariadb.Server(runner, tmp_path / "socket").ensure([_ACCOUNT])
    assert "ERROR 1064" in caught.value.message
    assert _ACCOUNT.digest not in caught.value.message


def test_check_mode_reads_and_writes_nothing(tmp_path: Path) -> None:
    runner = RecordingRunner()
    assert len(mariadb.Server(runner, tmp_path / "none").ensure([_ACCOUNT], check=True)) == 3
    assert runner.calls == []
    socket = tmp_path / "socket"
    socket.touch()
    assert len(mariadb.Server(runner, socket).ensure([_ACCOUNT], check=True)) == 3
    assert len(runner.calls) == 1


def _installs(argv: tuple[str, ...]) -> Result:
    fresh = Path(next(word for word in argv if word.startswith("--datadir=")).split("=", 1)[1])
    assert not fresh.exists()
    (fresh / "mysql").mkdir(parents=True)
    (fresh / "ibdata1").touch()
    return Result(argv, 0)


@pytest.mark.parametrize("state", ["absent", "empty", "cut"])
def test_an_empty_directory_is_filled_in_one_stroke(tmp_path: Path, state: str) -> None:
    directory = tmp_path / "srv" / "mysql"
    if state != "absent":
        directory.mkdir(parents=True)
    if state == "cut":
        (tmp_path / "srv" / ".mysql.new" / "half").mkdir(parents=True)
    runner = RecordingRunner(_installs)
    assert mariadb.initialise(runner, directory, check=True, proc=tmp_path)
    assert runner.calls == []
    assert mariadb.initialise(runner, directory, proc=tmp_path)
    assert (directory / "ibdata1").exists()
    assert [path.name for path in directory.parent.iterdir()] == ["mysql"]
    assert not mariadb.initialise(runner, directory)
    assert len(runner.calls) == 1


def _running(tmp_path: Path, directory: Path) -> Path:
    """A /proc in which MariaDB works in ``directory``."""
    process = tmp_path / "proc" / "812"
    process.mkdir(parents=True)
    (process / "comm").write_text("mariadbd\n")
    (process / "cwd").symlink_to(directory)
    return tmp_path / "proc"


@pytest.mark.parametrize("check", [True, False])
def test_an_empty_directory_does_not_take_the_place_of_data_elsewhere(tmp_path: Path, check: bool) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for name in ("mysql", "sys", "shop"):
        (old / name).mkdir(parents=True)
    runner = RecordingRunner(_installs)
    with pytest.raises(NodeError) as caught:
        mariadb.initialise(runner, new, check=check, proc=_running(tmp_path, old))
    assert caught.value.kind == "refused"
    assert str(old) in caught.value.message
    assert runner.calls == []


def test_debians_fresh_server_does_not_stand_in_the_way(tmp_path: Path) -> None:
    """A power cut after the installation: the reboot starts the server as Debian configures it."""
    old = tmp_path / "lib"
    for name in ("mysql", "sys", "performance_schema"):
        (old / name).mkdir(parents=True)
    assert mariadb.initialise(RecordingRunner(_installs), tmp_path / "new", proc=_running(tmp_path, old))


def test_the_running_servers_own_directory_passes(tmp_path: Path) -> None:
    directory = tmp_path / "mysql"
    for name in ("mysql", "ibdata1"):
        (directory / name).mkdir(parents=True)
    proc = _running(tmp_path, directory)
    assert working_directory("mariadbd", proc) == directory
    assert not mariadb.initialise(RecordingRunner(_installs), directory, proc=proc)
    assert working_directory("mariadbd", tmp_path / "empty") is None
    assert working_directory("drizzled", proc) is None


def test_a_failed_filling_leaves_the_directory_empty(tmp_path: Path) -> None:
    directory = tmp_path / "mysql"
    runner = RecordingRunner(lambda argv: Result(argv, 1, "", "No space left on device"))
    with pytest.raises(NodeError, match="No space left on device"):
        mariadb.initialise(runner, directory, proc=tmp_path)
    assert not directory.exists()


@pytest.mark.parametrize("names", [["mysql.ibd", "ibdata1", "mysql"], ["local.drizzle"], ["mysql"]])
def test_data_of_others_is_refused(tmp_path: Path, names: list[str]) -> None:
    directory = tmp_path / "mysql"
    directory.mkdir()
    for name in names:
        (directory / name).touch()
    with pytest.raises(NodeError) as caught:
        mariadb.initialise(RecordingRunner(_installs), directory)
    assert caught.value.kind == "refused"
    assert str(directory) in caught.value.message
