"""Compares the index with the database and mends it; makes it anew on request."""

import logging
import time
from collections.abc import Callable, Iterator

from stacksearch.database import Database, statement
from stacksearch.index import MAX_MATCHES, Index
from stacksearch.indexing import Indexing

log = logging.getLogger(__name__)

_BATCH = 64

_HIGHEST = statement("SELECT COALESCE(MAX(id), 0) FROM document")
_BETWEEN = statement("SELECT id, indexed FROM document WHERE id BETWEEN %s AND %s ORDER BY id")


class Audit:
    """The index ought to hold the documents of the database, no less and no more."""

    def __init__(self, database: Database, index: Index, indexing: Indexing, interval: float) -> None:
        self._database = database
        self._index = index
        self._indexing = indexing
        self._interval = interval
        self._audited = float("-inf")
        self._uptime: int | None = None

    def is_due(self) -> bool:
        """Whether searchd has started anew (it may have lost its last second), or the last audit is long ago."""
        uptime = int(self._index.status()["uptime"])
        restarted = self._uptime is None or uptime < self._uptime
        self._uptime = uptime
        return restarted or self._audited + self._interval < time.monotonic()

    def run(self) -> tuple[int, int]:
        """Index what the index lacks and drop what the database does not know; gives both counts."""
        self._audited = time.monotonic()
        indexed = dropped = 0
        for theirs, ours in self._windows():
            lacking = sorted(number for number, done in ours.items() if done and number not in theirs)
            for start in range(0, len(lacking), _BATCH):
                indexed += self._indexing.again(lacking[start : start + _BATCH])
            strange = theirs - ours.keys()
            self._index.delete(strange)
            dropped += len(strange)
        return indexed, dropped

    def rebuild(self, progress: Callable[[int], None] = lambda count: None) -> tuple[int, int]:
        """Index every document again and drop what the database does not know; searches go on meanwhile."""
        indexed = dropped = 0
        for theirs, ours in self._windows():
            numbers = sorted(ours)
            for start in range(0, len(numbers), _BATCH):
                indexed += self._indexing.again(numbers[start : start + _BATCH])
                progress(indexed)
            strange = theirs - ours.keys()
            self._index.delete(strange)
            dropped += len(strange)
        return indexed, dropped

    def _windows(self) -> Iterator[tuple[set[int], dict[int, bool]]]:
        """What index and database hold, window by window of ids.

        The index is read first: what it holds was in the database before, so what the database then lacks is gone.
        """
        highest = max(self._index.highest(), int(self._database.read(_HIGHEST)[0][0]))
        for first in range(1, highest + 1, MAX_MATCHES):
            last = first + MAX_MATCHES - 1
            theirs = self._index.ids(first, last)
            yield theirs, {number: bool(done) for number, done in self._database.read(_BETWEEN, (first, last))}
