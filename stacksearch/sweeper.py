"""The Sweeper: finds what was lost (leases of the dead, wakes, documents the index lacks) and sets it going again.

Any number of sweepers may run: whatever one does is harmless when it is done twice.
"""

import functools
import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stacksearch.cache import Cache
from stacksearch.config import Config
from stacksearch.database import Database, Row, Transaction, statement
from stacksearch.documents import delete_orphan
from stacksearch.gear import DOCUMENT, FETCH, Client
from stacksearch.index import Index

log = logging.getLogger(__name__)

_BATCH = 500
_WAKES = 4
"""Fetch Workers that are woken at most in a round; each wakes others when it finds links."""
_CRASHES = 3
"""A URL whose workers died so many times its attempts has failed."""

_OVERDUE = statement("""
    SELECT id FROM url WHERE state = %s AND moment <= UNIX_TIMESTAMP() ORDER BY moment, id LIMIT %s
""")
_LOCK = statement("""
    SELECT id, state, moment <= UNIX_TIMESTAMP(), attempts, generation, document FROM url
    WHERE id IN ({rows}) ORDER BY id FOR UPDATE
""")
_REQUEUE = statement("UPDATE url SET state = 'queued', lease = '', moment = UNIX_TIMESTAMP() WHERE id IN ({rows})")
_GIVE_UP = statement(
    "UPDATE url SET state = 'failed', lease = '', moment = UNIX_TIMESTAMP(), reason = %s WHERE id IN ({rows})"
)
_POSTPONE = statement("UPDATE url SET moment = UNIX_TIMESTAMP() + %s WHERE id IN ({rows})")
_ORPHANS = statement("""
    SELECT document.id FROM document LEFT JOIN url ON url.document = document.id
    WHERE document.id > %s AND url.id IS NULL ORDER BY document.id LIMIT %s
""")


@dataclass(frozen=True)
class Swept:
    """What a round came to."""

    requeued: int = 0
    given_up: int = 0
    announced: int = 0
    due: int = 0
    collected: int = 0

    def __bool__(self) -> bool:
        return any((self.requeued, self.given_up, self.announced, self.collected))


class Sweeper:
    """One sweeper; ``round`` is called again and again."""

    def __init__(self, config: Config, database: Database, cache: Cache, client: Client, index: Index) -> None:
        self._config = config
        self._database = database
        self._cache = cache
        self._client = client
        self._index = index
        self._collected = float("-inf")

    def round(self) -> Swept:
        """Look once for everything that was lost."""
        requeued, given_up = self._expired()
        batch = self._config.fetch.batch
        due = self._database.read(_OVERDUE, ("queued", batch * _WAKES))
        for number in range((len(due) + batch - 1) // batch):
            # While that job waits, the same unique is one job; while it runs, its worker looks into the table anyway.
            self._client.wake(FETCH, f"sweep-{number}")
        announced = self._announce("fetched") + self._announce("stored")
        return Swept(requeued, given_up, announced, len(due), self._collect())

    def _expired(self) -> tuple[int, int]:
        """Queue what dead workers held; give up what has taken too many with it."""
        limit = self._config.fetch.attempts * _CRASHES

        def work(tx: Transaction) -> tuple[int, int]:
            rows = self._lock(tx, "fetching")
            again = [number for number, _, _, attempts, _, _ in rows if attempts < limit]
            lost = [number for number, _, _, attempts, _, _ in rows if attempts >= limit]
            if again:
                tx.write(_REQUEUE, rows=again)
            if lost:
                tx.write(_GIVE_UP, (f"its worker ended without a word {limit} times",), lost)
            return len(again), len(lost)

        return self._database.transaction(work)

    def _announce(self, state: str) -> int:
        """Wake the Document Worker for rows in the state that have waited too long."""

        def work(tx: Transaction) -> list[Row]:
            rows: list[Row] = [
                (number, generation, document) for number, _, _, _, generation, document in self._lock(tx, state)
            ]
            if rows:
                tx.write(_POSTPONE, (self._config.sweep.patience,), [number for number, _, _ in rows])
            return rows

        rows = self._database.transaction(work)
        for batch in _batches(rows, self._config.fetch.batch):
            data: dict[str, object] = (
                {"pages": [(number, generation) for number, generation, _ in batch]}
                if state == "fetched"
                else {"documents": sorted({document for _, _, document in batch})}
            )
            self._client.wake(DOCUMENT, f"sweep-{batch[0][0]}-{batch[0][1]}-{secrets.token_hex(4)}", data)
        return len(rows)

    def _lock(self, tx: Transaction, state: str) -> list[Row]:
        """Overdue rows in the state, locked by their ids, as they are now."""
        numbers = [number for (number,) in tx.read(_OVERDUE, (state, _BATCH))]
        if not numbers:
            return []
        return [row for row in tx.read(_LOCK, rows=numbers) if row[1] == state and row[2]]

    def _collect(self) -> int:
        """Delete documents to which no URL points any more."""
        if self._collected + self._config.sweep.audit_interval / 6 > time.monotonic():
            return 0
        self._collected = time.monotonic()
        gone: list[int] = []
        after = 0
        while rows := self._database.read(_ORPHANS, (after, _BATCH)):
            for (number,) in rows:
                if self._database.transaction(functools.partial(delete_orphan, number)):
                    gone.append(number)
            after = rows[-1][0]
        if gone:
            self._cache.drop_sources(gone)
            self._index.delete(gone)
        return len(gone)


def _batches(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
