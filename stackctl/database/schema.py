"""A schema in the subset that every engine accepts: tables, columns, keys, foreign keys; frozen values."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Collation = Literal["general_ci", "bin"]
"""How texts compare: without regard to case and most accents, or by their characters; never by blanks at the end."""

KeyKind = Literal["primary", "unique", "plain"]
Rule = Literal["RESTRICT", "CASCADE", "SET NULL", "NO ACTION"]

LARGEST_VALUE = (1 << 24) - 1
"""Bytes: the longest text or blob that Drizzle holds."""


@dataclass(frozen=True)
class Default:
    """What a column holds where an INSERT gives nothing: NULL, the time, or a value in its canonical form."""

    kind: Literal["null", "now", "value"]
    value: bytes = b""


@dataclass(frozen=True)
class Column:
    """A column; ``kind`` is one of ``kinds.KINDS``.

    ``length`` is characters of a varchar, bytes of a varbinary, most bytes of a text or blob, digits of a decimal,
    digits of the fraction of a timestamp's second (0 or 6).
    """

    name: str
    kind: str
    nullable: bool = True
    length: int = 0
    scale: int = 0
    members: tuple[str, ...] = ()
    collation: Collation | None = None
    default: Default | None = None
    auto_increment: bool = False
    on_update_now: bool = False
    comment: str = ""


@dataclass(frozen=True)
class KeyPart:
    """A column of a key, or its first ``prefix`` characters (of a blob: bytes)."""

    column: str
    prefix: int | None = None


@dataclass(frozen=True)
class Key:
    """A primary key, a unique key or an index."""

    name: str
    kind: KeyKind
    parts: tuple[KeyPart, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(part.column for part in self.parts)


@dataclass(frozen=True)
class ForeignKey:
    """A reference to a table of the same schema."""

    name: str
    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]
    on_update: Rule
    on_delete: Rule


@dataclass(frozen=True)
class Table:
    """A table of InnoDB."""

    name: str
    columns: tuple[Column, ...]
    keys: tuple[Key, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    collation: Collation = "general_ci"
    comment: str = ""
    auto_increment: int | None = None
    """The next value of the column that counts by itself, where that is known."""

    def column(self, name: str) -> Column:
        """The column of this name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def digest(self) -> str:
        """Names this definition: another one has another digest. The next automatic value is no part of it."""
        plain: dict[str, Any] = asdict(self) | {"auto_increment": None}
        text = json.dumps(plain, sort_keys=True, default=lambda value: value.hex())
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def key_bytes(column: Column, prefix: int | None) -> int:
    """What the column takes in a key, in bytes; a character takes four."""
    if column.kind in ("varchar", "text"):
        return 4 * (prefix or column.length)
    if column.kind in ("varbinary", "blob"):
        return prefix or column.length
    return stored_bytes(column)


def stored_bytes(column: Column) -> int:
    """What the column takes in a row at most, in bytes, without what texts and blobs keep elsewhere."""
    match column.kind:
        case "varchar":
            return 4 * column.length + 2
        case "varbinary":
            return column.length + 2
        case "decimal":
            return _digits_bytes(column.length - column.scale) + _digits_bytes(column.scale)
        case _:
            return _FIXED[column.kind]


_FIXED = {
    "int": 4,
    "bigint": 8,
    "double": 8,
    "text": 12,
    "blob": 12,
    "enum": 4,
    "date": 4,
    "time": 4,
    "datetime": 8,
    "timestamp": 12,
    "boolean": 1,
    "uuid": 16,
}


def _digits_bytes(digits: int) -> int:
    """Nine digits take four bytes; what is left takes half a byte a digit, rounded up."""
    return digits // 9 * 4 + (digits % 9 + 1) // 2


def parents_first(tables: Iterable[Table]) -> list[Table]:
    """The tables in an order in which those that are referred to come first; a circle is cut where it is met."""
    by_name = {table.name: table for table in tables}
    ordered: dict[str, Table] = {}

    def place(name: str, above: frozenset[str]) -> None:
        if name in ordered or name in above or name not in by_name:
            return
        for foreign in by_name[name].foreign_keys:
            place(foreign.table, above | {name})
        ordered[name] = by_name[name]

    for name in by_name:
        place(name, frozenset())
    return list(ordered.values())


def key_to_read_by(table: Table, kinds: Sequence[str]) -> Key | None:
    """The key whose order a table can be read by, in pieces: unique, never NULL, of columns of these kinds."""
    keys = sorted(table.keys, key=lambda key: key.kind != "primary")
    for key in keys:
        columns = [table.column(name) for name in key.columns]
        if key.kind == "plain" or any(column.nullable for column in columns):
            continue
        if all(column.kind in kinds for column in columns):
            return key
    return None
