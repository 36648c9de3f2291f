"""Brings the rows of a table over: read in the order of a key in bounded pieces, written in bounded statements.

What is written is committed together with how far it is, so that a move that is stopped at any moment goes on there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from stackctl.database.checksum import Checksum, RowSum
from stackctl.database.engine import Engine
from stackctl.database.journal import Entry, Journal
from stackctl.database.kinds import Codec, UnfitError, Value, codecs
from stackctl.database.schema import Key, Table, key_to_read_by
from stackctl.database.session import Session
from stackctl.database.sql import name
from stackctl.database.subset import Movable
from stackctl.errors import StackctlError

PAGE = 10_000
"""Rows that one SELECT reads, where there is a key to go on by."""
STATEMENT = 1 << 20
"""Bytes of an INSERT that is not made longer, unless one row is."""
MOST_ROWS = 5_000
"""Rows of an INSERT."""

CanonicalRow = tuple[Value, ...]
Told = Callable[[Entry], None]


@dataclass(frozen=True)
class Ends:
    """The two ends of a move; ``packet`` is the longest statement that the target takes, in bytes."""

    source: Session
    source_engine: Engine
    target: Session
    journal: Journal
    packet: int


def load(ends: Ends, movable: Movable, entry: Entry, told: Told) -> Entry:
    """Bring over the rows that are not there yet; ``told`` is called after each commit. Gives the entry at the end.

    The table is there, with the rows of ``entry``.
    """
    table = movable.table
    key = key_to_read_by(table, tuple(ends.source_engine.ordered_kinds))
    positions = tuple(table.columns.index(table.column(column)) for column in key.columns) if key else ()
    total = RowSum(entry.done)
    batch = _Batch(table, min(STATEMENT, ends.packet - 1024))
    place = entry.place

    def commit(state: Entry) -> Entry:
        with ends.target.transaction():
            if batch.rows:
                ends.target.run(batch.statement())
            ends.journal.record(state)
        batch.clear()
        told(state)
        return state

    for row in _rows(ends, movable, key, place):
        written = batch.written(row)
        if batch.is_full_with(written):
            entry = commit(replace(entry, state="loading", done=total.checksum(), place=place))
        batch.add(written)
        total.add(row)
        if positions:
            place = tuple(value for position in positions if (value := row[position]) is not None)
    return commit(replace(entry, state="loaded", done=total.checksum(), place=place))


def can_go_on(movable: Movable, engine: Engine) -> bool:
    """Whether the rest of a table can be read by itself: else it is begun anew."""
    return key_to_read_by(movable.table, tuple(engine.ordered_kinds)) is not None


def sum_of(session: Session, engine: Engine, table: Table, reads: Sequence[str]) -> Checksum:
    """The checksum over all rows of a table as they are now; ``reads`` is the SQL of each column."""
    total = RowSum()
    for row in _canonical(session.stream(_select(engine, table, reads)), table, codecs(table.columns)):
        total.add(row)
    return total.checksum()


class _Batch:
    """Rows that are to be written by one statement."""

    def __init__(self, table: Table, most: int) -> None:
        columns = ", ".join(name(column.name) for column in table.columns)
        self._begin = f"INSERT INTO {name(table.name)} ({columns}) VALUES ".encode("utf-8", "surrogateescape")
        self._codecs = codecs(table.columns)
        self._most = most
        self.clear()

    def clear(self) -> None:
        self.rows: list[bytes] = []
        self._size = len(self._begin)

    def written(self, row: CanonicalRow) -> bytes:
        return b"(" + b",".join(codec.write(value) for codec, value in zip(self._codecs, row, strict=True)) + b")"

    def is_full_with(self, written: bytes) -> bool:
        too_long = self._size + len(written) + 1 > self._most
        return bool(self.rows) and (too_long or len(self.rows) >= MOST_ROWS)

    def add(self, written: bytes) -> None:
        self.rows.append(written)
        self._size += len(written) + 1

    def statement(self) -> bytes:
        return self._begin + b",".join(self.rows)


def _rows(ends: Ends, movable: Movable, key: Key | None, place: tuple[bytes, ...] | None) -> Iterator[CanonicalRow]:
    """The rows after a place, in the order of the key; without a key all of them, in one go."""
    table, of = movable.table, codecs(movable.table.columns)
    select = _select(ends.source_engine, table, movable.reads)
    if key is None:
        yield from _canonical(ends.source.stream(select), table, of)
        return
    positions = tuple(table.columns.index(table.column(column)) for column in key.columns)
    order = ", ".join(name(column) for column in key.columns)
    while True:
        where = "" if place is None else f" WHERE {after(key, [of[at] for at in positions], place)}"
        count, last = 0, None
        page = ends.source.stream(f"{select}{where} ORDER BY {order} LIMIT {PAGE}")
        for last in _canonical(page, table, of):
            count += 1
            yield last
        if last is None or count < PAGE:
            return
        place = tuple(value for position in positions if (value := last[position]) is not None)


def _select(engine: Engine, table: Table, reads: Sequence[str]) -> str:
    whole = map(engine.whole, table.columns, reads)
    return f"SELECT {', '.join(whole)} FROM {name(table.name)}"


def after(key: Key, of: Sequence[Codec], place: Sequence[bytes]) -> str:
    """The condition of the rows whose key comes after a place; its first part lets a server use the key."""
    columns = [name(column) for column in key.columns]
    literals = [codec.write(value).decode("utf-8") for codec, value in zip(of, place, strict=True)]
    steps = []
    for depth, (column, literal) in enumerate(zip(columns, literals, strict=True)):
        same = [f"{columns[above]} = {literals[above]}" for above in range(depth)]
        steps.append(" AND ".join([*same, f"{column} > {literal}"]))
    if len(steps) == 1:
        return steps[0]
    return f"{columns[0]} >= {literals[0]} AND ({' OR '.join(f'({step})' for step in steps)})"


def _canonical(rows: Iterator[tuple[Value, ...]], table: Table, of: Sequence[Codec]) -> Iterator[CanonicalRow]:
    for number, row in enumerate(rows, 1):
        try:
            yield tuple(codec.read(value) for codec, value in zip(of, row, strict=True))
        except UnfitError:
            raise _unfit(table, of, row, number) from None


def _unfit(table: Table, of: Sequence[Codec], row: Sequence[Value], number: int) -> StackctlError:
    for codec, value in zip(of, row, strict=True):
        try:
            codec.read(value)
        except UnfitError as failure:
            return StackctlError(
                f"{table.name}.{codec.column.name}, row {number} of those that were read: {failure}",
                hint="it was written after the move had looked there; mend it, then run the same command again",
            )
    raise AssertionError("unreachable")
