"""What an engine says of a schema, in its own words, before anything is made of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class DefaultFacts:
    """A DEFAULT: NULL, the time, a literal's own bytes, or an expression's text.

    ``unreadable`` is a literal that the engine does not show as it is.
    """

    kind: Literal["null", "now", "literal", "expression", "unreadable"]
    value: bytes = b""


@dataclass(frozen=True)
class ColumnFacts:
    """A column; ``type`` in lower case with its length and words, such as ``int(10) unsigned``."""

    name: str
    type: str
    nullable: bool = True
    default: DefaultFacts | None = None
    charset: str | None = None
    collation: str | None = None
    members: tuple[str, ...] = ()
    auto_increment: bool = False
    on_update_now: bool = False
    generated: str | None = None
    invisible: bool = False
    comment: str = ""


@dataclass(frozen=True)
class KeyPartFacts:
    """A column of a key, or its beginning."""

    column: str
    prefix: int | None = None
    descending: bool = False


@dataclass(frozen=True)
class KeyFacts:
    """A key; ``type`` is BTREE, HASH, FULLTEXT, RTREE …"""

    name: str
    unique: bool
    parts: tuple[KeyPartFacts, ...]
    type: str = "BTREE"
    ignored: bool = False
    comment: str = ""


@dataclass(frozen=True)
class ForeignKeyFacts:
    """A reference to another table, of another schema perhaps."""

    name: str
    columns: tuple[str, ...]
    schema: str
    table: str
    references: tuple[str, ...]
    on_update: str
    on_delete: str


@dataclass(frozen=True)
class CheckFacts:
    """A CHECK of a table, or of the column that it is named for."""

    name: str
    clause: str
    of_column: bool = False


@dataclass(frozen=True)
class TableFacts:
    """A table with all that belongs to it."""

    name: str
    engine: str
    columns: tuple[ColumnFacts, ...]
    keys: tuple[KeyFacts, ...] = ()
    foreign_keys: tuple[ForeignKeyFacts, ...] = ()
    checks: tuple[CheckFacts, ...] = ()
    collation: str | None = None
    comment: str = ""
    auto_increment: int | None = None
    partitioned: bool = False
    periods: bool = False
    options: tuple[str, ...] = ()
    """What is kept of it otherwise than usual: ENCRYPTED, PAGE_COMPRESSED …"""


@dataclass(frozen=True)
class Thing:
    """Something of a schema that is no plain table: a view, a trigger, a sequence …"""

    kind: str
    name: str
    table: str = ""


@dataclass(frozen=True)
class SchemaFacts:
    """A schema as an engine tells it.

    ``lenient``: the engine may hold values that a strict one refuses (dates of nothing, values of no ENUM).
    """

    name: str
    lenient: bool
    tables: tuple[TableFacts, ...]
    things: tuple[Thing, ...] = ()

    def __iter__(self) -> Iterator[TableFacts]:
        return iter(self.tables)
