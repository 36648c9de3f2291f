"""Looks at the rows of a table before it is moved: how many, how large, and which stand in the way."""

from collections.abc import Iterator
from dataclasses import dataclass

from stackctl.database.engine import Engine
from stackctl.database.findings import Refusal
from stackctl.database.schema import Column, Key, Table
from stackctl.database.session import Session
from stackctl.database.sql import name, names
from stackctl.database.subset import Doubles, Movable

_LONG = frozenset({"varchar", "text", "varbinary", "blob", "enum"})
_MOST_DIGITS = 70
"""Bytes that a number or a time takes in a statement at most."""


@dataclass(frozen=True)
class Measure:
    """What a table holds.

    ``size``: bytes of its values, as a client gets them; ``widest``: bytes that its largest row takes in a
    statement at most.
    """

    rows: int
    size: int
    widest: int


def measure(session: Session, engine: Engine, movable: Movable, packet: int) -> tuple[Measure, list[Refusal]]:
    """Look at a table; ``packet`` is the longest statement that the target takes.

    Gives what stands in the way, too: counts of rows, never the values.
    """
    table = movable.table
    columns = tuple(zip(table.columns, movable.reads, strict=True))
    sizes = " + ".join(_size(column, read) for column, read in columns) or "0"
    widths = " + ".join(_width(column, read) for column, read in columns) or "0"
    asked = [
        "COUNT(*)",
        f"COALESCE(SUM({sizes}), 0)",
        f"COALESCE(MAX({widths}), 0)",
        *(f"COALESCE(SUM({check.condition}), 0)" for check in movable.checks),
    ]
    found = [int(value or 0) for value in session.rows(f"SELECT {', '.join(asked)} FROM {name(table.name)}")[0]]
    made = Measure(found[0], found[1], found[2] + _overhead(table))
    refusals = [
        Refusal(table.name, check.column, f"{check.what} ({_rows(count)})", check.mend)
        for check, count in zip(movable.checks, found[3:], strict=True)
        if count
    ]
    refusals += [refusal for doubles in movable.doubles for refusal in _doubles(session, engine, table, doubles)]
    if made.widest > packet:
        refusals.append(
            Refusal(
                table.name,
                "",
                f"its largest row may take {made.widest} bytes in a statement, and the target takes {packet}",
                f"set max_allowed_packet = {_roomy(made.widest)} at the target",
            )
        )
    return made, refusals


def _size(column: Column, read: str) -> str:
    return f"COALESCE(OCTET_LENGTH({read}), 0)" if column.kind in _LONG else "8"


def _width(column: Column, read: str) -> str:
    # a byte takes two digits, and so does a character that has to be escaped
    return f"{_size(column, read)} * 2 + 4" if column.kind in _LONG else str(_MOST_DIGITS)


def _overhead(table: Table) -> int:
    return 64 + len(names((table.name, *(column.name for column in table.columns))).encode())


def _roomy(size: int) -> int:
    """A whole number of MiB above a size, as servers round it down to."""
    return (size // (1 << 20) + 1) << 20


def _doubles(session: Session, engine: Engine, table: Table, doubles: Doubles) -> Iterator[Refusal]:
    grouped = ", ".join(_compared(engine, table, doubles, number) for number in range(len(doubles.key.parts)))
    given = " AND ".join(f"{name(column)} IS NOT NULL" for column in doubles.key.columns)
    inner = f"SELECT 1 AS one FROM {name(table.name)} WHERE {given} GROUP BY {grouped} HAVING COUNT(*) > 1"
    count = int(session.rows(f"SELECT COUNT(*) FROM ({inner}) AS doubles")[0][0] or 0)
    if count:
        yield Refusal(
            table.name,
            ", ".join(doubles.texts),
            f"under its new collation, values of {_key_words(doubles.key)} are equal that were not "
            f"({count} of them stand there more than once)",
            f"change them; SELECT {grouped}, COUNT(*) FROM {name(table.name)} GROUP BY {grouped} "
            "HAVING COUNT(*) > 1 lists them",
        )


def _compared(engine: Engine, table: Table, doubles: Doubles, number: int) -> str:
    part = doubles.key.parts[number]
    column = table.column(part.column)
    words = name(part.column) if part.prefix is None else f"LEFT({name(part.column)}, {part.prefix})"
    if part.column in doubles.texts and column.collation is not None:
        return engine.compared(words, column.collation)
    return words


def _key_words(key: Key) -> str:
    return "the primary key" if key.kind == "primary" else f"the unique key {key.name}"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
