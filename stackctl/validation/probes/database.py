"""The database over TCP: a row, wrong passwords turned away, its allocator, and whether it comes back from a kill."""

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pymysql.constants import ER
from pymysql.err import MySQLError

from stackctl.database.connection import Connection, connect
from stackctl.node import running
from stackctl.node.process import SystemRunner

SECONDS = 30
"""Until the database counts as dumb."""
_RECOVERY = 300.0
"""Seconds that a killed server may take to be back."""

_TEXT = "naïve 🦀 日本"
"""Text with characters of two, three and four bytes."""


class DatabaseError(Exception):
    """The database does not do what was asked."""


@dataclass(frozen=True)
class Door:
    """Where the database is, and as whom to come in."""

    engine: str
    host: str
    port: int
    user: str
    database: str
    password: str = field(repr=False)

    @contextlib.contextmanager
    def open(self, password: str | None = None) -> Iterator[Connection]:
        """A connection, with another password if one is given; DatabaseError for all that goes wrong in it."""
        try:
            connection = connect(
                self.engine,
                host=self.host,
                port=self.port,
                user=self.user,
                password=self.password if password is None else password,
                database=self.database,
                timeout=SECONDS,
            )
        except (MySQLError, OSError) as failure:
            raise DatabaseError(_said(failure)) from failure
        try:
            yield connection
        except (MySQLError, OSError) as failure:
            raise DatabaseError(_said(failure)) from failure
        finally:
            with contextlib.suppress(MySQLError):
                connection.close()


def examine(
    engine: str, host: str, port: int, user: str, database: str, password: str | None, process: str
) -> dict[str, Any]:
    """What went wrong with a row and with turning wrong passwords away (None: nothing), and the data directory.

    Without a password nothing can be ``asked``, and only the refusal is looked at. ``allocator`` tells what is wrong
    with the memory allocator of the server's process.
    """
    door = Door(engine, host, port, user, database, password or "")
    found: dict[str, Any] = {"asked": password is not None, "row": None, "directory": None}
    if password is not None:
        found["row"] = _attempt(lambda: _row(door))
        if found["row"] is None:
            with door.open() as connection:
                found["directory"] = _ask(connection, "SHOW VARIABLES LIKE 'datadir'")[0][1].rstrip("/")
    return found | {"refusal": _attempt(lambda: _refusal(door)), "allocator": _allocator(process)}


def recovery(engine: str, host: str, port: int, user: str, database: str, password: str, unit: str) -> str | None:
    """Commit a row, kill the server's process, and look for the row once it is back; what went wrong, if anything."""
    door = Door(engine, host, port, user, database, password)
    table = _table()

    def work() -> None:
        with door.open() as connection:
            _make(connection, table)
        _kill(unit)
        _wait(door)
        with door.open() as connection:
            try:
                _expect_row(connection, table)
            finally:
                _ask(connection, f"DROP TABLE IF EXISTS {table}")

    return _attempt(work)


def _kill(unit: str) -> None:
    """Kill the unit's process, and wait until it is gone."""
    shown = SystemRunner().run(["systemctl", "show", "--property=MainPID", "--value", unit], check=False)
    pid = int(shown.stdout.strip() or 0)
    if not pid:
        raise DatabaseError(f"{unit} has no process")
    os.kill(pid, signal.SIGKILL)
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.1)


def _wait(door: Door) -> None:
    """Wait until the server lets us in again."""
    end = time.monotonic() + _RECOVERY
    while True:
        try:
            with door.open():
                return
        except DatabaseError as failure:
            if time.monotonic() > end:
                raise DatabaseError(f"it was killed and is not back after {_RECOVERY:.0f} s: {failure}") from None
        time.sleep(0.2)


def _attempt(work: Callable[[], None]) -> str | None:
    try:
        work()
    except DatabaseError as failure:
        return str(failure)
    return None


def _row(door: Door) -> None:
    table = _table()
    with door.open() as writing, door.open() as reading:
        try:
            _make(writing, table)
            _expect_row(reading, table)
            _ask(writing, f"DELETE FROM {table} WHERE id = 1")
            if _ask(reading, f"SELECT COUNT(*) FROM {table}") != [(0,)]:
                raise DatabaseError("the row was deleted and is still there")
        finally:
            _ask(writing, f"DROP TABLE IF EXISTS {table}")


def _table() -> str:
    return f"stackctl_validate_{secrets.token_hex(8)}"


def _make(connection: Connection, table: str) -> None:
    _ask(connection, f"CREATE TABLE {table} (id INT NOT NULL, words VARCHAR(40), PRIMARY KEY (id)) ENGINE=InnoDB")
    _ask(connection, f"INSERT INTO {table} (id, words) VALUES (1, '{_TEXT}')")


def _expect_row(connection: Connection, table: str) -> None:
    rows = _ask(connection, f"SELECT words, CHAR_LENGTH(words) FROM {table} WHERE id = 1")
    if rows != [(_TEXT, len(_TEXT))]:
        raise DatabaseError(f"the row was written as {_TEXT!r} and is read as {rows!r}")


def _refusal(door: Door) -> None:
    for kind, password in (("a wrong password", secrets.token_hex(16)), ("an empty password", "")):
        try:
            with door.open(password):
                pass
        except DatabaseError as failure:
            cause = failure.__cause__
            number = cause.args[0] if isinstance(cause, MySQLError) and cause.args else None
            if number != ER.ACCESS_DENIED_ERROR:
                raise DatabaseError(f"{kind} is not refused in the usual way: {failure}") from None
        else:
            raise DatabaseError(f"{kind} is let in")


def _allocator(process: str) -> str | None:
    """tcmalloc took half of Drizzle's throughput (2602 instead of 5795 transactions a second), and none needs it."""
    for folder in running.named(process):
        with contextlib.suppress(OSError):
            if "libtcmalloc" in (folder / "maps").read_text():
                return f"{process} runs with tcmalloc"
    return None


def _ask(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [tuple(_text(value) for value in row) for row in cursor.fetchall()]


def _text(value: Any) -> Any:
    """Drizzle gives some texts as bytes."""
    return value.decode() if isinstance(value, bytes) else value


def _said(failure: Exception) -> str:
    return str(failure.args[-1]) if failure.args else type(failure).__name__
