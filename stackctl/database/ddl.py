"""Writes CREATE TABLE for an engine: the words that all share, with the engine's own for types and collations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stackctl.database.kinds import codec, quoted
from stackctl.database.schema import Collation, Column, ForeignKey, Key, Table
from stackctl.database.sql import name, names

TypeWords = Callable[[Column], str]


@dataclass(frozen=True)
class Dialect:
    """How an engine writes what not all write alike."""

    types: Mapping[str, TypeWords]
    """The type of a column by its kind, without its collation."""
    collate: Callable[[Collation], str]
    """What gives a column its collation."""
    now: Callable[[Column], str]
    """The time, as a default."""
    table: Callable[[Collation], str]
    """What ends a table: its engine and collation."""


def create_table(table: Table, dialect: Dialect) -> str:
    """The statement that makes a table with its keys and foreign keys."""
    parts = [
        *(_column(column, dialect) for column in table.columns),
        *(_key(key) for key in table.keys),
        *(_foreign_key(key) for key in table.foreign_keys),
    ]
    tail = dialect.table(table.collation)
    if table.auto_increment is not None:
        tail += f" AUTO_INCREMENT={table.auto_increment}"
    if table.comment:
        tail += f" COMMENT={_text(table.comment)}"
    return f"CREATE TABLE {name(table.name)} (\n  " + ",\n  ".join(parts) + f"\n) {tail}"


def _column(column: Column, dialect: Dialect) -> str:
    words = [name(column.name), dialect.types[column.kind](column)]
    if column.collation is not None:
        words.append(dialect.collate(column.collation))
    words.append("NULL" if column.nullable else "NOT NULL")
    if column.auto_increment:
        words.append("AUTO_INCREMENT")
    if default := _default(column, dialect):
        words.append(default)
    if column.on_update_now:
        words.append(f"ON UPDATE {dialect.now(column)}")
    if column.comment:
        words.append(f"COMMENT {_text(column.comment)}")
    return " ".join(words)


def _default(column: Column, dialect: Dialect) -> str:
    """The DEFAULT, its literal written by the column's kind: one of another type crashes Drizzle."""
    if column.default is None or column.default.kind == "null":
        # only a TIMESTAMP has to be told: it would take the time
        return "DEFAULT NULL" if column.kind == "timestamp" and column.nullable else ""
    if column.default.kind == "now":
        return f"DEFAULT {dialect.now(column)}"
    return "DEFAULT " + codec(column).write(column.default.value).decode("utf-8")


def _key(key: Key) -> str:
    parts = ", ".join(name(part.column) + ("" if part.prefix is None else f"({part.prefix})") for part in key.parts)
    kinds = {"primary": "PRIMARY KEY", "unique": f"UNIQUE KEY {name(key.name)}", "plain": f"KEY {name(key.name)}"}
    return f"{kinds[key.kind]} ({parts})"


def _foreign_key(key: ForeignKey) -> str:
    return (
        f"CONSTRAINT {name(key.name)} FOREIGN KEY ({names(key.columns)}) "
        f"REFERENCES {name(key.table)} ({names(key.references)}) "
        f"ON UPDATE {key.on_update} ON DELETE {key.on_delete}"
    )


def _text(words: str) -> str:
    return quoted(words.encode("utf-8", "surrogatepass")).decode("utf-8")


def fixed(word: str) -> TypeWords:
    """A type that is one word."""
    return lambda _: word


def members(column: Column) -> str:
    """An ENUM with its values."""
    return f"ENUM({','.join(map(_text, column.members))})"


COMMON: dict[str, TypeWords] = {
    "int": fixed("INT"),
    "bigint": fixed("BIGINT"),
    "double": fixed("DOUBLE"),
    "decimal": lambda column: f"DECIMAL({column.length},{column.scale})",
    "varchar": lambda column: f"VARCHAR({column.length})",
    "varbinary": lambda column: f"VARBINARY({column.length})",
    "enum": members,
    "date": fixed("DATE"),
    "time": fixed("TIME"),
    "datetime": fixed("DATETIME"),
    "timestamp": lambda column: "TIMESTAMP(6)" if column.length else "TIMESTAMP",
    "boolean": fixed("BOOLEAN"),
    "uuid": fixed("UUID"),
}
"""The types that every engine writes alike."""
