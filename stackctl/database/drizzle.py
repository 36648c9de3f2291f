"""Drizzle: always strict, always in UTC and UTF-8, with few settings; and how it writes types."""

from stackctl.database.connection import DrizzleConnection
from stackctl.database.ddl import COMMON, Dialect, fixed
from stackctl.database.drizzle_facts import read_schema
from stackctl.database.engine import Engine
from stackctl.database.schema import Collation, Column
from stackctl.database.sql import name


def _collate(collation: Collation) -> str:
    return f"COLLATE utf8_{collation}"


def _whole(column: Column, read: str) -> str:
    """Drizzle shows 15 digits of a DOUBLE, which has up to 17: what they leave out is shown behind them."""
    return f"CONCAT({read}, ' ', {read} - CONCAT({read}))" if column.kind == "double" else read


DIALECT = Dialect(
    types={**COMMON, "text": fixed("TEXT"), "blob": fixed("BLOB")},
    collate=_collate,
    now=lambda _: "CURRENT_TIMESTAMP",
    table=lambda collation: f"ENGINE=InnoDB {_collate(collation)}",
)

DRIZZLE = Engine(
    name="drizzle",
    wire=DrizzleConnection,
    opening=(),
    reading=("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",),
    writing=("SET FOREIGN_KEY_CHECKS = 0",),
    snapshot=("START TRANSACTION WITH CONSISTENT SNAPSHOT",),
    read_schema=read_schema,
    dialect=DIALECT,
    new_database=lambda database: f"CREATE SCHEMA {name(database)}",
    compared=lambda column, collation: f"{column} COLLATE utf8_{collation}",
    whole=_whole,
    ordered_kinds=frozenset({"int", "bigint", "decimal", "varchar", "varbinary", "date", "datetime", "timestamp"}),
)
