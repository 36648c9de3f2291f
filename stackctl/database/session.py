"""One connection to a database server: statements as text or bytes, values as the bytes that the server sends."""

import contextlib
import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pymysql
from pymysql.constants import CR, ER
from pymysql.converters import encoders
from pymysql.cursors import SSCursor

from stackctl.database.connection import Connection
from stackctl.errors import StackctlError
from stackctl.site.secrets import Secret

Row = tuple[bytes | None, ...]

CONNECT_TIMEOUT = 20
ANSWER_TIMEOUT = 3600
"""Seconds that a statement may take; counting a large table takes its time."""

_REFUSED = frozenset({ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.HOST_NOT_PRIVILEGED, 1698})
_GONE = frozenset({0, CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST})
_NOT_THERE = frozenset({CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR})


@dataclass(frozen=True)
class Server:
    """Where a database server listens, and as whom to come. ``socket`` is a Unix socket that leads there."""

    engine: str
    user: str
    password: Secret = field(repr=False)
    database: str
    host: str = "127.0.0.1"
    port: int = 3306
    socket: str | None = None
    label: str = ""
    """How the server is called where that is not its address: the host of a site that it runs on."""

    def __str__(self) -> str:
        if self.label:
            return f"{self.engine} at {self.label}"
        if self.socket is not None:
            return f"{self.engine} at {self.socket}"
        return f"{self.engine} at {_address(self.host)}:{self.port}"

    @property
    def title(self) -> str:
        """The database and its server."""
        return f"{self.database} on {self}"


class ServerError(StackctlError):
    """A database server did not do what it was asked; ``number`` is its own number for the reason."""

    def __init__(self, message: str, *, number: int = 0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.number = number


class Session:
    """A connection; every statement commits by itself unless ``transaction`` holds it. Close it."""

    def __init__(self, server: Server, wire: type[Connection], opening: tuple[str, ...] = ()) -> None:
        """Connect, and run ``opening``. Raises ServerError, which tells what is wrong."""
        self.server = server
        with self._told():
            self._wire = wire(
                host=server.host,
                port=server.port,
                unix_socket=server.socket,
                user=server.user,
                password=server.password.reveal().encode(),  # of a text PyMySQL would take Latin-1
                autocommit=True,
                charset="utf8mb4",
                use_unicode=False,
                conv={kind: encode for kind, encode in encoders.items()},  # noqa: C416
                connect_timeout=CONNECT_TIMEOUT,
                read_timeout=ANSWER_TIMEOUT,
                write_timeout=ANSWER_TIMEOUT,
                ssl_disabled=True,
            )
        try:
            for statement in opening:
                self.run(statement)
        except BaseException:
            self.close()
            raise

    def run(self, statement: str | bytes) -> int:
        """Run a statement that gives no rows; gives how many it changed."""
        with self._told():
            return int(self._wire.query(_sent(statement)))

    def rows(self, statement: str | bytes) -> list[Row]:
        """All rows of a statement."""
        with self._told():
            cursor: Any = self._wire.cursor()
            cursor.execute(_sent(statement))
            return list(cursor.fetchall())

    def texts(self, statement: str | bytes) -> list[tuple[str | None, ...]]:
        """All rows of a statement, as text."""
        return [tuple(text(value) for value in row) for row in self.rows(statement)]

    def stream(self, statement: str | bytes) -> Iterator[Row]:
        """The rows of a statement one by one, as the server sends them; nothing else can be asked meanwhile."""
        with self._told():
            cursor: Any = self._wire.cursor(SSCursor)
            try:
                cursor.execute(_sent(statement))
                while (row := cursor.fetchone()) is not None:
                    yield row
            except BaseException:
                self._wire.abandon()
                raise
            finally:
                cursor.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold what is done in the block together: all of it is committed, or nothing."""
        self.run("START TRANSACTION")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            with contextlib.suppress(StackctlError):
                self.run("ROLLBACK")
            raise

    def close(self) -> None:
        """Let the connection go."""
        with contextlib.suppress(pymysql.err.Error, OSError):
            self._wire.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the connection in plain words."""
        try:
            yield
        except pymysql.err.Error as failure:
            raise self._error(failure) from None
        except OSError as failure:
            raise ServerError(f"the connection to {self.server} broke: {failure}", hint=_GO_ON) from None

    def _error(self, failure: pymysql.err.Error) -> ServerError:
        number = failure.args[0] if failure.args and isinstance(failure.args[0], int) else 0
        said = str(failure.args[1] if len(failure.args) > 1 else failure)
        if number in _REFUSED:
            return ServerError(
                f"{self.server} does not let {self.server.user} in: {said}",
                number=number,
                hint="check the account's name and password",
            )
        if number in _NOT_THERE:
            return ServerError(
                f"{self.server} does not answer: {said}", number=number, hint="is it running, and is the port right?"
            )
        if number in _GONE:
            return ServerError(f"{self.server} went away: {said}", number=number, hint=_GO_ON)
        return ServerError(f"{self.server} says: {said} ({number})", number=number)


_GO_ON = "when it is up again, the same command goes on where this one stopped"


def text(value: bytes | None) -> str | None:
    """What a server sent, as text; bytes that are no UTF-8 are kept as they are."""
    return None if value is None else value.decode("utf-8", "surrogateescape")


def _sent(statement: str | bytes) -> bytes:
    return statement if isinstance(statement, bytes) else statement.encode("utf-8", "surrogateescape")


def _address(host: str) -> str:
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host
