"""The database: one connection that speaks to MariaDB and to Drizzle, transactions, and every statement by name.

All SQL of the app is made by ``statement`` and keeps to the subset that both servers accept; a test holds each
statement against what Drizzle lacks.
"""

import contextlib
import logging
import random
import re
import time
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pymysql
from pymysql.constants import CLIENT, CR, ER, SERVER_STATUS

from stacksearch.config import DatabaseConfig
from stacksearch.errors import UnavailableError

log = logging.getLogger(__name__)

Row = tuple[Any, ...]
Rows = Collection[object]
Cases = Mapping[int, int]
Result = TypeVar("Result")

NO_CASES: Cases = types.MappingProxyType({})

_AGAIN = frozenset({ER.LOCK_DEADLOCK, ER.LOCK_WAIT_TIMEOUT})
_LOST = frozenset({0, CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR})

_QUOTED = (
    ("\\", "\\\\"),
    ("'", "\\'"),
    ('"', '\\"'),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\x00", "\\0"),
    ("\x1a", "\\Z"),
)

STATEMENTS: list[str] = []
"""Every statement that the app can send, for the test that guards the subset."""


def statement(sql: str) -> str:
    """Register a statement.

    Its blanks: ``%s`` a value, ``{rows}`` tuples or a list of values, ``{cases}`` the branches of a CASE.
    """
    text = " ".join(sql.split())
    STATEMENTS.append(text)
    return text


@dataclass(frozen=True)
class Wake:
    """A background job, submitted by the database's server where it stands in a statement; it leaves an empty text.

    Only after ``Database.wakes`` has said that the server can.
    """

    function: str
    data: str
    unique: str


class Connection(pymysql.connections.Connection):
    """A connection with quick quoting; its twin for Drizzle leaves out what that server cannot bear."""

    server_status: int
    server_capabilities: int
    client_flag: int

    def quoted(self, value: object) -> str:
        """A literal: None, a number or a text; nothing else is ever sent."""
        if isinstance(value, str):
            return f"'{self.escape_string(value)}'"
        if value is None:
            return "NULL"
        if isinstance(value, int):
            return str(int(value))
        raise TypeError(f"{type(value).__name__} is not sent to the database")

    def take_servers(self, servers: str) -> bool:
        """Tell the server where the gearmands are (``host:port,host:port``); whether it can submit jobs at all."""
        return False

    def escape_string(self, s: str) -> str:
        """Quote the inside of a literal; ``str.replace`` is ten times quicker than a table for long texts."""
        if self.server_status & SERVER_STATUS.SERVER_STATUS_NO_BACKSLASH_ESCAPES:
            return s.replace("'", "''")
        for character, quoted in _QUOTED:
            s = s.replace(character, quoted)
        return s


_NOT_FOR_DRIZZLE = CLIENT.PLUGIN_AUTH | CLIENT.PLUGIN_AUTH_LENENC_CLIENT_DATA | CLIENT.CONNECT_ATTRS
_TAKE_SERVERS = "SELECT gman_servers_set({})"
_WAKE = "IF(gman_do_background({}, {}, {}) IS NULL, '', '')"
"""Functions of Drizzle's plugin gearman_udf; a job that no gearmand takes is NULL and no error."""


class DrizzleConnection(Connection):
    """Drizzle reads the hash of a client that announces PLUGIN_AUTH as plain text, and has no SET NAMES."""

    def _get_server_information(self) -> None:
        super()._get_server_information()  # type: ignore[misc]
        self.server_capabilities &= ~_NOT_FOR_DRIZZLE
        self.client_flag &= ~_NOT_FOR_DRIZZLE

    def set_character_set(self, charset: str, collation: str | None = None) -> None:
        """Nothing to ask for: Drizzle's text is always UTF-8."""

    def quoted(self, value: object) -> str:
        if isinstance(value, Wake):
            return _WAKE.format(*map(super().quoted, (value.function, value.data, value.unique)))
        return super().quoted(value)

    def take_servers(self, servers: str) -> bool:
        """Its plugin keeps them for all connections until it ends; False where it is not loaded."""
        try:
            with self.cursor() as cursor:
                cursor.execute(_TAKE_SERVERS.format(self.quoted(servers)))
                return cursor.fetchone() != (None,)
        except pymysql.err.MySQLError as failure:
            if failure.args and failure.args[0] in _LOST:
                raise
            log.debug("no gearman_udf: %s", failure)
            return False


_CONNECTIONS: dict[str, type[Connection]] = {"mariadb": Connection, "drizzle": DrizzleConnection}


