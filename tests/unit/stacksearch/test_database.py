"""Quoting, and the filling of blanks; no server."""

import pymysql
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymysql.constants import CLIENT, SERVER_STATUS
from pymysql.converters import escape_string

from stacksearch.config import DatabaseConfig, Server
from stacksearch.database import Connection, Database, DrizzleConnection, Wake, fill
from stacksearch.errors import UnavailableError


@pytest.fixture
def connection() -> Connection:
    made = Connection(defer_connect=True, ssl_disabled=True)
    made.server_status = 0
    return made


@given(st.text())
def test_quick_quoting_gives_what_pymysql_gives(text: str) -> None:
    connection = Connection(defer_connect=True, ssl_disabled=True)
    connection.server_status = 0
    assert connection.escape_string(text) == escape_string(text)


def test_a_server_without_backslash_escapes_is_heeded(connection: Connection) -> None:
    connection.server_status = SERVER_STATUS.SERVER_STATUS_NO_BACKSLASH_ESCAPES
    assert connection.escape_string("a'b\\") == "a''b\\"


def test_blanks_are_filled(connection: Connection) -> None:
    sql = "UPDATE url SET a = %s, d = CASE id {cases} ELSE d END WHERE id IN ({rows}) AND b = %s"
    assert fill(connection, sql, (1, "x'%s{rows}"), [3, 4], {3: 30, 4: 40}) == (
        "UPDATE url SET a = 1, d = CASE id WHEN 3 THEN 30 WHEN 4 THEN 40 ELSE d END WHERE id IN (3,4)"
        " AND b = 'x\\'%s{rows}'"
    )


def test_rows_of_several_values(connection: Connection) -> None:
    filled = fill(connection, "INSERT INTO t (a, b) VALUES {rows}", (), [(1, "a"), (2, None)], {})
    assert filled == "INSERT INTO t (a, b) VALUES (1,'a'),(2,NULL)"


def test_drizzle_is_not_told_of_plugins_nor_asked_for_a_character_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def information(self: pymysql.connections.Connection) -> None:  # type: ignore[type-arg]
        self.server_capabilities = -1  # type: ignore[attr-defined]

    monkeypatch.setattr(pymysql.connections.Connection, "_get_server_information", information)
    connection = DrizzleConnection(defer_connect=True, ssl_disabled=True)
    assert connection.client_flag & CLIENT.PLUGIN_AUTH
    connection._get_server_information()
    assert not connection.client_flag & (CLIENT.PLUGIN_AUTH | CLIENT.CONNECT_ATTRS)
    assert not connection.server_capabilities & CLIENT.PLUGIN_AUTH
    connection.set_character_set("utf8mb4")  # would fail: there is no connection


def test_what_is_no_number_and_no_text_is_never_sent(connection: Connection) -> None:
    with pytest.raises(TypeError):
        connection.quoted(b"bytes")
    assert connection.quoted(True) == "1"


def test_drizzle_submits_a_job_where_a_wake_stands() -> None:
    connection = DrizzleConnection(defer_connect=True, ssl_disabled=True)
    connection.server_status = 0
    filled = fill(connection, "INSERT INTO t (a, b) VALUES {rows}", (), [(1, ""), (2, Wake("it's", "null", "u"))], {})
    assert filled == (
        "INSERT INTO t (a, b) VALUES (1,''),(2,IF(gman_do_background('it\\'s', 'null', 'u') IS NULL, '', ''))"
    )


def test_mariadb_has_no_wakes(connection: Connection) -> None:
    with pytest.raises(TypeError):
        connection.quoted(Wake("f", "null", "u"))
    assert not connection.take_servers("127.0.0.1:4730")


def test_without_gearmands_nobody_is_asked() -> None:
    assert not Database(DatabaseConfig(port=1)).wakes()  # would fail: nobody listens there


def test_a_server_that_is_away_is_not_one_without_the_plugin() -> None:
    with pytest.raises(UnavailableError):
        Database(DatabaseConfig(port=1, engine="drizzle", wake_servers=(Server("127.0.0.1", 4730),))).wakes()
