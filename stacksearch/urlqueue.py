"""The queue table: one row a URL, and the row is the truth.

    queued ─lease─► fetching ─fetched─► fetched ─stored─► stored ─indexed─► done
       ▲               │ │                 │                                 │
       └──expired, retry┘ └──no page──► failed       (lost from the cache: queued again)

``moment`` is a Unix time by the database's clock: for ``queued`` not before it, for ``fetching`` the lease ends,
for ``fetched`` and ``stored`` the Document Worker is to be woken again, for ``done`` and ``failed`` it ended.
``depth`` is how many links further the crawl may go from here. ``generation`` counts the times the URL was asked for
anew; what is under way for an older generation is dropped.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from stacksearch.database import Database, Row, Transaction, Wake, statement
from stacksearch.urls import digest

OPEN = ("queued", "fetching", "fetched", "stored")
STATES = (*OPEN, "done", "failed")
REASON_LENGTH = 250

_COLUMNS = "(digest, address, state, moment, depth, seed, generation, attempts, lease, reason)"

_SUBMIT = statement(f"""
    INSERT INTO url {_COLUMNS} VALUES {{rows}}
    ON DUPLICATE KEY UPDATE
        generation = IF(state IN ('done', 'failed') OR (VALUES(depth) > depth AND state IN ('fetched', 'stored')),
            generation + 1, generation),
        attempts = IF(state IN ('done', 'failed') OR (VALUES(depth) > depth AND state IN ('fetched', 'stored')),
            0, attempts),
        moment = IF(state IN ('done', 'failed') OR (VALUES(depth) > depth AND state IN ('fetched', 'stored')),
            UNIX_TIMESTAMP(), moment),
        reason = IF(state IN ('done', 'failed') OR (VALUES(depth) > depth AND state IN ('fetched', 'stored')),
            '', reason),
        state = IF(state IN ('done', 'failed') OR (VALUES(depth) > depth AND state IN ('fetched', 'stored')),
            'queued', state),
        depth = GREATEST(depth, VALUES(depth)),
        seed = 1
""")  # noqa: S608
_LINK = statement(f"""
    INSERT INTO url {_COLUMNS} VALUES {{rows}}
    ON DUPLICATE KEY UPDATE
        generation = IF(VALUES(depth) > depth AND state IN ('fetched', 'stored', 'done'), generation + 1, generation),
        attempts = IF(VALUES(depth) > depth AND state IN ('fetched', 'stored', 'done'), 0, attempts),
        moment = IF(VALUES(depth) > depth AND state IN ('fetched', 'stored', 'done'), UNIX_TIMESTAMP(), moment),
        state = IF(VALUES(depth) > depth AND state IN ('fetched', 'stored', 'done'), 'queued', state),
        depth = GREATEST(depth, VALUES(depth))
""")  # noqa: S608
_NOW = statement("SELECT UNIX_TIMESTAMP()")
_BY_DIGEST = statement(
    "SELECT id, digest, address, state, moment, depth, seed, generation, attempts, document, reason FROM url"
    " WHERE digest IN ({rows})"
)
_BY_ID = statement(
    "SELECT id, digest, address, state, moment, depth, seed, generation, attempts, document, reason FROM url"
    " WHERE id = %s"
)
_LEASE = statement("""
    UPDATE url SET state = 'fetching', lease = %s, moment = UNIX_TIMESTAMP() + %s, attempts = attempts + 1
    WHERE state = 'queued' AND moment <= UNIX_TIMESTAMP() ORDER BY moment, id LIMIT %s
""")
_LEASED = statement(
    "SELECT id, address, depth, seed, generation, attempts FROM url"
    " WHERE state = 'fetching' AND lease = %s ORDER BY moment, id"
)
_LOCK = statement("SELECT id, state, lease, depth FROM url WHERE id IN ({rows}) FOR UPDATE")
_EXTEND = statement("UPDATE url SET moment = UNIX_TIMESTAMP() + %s WHERE id IN ({rows})")
_GIVE_BACK = statement("""
    UPDATE url SET state = 'queued', lease = '', moment = UNIX_TIMESTAMP() + %s, attempts = attempts - 1
    WHERE id IN ({rows})
