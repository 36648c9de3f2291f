"""Starts plain MariaDB servers on free ports of loopback, from this host's own binaries.

Used by the tests of moves between databases; everything lies in one folder, and what was started is ended by its own
process id.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql

from tests.lib.waiting import wait_for
from tests.stack import Process, free_port

ACCOUNT, PASSWORD = "app", "geheim 'q' \\"
PATIENCE = 300.0
"""Seconds that a server may take to start on a busy machine."""
_AS_ROOT = ["--user=root"] if os.geteuid() == 0 else []


def program(name: str) -> str | None:
    """The path of a program of MariaDB's server."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def missing_programs() -> list[str]:
    """The programs that this host lacks."""
    return [name for name in ("mariadbd", "mariadb-install-db") if program(name) is None]


class Mariadb:
    """One server, as Debian's comes: no option but where it lies and how large a packet it takes."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.options = options
        self.port = free_port()
        self.process: Process | None = None

    def prepare(self) -> "Mariadb":
        """Fill its data directory."""
        argv = [str(program("mariadb-install-db")), "--no-defaults", f"--datadir={self.folder / 'data'}"]
        argv += ["--skip-test-db", "--auth-root-authentication-method=normal", *_AS_ROOT]
        subprocess.run(argv, check=True, capture_output=True)
        return self

    def twin(self, folder: Path) -> "Mariadb":
        """Another server with a copy of the data; this one has not been started yet."""
        shutil.copytree(self.folder / "data", folder / "data")
        return Mariadb(folder, *self.options)

    def start(self) -> "Mariadb":
        """Start it, again perhaps, and wait until it answers."""
        argv = [
            str(program("mariadbd")), "--no-defaults", f"--datadir={self.folder / 'data'}",
            f"--socket={self.folder / 'sock'}", "--bind-address=127.0.0.1", f"--port={self.port}",
            # one that starts removes what lies in its folder for temporary tables, whoever made it
            f"--tmpdir={self.folder}", "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=2",
            "--performance-schema=OFF", *self.options, *_AS_ROOT,
        ]  # fmt: skip
        process = self.process = Process(argv, self.folder / "log").start()

        def answers() -> Any:
            assert process.alive(), f"mariadbd ended:\n{process.log.read_text(errors='replace')[-2000:]}"
            return self.ask("SELECT 1")

        wait_for(answers, "MariaDB", timeout=PATIENCE)
        return self

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop(timeout=PATIENCE)

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()

    def connect(self, database: str | None = None) -> "pymysql.connections.Connection[Any]":
        """A connection as root, in UTC, that takes what a lenient server takes."""
        return pymysql.connect(
            unix_socket=str(self.folder / "sock"),
            user="root",
            database=database,
            autocommit=True,
            charset="utf8mb4",
            init_command="SET SESSION sql_mode = '', time_zone = '+00:00'",
            read_timeout=600,
        )

    def work(self, work: Callable[[Any], Any], database: str | None = None) -> Any:
        """Something done with a cursor of root's."""
        connection = self.connect(database)
        try:
            with connection.cursor() as cursor:
                return work(cursor)
        finally:
            connection.close()

    def run(self, *statements: str, database: str | None = None) -> None:
        """Run statements as root."""

        def work(cursor: Any) -> None:
            for statement in statements:
                cursor.execute(statement)

        self.work(work, database)

    def ask(self, statement: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """The rows of a statement as root."""

        def work(cursor: Any) -> list[tuple[Any, ...]]:
            cursor.execute(statement)
            return list(cursor.fetchall())

        found: list[tuple[Any, ...]] = self.work(work, database)
        return found

    def tables(self, database: str) -> list[str]:
        """The names of a database's tables; none where there is no such database."""
        asked = f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}' ORDER BY 1"
        return [row[0] for row in self.ask(asked)]

    def give(self, database: str, *, make: bool = True) -> None:
        """Make a database, and give it to the account that moves."""
        quoted = PASSWORD.replace("\\", "\\\\").replace("'", "''")
        if make:
            self.run(f"CREATE DATABASE `{database}` CHARACTER SET utf8mb4")
        self.run(
            f"CREATE USER IF NOT EXISTS {ACCOUNT}@'127.0.0.1' IDENTIFIED BY '{quoted}'",
            f"GRANT ALL ON `{database}`.* TO {ACCOUNT}@'127.0.0.1'",
        )


@contextlib.contextmanager
def pair(one: Path, two: Path) -> Iterator[tuple[Mariadb, Mariadb]]:
    """Two servers in two folders, up as long as the block runs."""
    first = Mariadb(one, "--max-allowed-packet=64M").prepare()
    servers = (first, first.twin(two))
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.stop()
