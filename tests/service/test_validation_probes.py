"""The probes against real services on loopback: what works passes, what is broken is told."""

import getpass
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from stackctl.node import mariadb
from stackctl.node.process import SystemRunner
from stackctl.validation.probes import cache, database, queue

pytestmark = pytest.mark.service

LOOPBACK = "127.0.0.1"
PASSWORD = 'naïve "quoted" \\ pass#word'


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(program), reason=f"needs {program}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def running(argv: Sequence[str | Path], ready: Callable[[], bool]) -> Iterator[None]:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not ready():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(60)


@needs("gearmand")
class TestQueue:
    def test_a_job_comes_back_on_both_protocols_and_leaves_nothing_behind(self) -> None:
        port, http = free_port(), free_port()
        argv = ["gearmand", f"--listen={LOOPBACK}", f"--port={port}", "--protocol=http", f"--http-port={http}"]
        with running([*argv, "--log-file=stderr"], lambda: answers(port) and answers(http)):
            assert queue.round_trips(LOOPBACK, port, LOOPBACK, http) == {"gearman": None, "http": None}
            with socket.create_connection((LOOPBACK, port), timeout=5) as admin:
                admin.sendall(b"status\n")
                assert admin.recv(4096) == b".\n"

    def test_a_queue_without_http_is_told(self) -> None:
        port, http = free_port(), free_port()
        argv = ["gearmand", f"--listen={LOOPBACK}", f"--port={port}", "--log-file=stderr"]
        with running(argv, lambda: answers(port)):
            assert queue.round_trips(LOOPBACK, port, LOOPBACK, http) == {
                "gearman": None,
                "http": f"no connection to {LOOPBACK} port {http}: Connection refused",
            }

    def test_another_service_on_the_port_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(queue, "SECONDS", 1.0)
        with socket.create_server((LOOPBACK, 0)) as stranger:
            port = stranger.getsockname()[1]
            assert queue.round_trips(LOOPBACK, port, LOOPBACK, port) == {"gearman": "timed out", "http": "timed out"}


@needs("memcached")
class TestCache:
    def start(self, port: int, *more: str) -> list[str]:
        return ["memcached", "--user=nobody", f"--listen={LOOPBACK}", f"--port={port}", *more]

    def test_a_value_is_kept(self) -> None:
        port = free_port()
        with running(self.start(port), lambda: answers(port)):
            assert cache.value(LOOPBACK, port) == {"wrong": None, "udp": False}

    def test_udp_is_told(self) -> None:
        port = free_port()
        with running(self.start(port, f"--udp-port={port}"), lambda: answers(port)):
            assert cache.value(LOOPBACK, port) == {"wrong": None, "udp": True}

    def test_no_cache_is_told(self) -> None:
        port = free_port()
        assert cache.value(LOOPBACK, port) == {
            "wrong": f"no connection to {LOOPBACK} port {port}: Connection refused",
            "udp": False,
        }


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    # pytest closes its own folder to all others, again and again; mysql has to get through
    with tempfile.TemporaryDirectory(prefix="stackctl-database-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        mariadb.initialise(SystemRunner(), folder / "mysql", proc=folder)  # beside other servers of this host
        yield folder


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    port = free_port()
    argv = ["mariadbd", "--no-defaults", "--user=mysql", f"--datadir={folder / 'mysql'}", f"--port={port}"]
    argv += [
        f"--bind-address={LOOPBACK}",
        f"--socket={folder / 'mysql' / 'sock'}",
        "--innodb-buffer-pool-size=16M",
    ]
    with running(argv, lambda: answers(port)):
        root(folder, "CREATE DATABASE stacksearch CHARACTER SET utf8mb4")
        quoted = PASSWORD.replace("\\", "\\\\")
        root(folder, f"CREATE USER stacksearch@'127.0.0.1' IDENTIFIED BY '{quoted}'")
        root(folder, "GRANT ALL ON stacksearch.* TO stacksearch@'127.0.0.1'")
        yield port


def root(folder: Path, sql: str) -> str:
    argv = [
        "mariadb",
        "--no-defaults",
        f"--socket={folder / 'mysql' / 'sock'}",
        "--default-character-set=utf8mb4",
    ]
    return subprocess.run([*argv, "-BNe", sql], check=True, capture_output=True, text=True).stdout


@needs("mariadbd")
@pytest.mark.skipif(getpass.getuser() != "root", reason="root speaks to the server over its socket")
class TestDatabase:
    def examine(self, port: int, password: str | None) -> dict[str, object]:
        return database.examine("mariadb", LOOPBACK, port, "stacksearch", "stacksearch", password, "mariadbd")

    def test_a_row_is_kept_and_nothing_is_left(self, folder: Path, port: int) -> None:
        assert self.examine(port, PASSWORD) == {
            "asked": True,
            "row": None,
            "directory": str(folder / "mysql"),
            "refusal": None,
            "allocator": None,
        }
        assert root(folder, "SHOW TABLES IN stacksearch") == ""

    def test_a_wrong_password_of_ours_is_told(self, port: int) -> None:
        found = self.examine(port, "another")
        assert "Access denied for user 'stacksearch'" in str(found["row"])
        assert found["refusal"] is None

    def test_without_a_password_only_refusals_are_looked_at(self, port: int) -> None:
        found = self.examine(port, None)
        assert (found["asked"], found["row"], found["directory"], found["refusal"]) == (False, None, None, None)

    def test_text_of_three_bytes_at_most_is_told(self, folder: Path, port: int) -> None:
        root(folder, "ALTER DATABASE stacksearch CHARACTER SET utf8mb3")
        try:
            assert "Incorrect string value" in str(self.examine(port, PASSWORD)["row"])
        finally:
            root(folder, "ALTER DATABASE stacksearch CHARACTER SET utf8mb4")
        assert root(folder, "SHOW TABLES IN stacksearch") == ""

    def test_a_server_is_spoken_to_in_drizzles_way(self, port: int) -> None:
        """MariaDB bears a client that leaves out what Drizzle cannot bear."""
        found = database.examine("drizzle", LOOPBACK, port, "stacksearch", "stacksearch", PASSWORD, "mariadbd")
        assert (found["row"], found["refusal"]) == (None, None)

    @pytest.mark.parametrize(
        ("meanwhile", "wrong"), [("SELECT 1", None), ("DELETE FROM stacksearch.{}", "is read as []")]
    )
    def test_a_row_that_a_kill_loses_is_told_as_that(
        self, folder: Path, port: int, monkeypatch: pytest.MonkeyPatch, meanwhile: str, wrong: str | None
    ) -> None:
        """The kill is left out here (there is no systemd); what it may have done to the row is done instead."""
        monkeypatch.setattr(
            database, "_kill", lambda unit: root(folder, meanwhile.format(root(folder, "SHOW TABLES IN stacksearch")))
        )
        told = database.recovery("mariadb", LOOPBACK, port, "stacksearch", "stacksearch", PASSWORD, "mariadb.service")
        assert told is None if wrong is None else wrong in str(told)
        assert root(folder, "SHOW TABLES IN stacksearch") == ""

    def test_an_open_door_is_told(self, folder: Path, port: int) -> None:
        root(folder, "CREATE USER stacksearch@localhost IDENTIFIED BY ''")
        root(folder, "GRANT ALL ON stacksearch.* TO stacksearch@localhost")
        root(folder, "DROP USER stacksearch@'127.0.0.1'")
        assert self.examine(port, None)["refusal"] == "an empty password is let in"