""")
_FETCHED = statement(
    "UPDATE url SET state = 'fetched', lease = '', reason = '', moment = UNIX_TIMESTAMP() + %s WHERE id IN ({rows})"
)
_RETRY = statement(
    "UPDATE url SET state = 'queued', lease = '', moment = UNIX_TIMESTAMP() + %s, reason = %s WHERE id = %s"
)
_FAIL = statement(
    "UPDATE url SET state = 'failed', lease = '', moment = UNIX_TIMESTAMP(), reason = %s WHERE id IN ({rows})"
)
_COUNT = statement("SELECT COUNT(*) FROM url")


@dataclass(frozen=True)
class Url:
    """A row as people see it."""

    id: int
    address: str
    state: str
    moment: int
    depth: int
    seed: bool
    generation: int
    attempts: int
    document: int | None
    reason: str


@dataclass(frozen=True)
class Lease:
    """A URL that a worker holds."""

    id: int
    address: str
    depth: int
    seed: bool
    generation: int
    attempts: int
    token: str


def submit(database: Database, addresses: Sequence[str], depth: int, wake: Wake | None = None) -> list[Url]:
    """Put normal URLs into the queue, each once; one that has ended is fetched anew. In the order given.

    With ``wake`` the server submits that job with the last row: whoever it wakes then waits for the row's lock.
    """
    digests = [digest(address) for address in addresses]
    rows = sorted(dict(zip(digests, addresses, strict=True)).items())

    def work(tx: Transaction) -> dict[str, Url]:
        now = tx.read(_NOW)[0][0]
        leases = ["" for _ in rows[:-1]] + [wake or ""]
        tx.write(
            _SUBMIT,
            rows=[
                (key, text, "queued", now, depth, 1, 0, 0, lease, "")
                for (key, text), lease in zip(rows, leases, strict=True)
            ],
        )
        return {row[1]: _url(row) for row in tx.read(_BY_DIGEST, rows=[key for key, _ in rows])}

    found = database.transaction(work)
    return [found[key] for key in dict.fromkeys(digests)]


def add_links(tx: Transaction, links: Mapping[str, int]) -> None:
    """Put links (URL to depth) into the queue; one known at a lesser depth that was fetched is fetched anew."""
    rows = sorted((digest(address), address, depth) for address, depth in links.items())
    now = tx.read(_NOW)[0][0]
    tx.write(_LINK, rows=[(key, text, "queued", now, depth, 0, 0, 0, "", "") for key, text, depth in rows])


def lease(database: Database, count: int, seconds: int) -> list[Lease]:
    """Take up to ``count`` URLs that are due, for so many seconds."""
    token = secrets.token_hex(16)

    def work(tx: Transaction) -> list[Row]:
        return tx.read(_LEASED, (token,)) if tx.write(_LEASE, (token, seconds, count)) else []

    return [
        Lease(number, address, depth, bool(seed), generation, attempts, token)
        for number, address, depth, seed, generation, attempts in database.transaction(work)
    ]


def hold(tx: Transaction, leases: Collection[Lease]) -> dict[int, int]:
    """Lock the rows of those leases that are still held; gives each row's depth as it is now.

    Rows are locked by their ids alone, so that no index is scanned under locks; what follows updates them by id.
    """
    tokens = {held.id: held.token for held in leases}
    if not tokens:
        return {}
    return {
        number: depth
        for number, state, token, depth in tx.read(_LOCK, rows=sorted(tokens))
        if state == "fetching" and token == tokens[number]
    }


def extend(database: Database, leases: Collection[Lease], seconds: int) -> None:
    """Hold the leases for so many seconds from now."""

    def work(tx: Transaction) -> None:
        if numbers := hold(tx, leases):
            tx.write(_EXTEND, (seconds,), numbers)

    database.transaction(work)


def give_back(database: Database, leases: Collection[Lease], delay: float = 0) -> None:
    """Return URLs that were not begun; the attempt does not count."""

    def work(tx: Transaction) -> None:
        if numbers := hold(tx, leases):
            tx.write(_GIVE_BACK, (round(delay),), numbers)

    database.transaction(work)


def mark_fetched(tx: Transaction, numbers: Collection[int], patience: int) -> None:
    """Say that the pages of held rows are in the cache; after ``patience`` seconds they are announced again."""
    tx.write(_FETCHED, (patience,), numbers)


def retry(tx: Transaction, number: int, delay: float, reason: str) -> None:
    """Queue a held row again, to be taken in ``delay`` seconds."""
    tx.write(_RETRY, (round(delay), reason[:REASON_LENGTH], number))


def fail(tx: Transaction, numbers: Collection[int], reason: str) -> None:
    """End held rows without a page."""
    tx.write(_FAIL, (reason[:REASON_LENGTH],), numbers)


def find(database: Database, address: str) -> Url | None:
    """The row of a normal URL."""
    rows = database.read(_BY_DIGEST, rows=[digest(address)])
    return _url(rows[0]) if rows else None


def get(database: Database, number: int) -> Url | None:
    """The row with this id."""
    rows = database.read(_BY_ID, (number,))
    return _url(rows[0]) if rows else None


def count(database: Database) -> int:
    """How many URLs there are, in whatever state."""
    return int(database.read(_COUNT)[0][0])


def _url(row: Row) -> Url:
    number, _, address, state, moment, depth, seed, generation, attempts, document, reason = row
    return Url(number, address, state, moment, depth, bool(seed), generation, attempts, document, reason)
