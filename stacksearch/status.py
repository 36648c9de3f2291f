"""How the crawl stands, and whether the services behind the app answer."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from stacksearch import documents, gear, schema, urlqueue
from stacksearch.cache import Cache
from stacksearch.config import Config
from stacksearch.database import Database, statement
from stacksearch.errors import StacksearchError
from stacksearch.index import Index

RATE_WINDOW = 60
"""Seconds over which pages a second are counted."""

_COUNTS = statement("SELECT state, COUNT(*) FROM url GROUP BY state")
_RECENT = statement("""
    SELECT COUNT(*), MIN(moment), UNIX_TIMESTAMP() FROM url WHERE state = 'done' AND moment > UNIX_TIMESTAMP() - %s
""")
_ENDED = statement("SELECT id, address, reason, moment FROM url WHERE state = %s ORDER BY moment DESC LIMIT %s")


@dataclass(frozen=True)
class Ended:
    """A URL that came to its end a short while ago."""

    id: int
    url: str
    reason: str
    moment: int


@dataclass(frozen=True)
class Status:
    """Counts of URLs by state, of documents, and pages a second over the last minute."""

    queue: dict[str, int]
    documents: int
    pages_per_second: float
    failures: tuple[Ended, ...] = field(default=())

    @property
    def open(self) -> int:
        """URLs that have not come to their end."""
        return sum(self.queue[state] for state in urlqueue.OPEN)

    def to_json(self) -> dict[str, Any]:
        """Plain data for the API."""
        return {**asdict(self), "failures": [asdict(each) for each in self.failures], "open": self.open}


def read(database: Database, failures: int = 20) -> Status:
    """How the crawl stands now, with the latest failures."""
    counts = dict.fromkeys(urlqueue.STATES, 0)
    counts.update({str(state): int(count) for state, count in database.read(_COUNTS)})
    recent, first, now = database.read(_RECENT, (RATE_WINDOW,))[0]
    seconds = min(max(now - first, 1), RATE_WINDOW) if recent else 1
    ended = tuple(Ended(*row) for row in database.read(_ENDED, ("failed", failures))) if failures else ()
    return Status(counts, documents.count(database), round(recent / seconds, 2), ended)


@dataclass(frozen=True)
class Check:
    """One service, looked at."""

    name: str
    good: bool
    said: str
    milliseconds: float


def check(config: Config, database: Database, cache: Cache, index: Index) -> list[Check]:
    """Look at every service behind the app, and whether workers are there."""

    def tables() -> str:
        found = schema.version(database)
        if found != schema.LATEST:
            raise StacksearchError(f"{database}: the schema is version {found}, not {schema.LATEST}; run migrate")
        return f"{database}: schema {found}"

    def workers() -> str:
        able = dict.fromkeys((gear.FETCH, gear.DOCUMENT, gear.SEARCH), 0)
        for server in config.queue.servers:
            for name, (_, _, count) in gear.functions(server).items():
                function = name.removeprefix(f"{config.queue.prefix}_")
                if function in able and name != function:
                    able[function] += count
        if missing := [name for name, count in able.items() if not count]:
            raise StacksearchError(f"gearmand answers, but no worker serves {', '.join(missing)}")
        return ", ".join(f"{count} {name}" for name, count in able.items())

    def searchd() -> str:
        return f"{index}: {index.status()['indexed_documents']} documents"

    looks = {"database": tables, "queue": workers, "cache": cache.check, "index": searchd}
    return [_look(name, look) for name, look in looks.items()]


def _look(name: str, look: Callable[[], str]) -> Check:
    began = time.perf_counter()
    try:
        good, said = True, look()
    except StacksearchError as failure:
        good, said = False, failure.message
    except Exception as failure:  # a client library's own error; a check reports whatever it meets
        good, said = False, f"{type(failure).__name__}: {failure}"
    return Check(name, good, said, round((time.perf_counter() - began) * 1000, 1))