class Transaction:
    """What runs inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def read(self, sql: str, values: Sequence[object] = (), rows: Rows = (), cases: Cases = NO_CASES) -> list[Row]:
        """The rows of a SELECT."""
        with self._connection.cursor() as cursor:
            cursor.execute(fill(self._connection, sql, values, rows, cases))
            return list(cursor.fetchall())

    def write(self, sql: str, values: Sequence[object] = (), rows: Rows = (), cases: Cases = NO_CASES) -> int:
        """Run an INSERT, UPDATE or DELETE; gives the count of rows that it changed."""
        with self._connection.cursor() as cursor:
            return cursor.execute(fill(self._connection, sql, values, rows, cases))

    def take_servers(self, servers: str) -> bool:
        """See `Connection.take_servers`."""
        return self._connection.take_servers(servers)


_BLANK = re.compile(r"(%s|\{rows\}|\{cases\})")


def fill(connection: Connection, sql: str, values: Sequence[object], rows: Rows, cases: Cases) -> str:
    """The text of a statement with its blanks filled, every value quoted."""
    literal = connection.quoted
    rest = iter(values)
    parts = _BLANK.split(sql)
    for number in range(1, len(parts), 2):
        if parts[number] == "%s":
            parts[number] = literal(next(rest))
        elif parts[number] == "{rows}":
            parts[number] = ",".join(
                f"({','.join(map(literal, row))})" if isinstance(row, tuple) else literal(row) for row in rows
            )
        else:
            parts[number] = " ".join(f"WHEN {literal(key)} THEN {literal(value)}" for key, value in cases.items())
    return "".join(parts)


class Database:
    """A database that is connected to when needed, and again when the connection is lost."""

    def __init__(self, config: DatabaseConfig) -> None:
        self._config = config
        self._connection: Connection | None = None

    def __str__(self) -> str:
        return f"{self._config.engine} at {self._config.host}:{self._config.port}"

    def transaction(self, work: Callable[[Transaction], Result], *, attempts: int = 8) -> Result:
        """Run ``work`` in a transaction and commit; deadlocks and lost connections run it again from its start.

        A connection lost during COMMIT leaves open whether it was done, so ``work`` must bear being run twice.
        Raises UnavailableError when the server does not answer.
        """
        for attempt in range(1, attempts + 1):
            try:
                connection = self._connect()
                result = work(Transaction(connection))
                connection.commit()
            except pymysql.err.OperationalError as failure:
                number = failure.args[0] if failure.args else 0
                if number in _AGAIN:
                    self._rollback()
                elif number in _LOST:
                    self.close()
                else:
                    self._rollback()
                    raise self._unavailable(failure) from None
                if attempt == attempts or number in (CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR):
                    raise self._unavailable(failure) from None
                log.debug("attempt %d: %s", attempt, failure)
                time.sleep(random.uniform(0, 0.02 * 2**attempt))  # noqa: S311
            except pymysql.err.InterfaceError as failure:
                self.close()
                if attempt == attempts:
                    raise self._unavailable(failure) from None
            except BaseException:
                self._rollback()
                raise
            else:
                return result
        raise AssertionError("unreachable")

    def read(self, sql: str, values: Sequence[object] = (), rows: Rows = ()) -> list[Row]:
        """The rows of one SELECT, in a transaction of its own."""
        return self.transaction(lambda tx: tx.read(sql, values, rows))

    def write(self, sql: str, values: Sequence[object] = (), rows: Rows = ()) -> int:
        """Run one changing statement in a transaction of its own."""
        return self.transaction(lambda tx: tx.write(sql, values, rows))

    def define(self, sql: str) -> None:
        """Run a DDL statement, outside any transaction."""
        connection = self._connect()
        connection.autocommit(True)
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
        except pymysql.err.OperationalError as failure:
            raise self._unavailable(failure) from None
        finally:
            self.close()

    def wakes(self) -> bool:
        """Whether the server itself can submit jobs, by a `Wake` in a statement."""
        servers = ",".join(map(str, self._config.wake_servers))
        return bool(servers) and self.transaction(lambda tx: tx.take_servers(servers))

    def close(self) -> None:
        """Let the connection go; the next use makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(pymysql.err.Error):
                connection.close()

    def _connect(self) -> Connection:
        if self._connection is None:
            config = self._config
            try:
                self._connection = _CONNECTIONS[config.engine](
                    host=config.host,
                    port=config.port,
                    user=config.user,
                    password=config.password.encode(),  # of a text PyMySQL would take Latin-1
                    database=config.name,
                    autocommit=False,
                    connect_timeout=10,
                    read_timeout=60,
                    write_timeout=60,
                    ssl_disabled=True,
                )
            except pymysql.err.OperationalError as failure:
                raise self._unavailable(failure) from None
        return self._connection

    def _rollback(self) -> None:
        if self._connection is not None:
            try:
                self._connection.rollback()
            except (pymysql.err.Error, OSError):
                self.close()

    def _unavailable(self, failure: pymysql.err.Error) -> UnavailableError:
        said = failure.args[1] if len(failure.args) > 1 else failure
        return UnavailableError(f"the database ({self}): {said}")
