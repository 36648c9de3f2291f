"""A real MariaDB server gets its data directory and its accounts."""

import getpass
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl.node import mariadb
from stackctl.node.mariadb import Account, Server
from stackctl.node.process import SystemRunner

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(not shutil.which("mariadbd"), reason="needs mariadb-server"),
    pytest.mark.skipif(getpass.getuser() != "root", reason="root speaks to the server over its socket"),
]

_RUNNER = SystemRunner()


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """A folder that the user mysql can reach, as pytest's own cannot be."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        assert mariadb.initialise(_RUNNER, folder / "mysql", proc=folder)
        assert not mariadb.initialise(_RUNNER, folder / "mysql")
        yield folder


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Server]:
    run = directory / "run"
    run.mkdir()
    shutil.chown(run, "mysql")
    socket = run / "sock"
    argv = ["mariadbd", "--no-defaults", "--user=mysql", f"--datadir={directory / 'mysql'}", "--skip-networking"]
    argv += [f"--socket={socket}", f"--pid-file={run / 'pid'}", f"--log-error={run / 'log'}"]
    argv += ["--innodb-buffer-pool-size=16M"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not socket.exists():
        assert process.poll() is None, (run / "log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    yield Server(_RUNNER, socket)
    process.terminate()
    process.wait(60)


def _login(server: Server, user: str, password: str, sql: str) -> subprocess.CompletedProcess[str]:
    argv = ["mariadb", "--no-defaults", f"--socket={server.socket}", f"--user={user}", "-BN"]
    return subprocess.run(
        argv,
        input=sql,
        capture_output=True,
        text=True,
        check=False,
        env={"MYSQL_PWD": password, "PATH": "/usr/bin:/bin"},
    )


def test_a_fresh_server_has_no_open_doors(server: Server) -> None:
    found = server.read()
    assert set(found.users) == {("root", "localhost"), ("mariadb.sys", "localhost")}
    assert "test" not in found.databases
    assert not found.open_to_all
    assert _login(server, "root", "", "SELECT 1").returncode == 0
    assert _login(server, "nobody", "", "SELECT 1").returncode != 0


def test_accounts_are_made_once_and_put_right(server: Server) -> None:
    account = Account("my_app", "my_app", "%", "first")
    foreseen = server.ensure([account], check=True)
    assert foreseen == server.ensure([account])
    assert server.ensure([account]) == []
    assert _login(server, "my_app", "first", "CREATE TABLE my_app.t (a INT); DROP TABLE my_app.t").returncode == 0
    assert _login(server, "my_app", "first", "CREATE DATABASE myxapp").returncode != 0
    assert _login(server, "my_app", "first", "SELECT * FROM mysql.user").returncode != 0

    changed = Account("my_app", "my_app", "%", "second")
    assert server.ensure([changed]) == ["set the password of 'my_app'@'%'"]
    assert _login(server, "my_app", "first", "SELECT 1").returncode != 0
    assert _login(server, "my_app", "second", "SELECT 1").returncode == 0


def test_doors_that_others_opened_are_shut(server: Server) -> None:
    sql = (
        "CREATE USER ''@'localhost'; CREATE USER 'root'@'192.0.2.1'; CREATE DATABASE test;"
        "INSERT INTO mysql.db (Host, Db, User, Select_priv) VALUES ('%', 'test%', '', 'Y'); FLUSH PRIVILEGES"
    )
    assert _login(server, "root", "", sql).returncode == 0
    done = server.ensure([])
    assert done == [
        "drop user ''@'localhost'",
        "drop user 'root'@'192.0.2.1'",
        "revoke the rights of nameless users",
        "drop the empty database test",
    ]
    assert server.ensure([]) == []
