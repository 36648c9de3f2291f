"""How far a move is, for the foot of a terminal."""

import time
from collections.abc import Mapping, Sequence

from stackctl.database.journal import Entry
from stackctl.database.plan import TablePlan
from stackctl.units import format_seconds


class Progress:
    """The table that is under way, its rows, and the time that the rest will take."""

    def __init__(self, tables: Mapping[str, TablePlan]) -> None:
        self._tables = tables
        self._line = ""
        self._began = time.monotonic()
        self._first = 0

    def begin(self, table: str) -> None:
        """The rows of a table are brought over from now on."""
        self._began, self._first = time.monotonic(), self._tables[table].done
        self._line = f"{table}: reading"

    def see(self, entry: Entry) -> None:
        """Rows were committed."""
        rows, took = self._tables[entry.table].rows, time.monotonic() - self._began
        moved = entry.done.rows - self._first
        left = max(rows - entry.done.rows, 0)
        rest = f", {format_seconds(left * took / moved)} left" if moved and left else ""
        self._line = f"{entry.table}: {entry.done.rows} of {rows} rows{rest}"

    def compare(self, table: str) -> None:
        """A table's ends are compared."""
        self._line = f"{table}: comparing both ends"

    def lines(self) -> Sequence[str]:
        """What to show."""
        return [self._line] if self._line else []
