"""Starts the real services of the search app on free ports of loopback, from this host's own binaries.

Used by the tests under service/ and e2e/ and by bench/crawl.py. Everything lies in one folder; what was started is
ended by its own process id.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pymysql
import yaml

from tests.lib.waiting import wait_for

PROGRAMS = ("mariadbd", "mariadb-install-db", "gearmand", "memcached", "searchd")
_AS_ROOT = os.geteuid() == 0


def missing_programs() -> list[str]:
    """The programs that this host lacks."""
    return [name for name in PROGRAMS if _program(name) is None]


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody listens on the port of loopback."""
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True


class Process:
    """A process that a test started, its output in a file."""

    def __init__(self, argv: list[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.argv = argv
        self.log = log
        self.env = {**os.environ, **(env or {})}
        self.popen: subprocess.Popen[bytes] | None = None

    def start(self) -> "Process":
        with self.log.open("ab") as output:
            self.popen = subprocess.Popen(
                self.argv,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env=self.env,
                start_new_session=True,
            )
        return self

    @property
    def pid(self) -> int:
        assert self.popen is not None
        return self.popen.pid

    def alive(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.stop(signal.SIGKILL)

    def send(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.popen is not None and self.popen.poll() is None:
            self.popen.send_signal(number)

    def stop(self, number: int = signal.SIGTERM, timeout: float = 60.0) -> int:
        """Signal the process and wait for its end; gives its code."""
        self.send(number)
        return self.wait(timeout)

    def wait(self, timeout: float = 60.0) -> int:
        """Wait for the end of the process; gives its code. One that hangs tells where, and is ended."""
        if self.popen is None:
            return 0
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.popen.send_signal(signal.SIGABRT)  # Python tells where it hangs
            self.popen.wait()
            said = self.log.read_text(errors="replace")[-4000:]
            raise AssertionError(f"{self.argv} did not end within {timeout:g} s:\n{said}") from None

    def cpu_seconds(self) -> float:
        """User and system time of the process so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stack:
    """MariaDB, gearmand, memcached and searchd; and the app's own processes on request."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.database_port, self.queue_port, self.cache_port, self.index_port = (free_port() for _ in range(4))
        self.services: dict[str, Process] = {}
        self.database_name = "stacksearch"
        self.prefix = "stacksearch"

    # The services

    def start(self) -> None:
        self._prepare_database()
        self._write_sphinx()
        for name in ("database", "queue", "cache", "index"):
            self.start_service(name)

    def start_service(self, name: str) -> Process:
        """Start one service (again) and wait until it answers."""
        argv, port = {
            "database": (self._mariadbd(), self.database_port),
            "queue": (self._gearmand(), self.queue_port),
            "cache": (self._memcached(), self.cache_port),
            "index": (self._searchd(), self.index_port),
        }[name]
        process = self.services[name] = Process(argv, self.folder / f"{name}.log").start()

        def answers() -> bool:
            assert process.alive(), f"{name} ended:\n{process.log.read_text(errors='replace')[-2000:]}"
            return listens(port)

        wait_for(answers, f"{name} on port {port}")
        if name == "database":
            wait_for(lambda: self.root(lambda cursor: cursor.execute("SELECT 1")), "MariaDB")
        return process

    def stop(self) -> None:
        for process in reversed(self.services.values()):
            with contextlib.suppress(AssertionError):
                process.stop()

    def _prepare_database(self) -> None:
        data = self.folder / "mysql"
        if data.exists():
            return
        subprocess.run(
            [
                str(_program("mariadb-install-db")), "--no-defaults", f"--datadir={data}", "--skip-test-db",
                "--auth-root-authentication-method=normal", *(["--user=root"] if _AS_ROOT else []),
            ],
            check=True, capture_output=True,
        )  # fmt: skip

    def _mariadbd(self) -> list[str]:
        return [
            str(_program("mariadbd")), "--no-defaults", f"--datadir={self.folder / 'mysql'}",
            f"--socket={self.folder / 'mysql.sock'}", "--bind-address=127.0.0.1", f"--port={self.database_port}",
            "--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=2", "--skip-log-bin",
            "--performance-schema=OFF", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_bin",
            "--max-allowed-packet=64M", *(["--user=root"] if _AS_ROOT else []),
        ]  # fmt: skip

    def _gearmand(self) -> list[str]:
        return [
            str(_program("gearmand")), "--listen=127.0.0.1", f"--port={self.queue_port}", "--job-retries=3",
            "--log-file=stderr", *(["--user=root"] if _AS_ROOT else []),
        ]  # fmt: skip

    def _memcached(self) -> list[str]:
        user = ["-u", "nobody"] if _AS_ROOT else []
        return [
            str(_program("memcached")),
            "-l",
            "127.0.0.1",
            "-p",
            str(self.cache_port),
            "-U",
            "0",
            "-m",
            "64",
            *user,
        ]

    def _searchd(self) -> list[str]:
        return [str(_program("searchd")), "--config", str(self.folder / "sphinx.conf"), "--nodetach"]

    def _write_sphinx(self) -> None:
        data = self.folder / "sphinx"
        data.mkdir(exist_ok=True)
        (self.folder / "sphinx.conf").write_text(render_sphinx(data, "127.0.0.1", self.index_port, self.folder))

    def root(self, work: Callable[[Any], Any]) -> Any:
        """Something done with a cursor of MariaDB's root."""
        connection = pymysql.connect(unix_socket=str(self.folder / "mysql.sock"), user="root", autocommit=True)
        try:
            with connection.cursor() as cursor:
                work(cursor)
                return cursor.fetchall() or True
        finally:
            connection.close()

    def sphinx(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement to searchd."""
        connection = pymysql.connect(host="127.0.0.1", port=self.index_port, autocommit=True)
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall())
        finally:
            connection.close()

    def clean(self, name: str) -> None:
        """An empty database, index and queue of this name."""
        self.database_name = self.prefix = name
        self.root(lambda cursor: cursor.execute(f"CREATE DATABASE {name}"))
        self.root(
            lambda cursor: cursor.execute(f"CREATE USER IF NOT EXISTS {name}@'127.0.0.1' IDENTIFIED BY 'secret'")
        )
        self.root(lambda cursor: cursor.execute(f"GRANT ALL ON {name}.* TO {name}@'127.0.0.1'"))
        self.sphinx("TRUNCATE RTINDEX documents")

    # The app

    def settings(self, **sections: Mapping[str, object]) -> dict[str, Any]:
        """The configuration as plain data; ``sections`` are laid over it."""
        data: dict[str, Any] = {
            "database": {
                "host": "127.0.0.1", "port": self.database_port, "name": self.database_name,
                "user": self.database_name, "password": "secret",
            },
            "queue": {"servers": [{"host": "127.0.0.1", "port": self.queue_port}], "prefix": self.prefix},
            "cache": {"servers": [{"host": "127.0.0.1", "port": self.cache_port}]},
            "index": {"host": "127.0.0.1", "port": self.index_port},
        }  # fmt: skip
        for name, section in sections.items():
            data.setdefault(name, {}).update(section)
        return data

    def write_settings(self, **sections: Mapping[str, object]) -> Path:
        """The same in a file."""
        path = self.folder / f"{self.database_name}.yml"
        path.write_text(yaml.safe_dump(self.settings(**sections)))
        return path

    def app(self, settings: Path, *words: str, log: str | None = None) -> Process:
        """Start ``stacksearch`` with these words."""
        name = log or "-".join(words)
        argv = [sys.executable, "-m", "stacksearch.cli", "--config", str(settings), *words]
        log_file = self.folder / f"{self.database_name}-{name}.log"
        return Process(argv, log_file, {"PYTHONFAULTHANDLER": "1"}).start()

    @contextlib.contextmanager
    def running(self, settings: Path, *kinds: tuple[str, ...]) -> Iterator[list[Process]]:
        """The app's processes, ended afterwards."""
        processes = [
            self.app(settings, *words, log=f"{number}-{'-'.join(words)}") for number, words in enumerate(kinds)
        ]
        try:
            yield processes
        finally:
            for process in processes:
                process.send(signal.SIGTERM)
            for process in processes:
                process.wait()


WORKERS = (("worker", "fetch"), ("worker", "document"), ("worker", "search"), ("sweeper",))
"""The app's processes but for the web front."""


def render_sphinx(data: Path, listen: str, port: int, logs: Path) -> str:
    """searchd's configuration by the role's own template."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent.parent / "playbooks/roles/search/templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("sphinx.conf.j2").render(
        search_index_directory=str(data), search_index_listen=listen, search_index_port=port,
        search_index_memory_mib=64, __search_index_name="documents",
        __search_index_log_directory=str(logs), __search_index_pid_file=str(logs / "searchd.pid"),
    )  # fmt: skip
