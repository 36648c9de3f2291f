"""The small client that Drizzle's role brings, on a real server of the same protocol: MariaDB's."""

import fcntl
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl.node import drizzle_accounts, drizzle_wire
from stackctl.node.drizzle_wire import Client, WireError
from stackctl.node.errors import NodeError
from tests.lib.waiting import wait_for
from tests.stack import Stack, free_port

pytestmark = pytest.mark.service

_PASSWORD = "naïve: correct horse"


@pytest.fixture(scope="module")
def port(services: Stack) -> int:
    """A MariaDB with an account that may make databases."""
    services.root(lambda cursor: cursor.execute(f"CREATE USER rider@'127.0.0.1' IDENTIFIED BY '{_PASSWORD}'"))
    services.root(lambda cursor: cursor.execute("GRANT ALL ON *.* TO rider@'127.0.0.1'"))
    return services.database_port


@pytest.fixture
def client(port: int) -> Iterator[Client]:
    with Client("127.0.0.1", port, "rider", _PASSWORD) as client:
        yield client


def test_rows_come_as_the_server_writes_them(client: Client) -> None:
    assert client.query("SELECT 1, NULL, '', 'a', REPEAT('x', 70000)") == [(b"1", None, b"", b"a", b"x" * 70000)]
    assert client.query("SELECT n.v FROM (SELECT 1 AS v UNION SELECT 2) AS n ORDER BY 1") == [(b"1",), (b"2",)]
    assert client.query("SELECT 1 WHERE 1 = 0") == []
    assert client.query("SET @x = 1") == []
    assert client.version


def test_a_refusal_has_its_number_and_the_connection_goes_on(client: Client) -> None:
    with pytest.raises(WireError, match="absent") as caught:
        client.use("absent")
    assert caught.value.code == drizzle_wire.NO_DATABASE
    with pytest.raises(WireError, match="syntax"):
        client.query("SELEC 1")
    assert client.query("SELECT 1") == [(b"1",)]


@pytest.mark.parametrize("password", ["wrong", ""])
def test_a_wrong_password_is_refused(port: int, password: str) -> None:
    with pytest.raises(WireError) as caught:
        Client("127.0.0.1", port, "rider", password)
    assert caught.value.code == drizzle_wire.ACCESS_DENIED


def test_a_server_answers_whoever_it_lets_in(port: int) -> None:
    assert drizzle_wire.answers("127.0.0.1", port)
    assert drizzle_wire.answers("127.0.0.1", port, "rider", _PASSWORD)
    assert not drizzle_wire.answers("127.0.0.1", free_port())


def test_who_greets_in_another_way_or_hangs_up_does_not_answer() -> None:
    for greeting in (b"SSH-2.0-OpenSSH_9.2\r\n", b"", b"\x01\x00\x00\x00\x09"):
        with socket.create_server(("127.0.0.1", 0)) as door:

            def greet(door: socket.socket = door, greeting: bytes = greeting) -> None:
                connection, _ = door.accept()
                with connection:
                    connection.sendall(greeting)

            thread = threading.Thread(target=greet)
            thread.start()
            assert not drizzle_wire.answers("127.0.0.1", door.getsockname()[1])
            thread.join()


def test_databases_are_made_once(port: int, services: Stack) -> None:
    accounts = [("rider", "stable", _PASSWORD)]
    assert drizzle_accounts.ensure("127.0.0.1", port, accounts, check=True) == ["create database stable"]
    assert drizzle_accounts.ensure("127.0.0.1", port, accounts) == ["create database stable"]
    assert drizzle_accounts.ensure("127.0.0.1", port, accounts) == []
    assert ("stable",) in services.root(lambda cursor: cursor.execute("SHOW DATABASES"))


def test_what_cannot_be_made_is_told(port: int) -> None:
    with pytest.raises(NodeError, match="Drizzle refused rider: Access denied"):
        drizzle_accounts.ensure("127.0.0.1", port, [("rider", "stable", "wrong")])
    with pytest.raises(NodeError, match="no name for a database"):
        drizzle_accounts.ensure("127.0.0.1", port, [("rider", "a; DROP", _PASSWORD)])
    nowhere = free_port()
    with pytest.raises(NodeError, match=f"does not answer on 127.0.0.1:{nowhere}"):
        drizzle_accounts.ensure("127.0.0.1", nowhere, [("rider", "new", _PASSWORD)])
    assert drizzle_accounts.ensure("127.0.0.1", nowhere, [("rider", "new", _PASSWORD)], check=True) != []


def _program(*words: str, **environment: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-sP", drizzle_wire.__file__, *words]
    return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})


def test_the_program_waits_until_the_server_answers(port: int) -> None:
    with _program("ready", "127.0.0.1", str(port)) as ready:
        assert ready.wait(600) == 0


def test_the_program_gives_up_when_the_server_has_ended() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with _program("ready", "127.0.0.1", str(free_port()), MAINPID=str(ended.pid)) as ready:
        assert ready.stderr is not None
        assert ready.stderr.read() == "drizzled has ended\n"
        assert ready.wait(600) == 1


def test_the_program_logs_in_with_the_first_user_and_tells_a_refusal_of_the_servers(
    port: int, tmp_path: Path
) -> None:
    """MariaDB has no such function: the error shows that the statement arrived, by the user of the file."""
    users = tmp_path / "users"
    users.write_text(f"rider:{_PASSWORD}\nother:x\n")
    assert drizzle_wire.first_user(users) == ("rider", _PASSWORD)
    with _program("ready", "127.0.0.1", str(port), "--users", str(users), "--gearman", "127.0.0.1:4730") as ready:
        assert ready.stderr is not None
        said = ready.stderr.read()
        assert ready.wait(600) == 1
    assert "gman_servers_set" in said
    assert _PASSWORD not in said


def test_the_program_waits_until_nobody_holds_the_data(tmp_path: Path) -> None:
    file = tmp_path / "ibdata1"
    assert drizzle_wire.is_free(tmp_path), "there is no data yet"
    hold = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True)"
    argv = [sys.executable, "-c", f"{hold}; sys.stdin.read()", str(file)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        with _program("free", str(tmp_path)) as free:
            wait_for(lambda: not drizzle_wire.is_free(tmp_path), "the lock")
            assert free.poll() is None
            holder.stdin.close()
            assert free.wait(600) == 0
    assert drizzle_wire.is_free(tmp_path)
    with file.open("a") as ours:
        fcntl.lockf(ours, fcntl.LOCK_EX)
        assert drizzle_wire.is_free(tmp_path), "a process does not wait for itself"
