"""The processes that run as services: what they share, how they start, are told to stop and end."""

import gc
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from stacksearch import gear
from stacksearch.audit import Audit
from stacksearch.cache import Cache
from stacksearch.config import Config
from stacksearch.database import Database
from stacksearch.errors import StacksearchError
from stacksearch.gear import Client
from stacksearch.index import Index
from stacksearch.indexing import Indexing
from stacksearch.search import Question, Searcher
from stacksearch.stop import notify, stopping
from stacksearch.sweeper import Sweeper
from stacksearch.urls import Rules

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Parts:
    """The connections of a process; none is made before it is used."""

    config: Config
    database: Database
    cache: Cache
    index: Index
    client: Client
    indexing: Indexing

    @classmethod
    def of(cls, config: Config) -> "Parts":
        """The connections that a configuration describes."""
        database = Database(config.database)
        cache = Cache(config.cache, config.queue.prefix)
        index = Index(config.index)
        indexing = Indexing(config, database, cache, index)
        return cls(config, database, cache, index, Client(config.queue), indexing)

    def close(self) -> None:
        """Close all connections."""
        for part in (self.database, self.cache, self.index, self.client):
            part.close()


def set_up_logging(verbose: bool) -> None:
    """Log to stderr; with the priorities that the journal understands when it listens."""
    form = "%(name)s: %(message)s" if "JOURNAL_STREAM" in os.environ else "%(asctime)s %(name)s: %(message)s"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Priorities(form) if "JOURNAL_STREAM" in os.environ else logging.Formatter(form))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler], force=True)
    for name in ("gearman", "aiohttp.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _Priorities(logging.Formatter):
    _LEVELS = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6), (logging.NOTSET, 7))

    def format(self, record: logging.LogRecord) -> str:
        priority = next(number for level, number in self._LEVELS if record.levelno >= level)
        return "\n".join(f"<{priority}>{line}" for line in super().format(record).splitlines())


def _ready() -> None:
    notify("READY=1")


def run_fetch(config: Config) -> None:
    """A Fetch Worker: each wake empties the queue."""
    # the HTTP client is half of the start-up, and no other process needs it
    from stacksearch.crawl import Crawler
    from stacksearch.harvest import Harvest

    # Pages come and go without cycles; to look for some after every 700 objects takes a tenth of the time.
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    parts = Parts.of(config)
    rules = Rules(config.crawl)
    harvest = Harvest(config, rules, parts.database, parts.cache, parts.client, parts.indexing)
    with stopping() as stop:
        crawler = Crawler(config, rules, parts.database, harvest, stop)

        def drain(_: object = None) -> dict[str, int]:
            began = time.monotonic()
            tally = crawler.drain()
            seconds = time.monotonic() - began
            if tally.fetched or tally.failed or tally.retried:
                log.info(
                    "%d pages, %d failed, %d to be tried again, in %.1f s",
                    tally.fetched, tally.failed, tally.retried, seconds,
                )  # fmt: skip
                notify(f"STATUS={tally.fetched} pages in {seconds:.1f} s, then idle")
            return vars(tally)

        try:
            gear.serve(config.queue, gear.FETCH, drain, stop=stop, ready=_ready, meanwhile=_calm(drain))
        finally:
            crawler.close()
            parts.close()


def run_document(config: Config) -> None:
    """A Document Worker: stores and indexes what it is told of."""
    parts = Parts.of(config)

    def work(data: dict[str, list[list[int]]]) -> int:
        done = parts.indexing.announced([(number, generation) for number, generation in data.get("pages", ())])
        numbers = data.get("documents")
        return done + (parts.indexing.again([int(number) for number in numbers]) if numbers else 0)  # type: ignore[call-overload]

    with stopping() as stop:
        try:
            gear.serve(config.queue, gear.DOCUMENT, work, stop=stop, ready=_ready)
        finally:
            parts.close()


def run_search(config: Config) -> None:
    """A Search Worker: answers questions."""
    parts = Parts.of(config)
    searcher = Searcher(parts.database, parts.cache, parts.index)

    def work(data: dict[str, object]) -> dict[str, object]:
        try:
            return searcher.answer(Question(**data)).to_json()  # type: ignore[arg-type]
        except StacksearchError as failure:
            return {"error": failure.message, "hint": failure.hint}

    with stopping() as stop:
        try:
            gear.serve(config.queue, gear.SEARCH, work, stop=stop, ready=_ready)
        finally:
            parts.close()


def run_sweeper(config: Config, *, once: bool = False) -> None:
    """The Sweeper: a round every so often, and an audit of the index now and then."""
    parts = Parts.of(config)
    sweeper = Sweeper(config, parts.database, parts.cache, parts.client, parts.index)
    audit = Audit(parts.database, parts.index, parts.indexing, config.sweep.audit_interval)

    def round_of_work() -> None:
        if swept := sweeper.round():
            log.info("%s", swept)
        if audit.is_due():
            indexed, dropped = audit.run()
            if indexed or dropped:
                log.warning("the index lacked %d documents and held %d that are no more", indexed, dropped)

    with stopping() as stop:
        _ready()
        try:
            while not stop.is_set():
                _calm(round_of_work)()
                if once:
                    return
                stop.wait(config.sweep.interval)
        finally:
            parts.close()


def _calm(work: Callable[[], object]) -> Callable[[], None]:
    """The same work, for a loop that must go on: what it cannot reach is only logged."""

    def calm() -> None:
        try:
            work()
        except StacksearchError as failure:
            log.warning("%s", failure.message)

    return calm
