"""A connection to a database server of either engine; runs on servers too, with PyMySQL and the standard library."""

from collections.abc import Callable
from typing import Any

import pymysql
from pymysql.constants import CLIENT

_NOT_FOR_DRIZZLE = CLIENT.PLUGIN_AUTH | CLIENT.PLUGIN_AUTH_LENENC_CLIENT_DATA | CLIENT.CONNECT_ATTRS


class Connection(pymysql.connections.Connection):
    """To MariaDB, and to whatever speaks its protocol in full."""

    server_capabilities: int
    client_flag: int
    _result: Any
    _force_close: Callable[[], None]

    def abandon(self) -> None:
        """Break off in the middle of a result; PyMySQL would read the rest of it first."""
        result, self._result = self._result, None
        if result is not None:
            result.unbuffered_active = False
            result.connection = None
        self._force_close()


class DrizzleConnection(Connection):
    """To Drizzle: it takes the hash of a client that announces PLUGIN_AUTH for plain text, and has no SET NAMES."""

    def _get_server_information(self) -> None:
        super()._get_server_information()  # type: ignore[misc]
        self.server_capabilities &= ~_NOT_FOR_DRIZZLE
        self.client_flag &= ~_NOT_FOR_DRIZZLE

    def set_character_set(self, charset: str, collation: str | None = None) -> None:
        """Nothing to ask for: Drizzle's text is always UTF-8."""


_KINDS: dict[str, type[Connection]] = {"drizzle": DrizzleConnection}
"""Engines that take more than a plain connection."""


def connect(
    engine: str, *, host: str, port: int, user: str, password: str, database: str, timeout: float
) -> Connection:
    """A connection in autocommit mode. Raises pymysql.err.MySQLError."""
    return _KINDS.get(engine, Connection)(
        host=host,
        port=port,
        user=user,
        password=password.encode(),  # of a text PyMySQL would take Latin-1
        database=database,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=timeout,
        read_timeout=timeout,
        write_timeout=timeout,
        ssl_disabled=True,
    )
