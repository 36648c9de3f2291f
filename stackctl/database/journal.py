"""How far a move is: a table at the target, written in the transactions that write the rows; so it never lies.

It is made when a move begins and dropped when the move has been verified. A table that stands in it is of the move;
any other table at the target is somebody else's.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stackctl.database.checksum import EMPTY, Checksum
from stackctl.database.ddl import create_table
from stackctl.database.engine import Engine
from stackctl.database.kinds import quoted
from stackctl.database.schema import Column, Key, KeyPart, Table
from stackctl.database.session import ServerError, Session
from stackctl.database.sql import name
from stackctl.database.subset import JOURNAL
from stackctl.errors import RefusedError, StackctlError

State = Literal["claimed", "loading", "loaded", "differs"]
"""``claimed``: it is being made, and may be there or not. ``differs``: its rows were not those of the source."""

_HEAD = ""
"""The name of the record that tells which move this is; no table is called so."""

TABLE = Table(
    JOURNAL,
    (
        Column("table_name", "varchar", False, length=64, collation="bin"),
        Column("state", "varchar", False, length=16, collation="bin"),
        Column("digest", "varchar", False, length=64, collation="bin"),
        Column("row_count", "bigint", False),
        Column("digits", "varchar", False, length=64, collation="bin"),
        Column("place", "text", False, length=65535, collation="bin"),
    ),
    (Key("PRIMARY", "primary", (KeyPart("table_name"),)),),
    collation="bin",
    comment="How far a move of stackctl is",
)
"""The journal's own table, in the subset like every other."""

_COLUMNS = ", ".join(column.name for column in TABLE.columns)
_BUSY = 1205
"""The number of the error that a lock was waited for in vain."""


@dataclass(frozen=True)
class Entry:
    """How far a table is.

    ``digest`` names its definition at the source; ``done`` is the sum of the rows that are committed, ``place`` the
    key of the last of them: None where the table has no key to go on by, or has no rows yet.
    """

    table: str
    state: State
    digest: str
    done: Checksum = EMPTY
    place: tuple[bytes, ...] | None = None


class Journal:
    """The journal at a target."""

    def __init__(self, session: Session, engine: Engine, source: str) -> None:
        """``session`` writes to the target; ``source`` names what is moved."""
        self._session = session
        self._engine = engine
        self._source = source

    def read(self) -> dict[str, Entry] | None:
        """The entries of this move by table; None where no move was begun.

        Raises RefusedError where the move that was begun is another one.
        """
        if JOURNAL not in tables_of(self._session):
            return None
        rows = self._session.texts(f"SELECT {_COLUMNS} FROM {name(JOURNAL)} ORDER BY table_name")
        entries = {str(row[0]): _entry([str(value) for value in row]) for row in rows if row[0] != _HEAD}
        head = next((str(row[5]) for row in rows if row[0] == _HEAD), None)
        if head is None and not entries:
            return None  # the move that began it was stopped right there
        if head != self._source:
            raise RefusedError(
                f"a move from {head} into {self._session.server.title} has not come to its end",
                hint=f"go on with that one; or give it up: DROP TABLE {JOURNAL} there, then its tables, "
                "which --replace can do",
            )
        return entries

    def begin(self) -> None:
        """Make the journal, unless it is there."""
        if JOURNAL not in tables_of(self._session):
            self._session.run(create_table(TABLE, self._engine.dialect))
        head = Entry(_HEAD, "claimed", "")
        if not self._session.rows(f"SELECT table_name FROM {name(JOURNAL)} WHERE {_is(_HEAD)}"):
            self._insert(head, self._source)

    def claim(self, entry: Entry) -> None:
        """Say that a table is of this move, before it is made; what was said of it before is forgotten."""
        with self._session.transaction():
            self._session.run(f"DELETE FROM {name(JOURNAL)} WHERE {_is(entry.table)}")
            self._insert(replace(entry, state="claimed", done=EMPTY, place=None), "")

    def record(self, entry: Entry) -> None:
        """Say how far a table is, in the transaction that is under way."""
        self._session.run(
            f"UPDATE {name(JOURNAL)} SET state = {_literal(entry.state)}, row_count = {entry.done.rows}, "
            f"digits = {_literal(entry.done.digits)}, place = {_literal(_place_words(entry.place))} "
            f"WHERE {_is(entry.table)}"
        )

    def forget(self, table: str) -> None:
        """A table is no longer of this move."""
        self._session.run(f"DELETE FROM {name(JOURNAL)} WHERE {_is(table)}")

    def end(self) -> None:
        """Drop the journal: the move is done."""
        self._session.run(f"DROP TABLE {name(JOURNAL)}")

    def _insert(self, entry: Entry, place: str) -> None:
        values = (entry.table, entry.state, entry.digest)
        self._session.run(
            f"INSERT INTO {name(JOURNAL)} ({_COLUMNS}) VALUES ({', '.join(map(_literal, values))}, "
            f"{entry.done.rows}, {_literal(entry.done.digits)}, {_literal(place)})"
        )


class Guard:
    """Keeps a second move out of a target: a transaction of its own that holds the journal's first record."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def hold(self) -> None:
        """Hold the record. Raises StackctlError where another process has it."""
        self._session.run("START TRANSACTION")
        try:
            self._session.rows(f"SELECT table_name FROM {name(JOURNAL)} WHERE {_is(_HEAD)} FOR UPDATE")
        except ServerError as failure:
            if failure.number != _BUSY:
                raise
            raise StackctlError(
                f"another move into {self._session.server.title} is at work", hint="wait until it ends"
            ) from None

    def release(self) -> None:
        """Let the record go."""
        self._session.run("ROLLBACK")


def _entry(row: Sequence[str]) -> Entry:
    title, state, digest, rows, digits, place = row
    known: Mapping[str, State] = {
        "claimed": "claimed",
        "loading": "loading",
        "loaded": "loaded",
        "differs": "differs",
    }
    if state not in known:
        raise StackctlError(
            f"the journal of the move says {state!r} of {title}, which no release of stackctl writes",
            hint=f"DROP TABLE {JOURNAL} at the target gives the move up",
        )
    return Entry(title, known[state], digest, Checksum(int(rows), digits), _place(place))


def _place_words(place: tuple[bytes, ...] | None) -> str:
    return "" if place is None else json.dumps([part.hex() for part in place])


def _place(words: str) -> tuple[bytes, ...] | None:
    return tuple(bytes.fromhex(part) for part in json.loads(words)) if words else None


def _is(table: str) -> str:
    return f"table_name = {_literal(table)}"


def _literal(word: str) -> str:
    return quoted(word.encode("utf-8")).decode("utf-8")


def tables_of(session: Session) -> frozenset[str]:
    """The names of what a database holds: its tables, and views where there are any."""
    return frozenset(str(row[0]) for row in session.texts("SHOW TABLES"))
