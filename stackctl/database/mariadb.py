"""MariaDB: how it is opened, read strictly and written strictly, and how it writes types."""

from stackctl.database.connection import Connection
from stackctl.database.ddl import COMMON, Dialect, TypeWords
from stackctl.database.engine import Engine
from stackctl.database.mariadb_facts import read_schema
from stackctl.database.schema import Collation, Column
from stackctl.database.sql import name

_MODES_OF_A_READER = "NO_ENGINE_SUBSTITUTION"
"""No mode that changes what is read: padded CHARs, other quotes."""
_MODES_OF_A_WRITER = ",".join(
    (
        "STRICT_ALL_TABLES",
        "NO_ZERO_DATE",
        "NO_ZERO_IN_DATE",
        "ERROR_FOR_DIVISION_BY_ZERO",
        "NO_AUTO_VALUE_ON_ZERO",
        "NO_ENGINE_SUBSTITUTION",
    )
)


def _collate(collation: Collation) -> str:
    return f"CHARACTER SET utf8mb4 COLLATE utf8mb4_{collation}"


def _now(column: Column) -> str:
    return "CURRENT_TIMESTAMP(6)" if column.length else "CURRENT_TIMESTAMP"


def _sized(word: str) -> TypeWords:
    return lambda column: word if column.length <= _SHORT else f"MEDIUM{word}"


_SHORT = 65535

DIALECT = Dialect(
    types={
        **COMMON,
        "text": _sized("TEXT"),
        "blob": _sized("BLOB"),
    },
    collate=_collate,
    now=_now,
    table=lambda collation: f"ENGINE=InnoDB DEFAULT {_collate(collation)}",
)

MARIADB = Engine(
    name="mariadb",
    wire=Connection,
    opening=(
        "SET SESSION time_zone = '+00:00'",
        "SET SESSION wait_timeout = 86400, net_read_timeout = 600, net_write_timeout = 600",
        "SET SESSION max_statement_time = 0",
    ),
    reading=(
        f"SET SESSION sql_mode = '{_MODES_OF_A_READER}'",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    ),
    writing=(
        f"SET SESSION sql_mode = '{_MODES_OF_A_WRITER}'",
        "SET SESSION innodb_strict_mode = ON",
        "SET SESSION explicit_defaults_for_timestamp = ON",
        "SET SESSION foreign_key_checks = 0",
        "SET SESSION innodb_lock_wait_timeout = 10",
    ),
    snapshot=("START TRANSACTION WITH CONSISTENT SNAPSHOT",),
    read_schema=read_schema,
    dialect=DIALECT,
    new_database=lambda database: f"CREATE DATABASE {name(database)} CHARACTER SET utf8mb4",
    compared=lambda column, collation: f"CONVERT({column} USING utf8mb4) COLLATE utf8mb4_{collation}",
    whole=lambda _, read: read,
    ordered_kinds=frozenset(
        {"int", "bigint", "decimal", "varchar", "varbinary", "date", "datetime", "timestamp", "time", "uuid"}
    ),
)
