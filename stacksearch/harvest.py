"""What is done with fetched pages, a batch at a time: pages go on by way of the cache, links into the queue."""

import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stacksearch import urlqueue
from stacksearch.cache import Cache
from stacksearch.config import Config
from stacksearch.database import Database, Transaction
from stacksearch.documents import Key
from stacksearch.errors import UnavailableError
from stacksearch.fetcher import Failure, Fetched
from stacksearch.gear import DOCUMENT, FETCH, Client
from stacksearch.indexing import Indexing
from stacksearch.page import Page
from stacksearch.urlqueue import Lease
from stacksearch.urls import Rules, host_of

log = logging.getLogger(__name__)

_SEEN_LIMIT = 300_000
_NEVER = 1 << 30
"""A depth that no link exceeds: marks links that the filters refuse."""
_COUNT_EVERY = 30.0

Result = tuple[Lease, Fetched | Failure]


@dataclass
class Tally:
    """What the pages of a drain came to."""

    fetched: int = 0
    failed: int = 0
    retried: int = 0


class Harvest:
    """Puts results where they belong and wakes who goes on with them."""

    def __init__(
        self, config: Config, rules: Rules, database: Database, cache: Cache, client: Client, indexing: Indexing
    ) -> None:
        self._config = config
        self._rules = rules
        self._database = database
        self._cache = cache
        self._client = client
        self._indexing = indexing
        self._seen: dict[str, int] = {}
        self._counted = (float("-inf"), 0)
        self.tally = Tally()

    def begin(self) -> None:
        """Forget which links are in the queue: rows may have gone since."""
        self._seen.clear()
        self.tally = Tally()

    def bring(self, results: Sequence[Result]) -> None:
        """Hand on a batch.

        The pages are in the cache before their rows say so; a kill at any point leaves rows that the sweeper finds.
        A page that was lost once, or that the cache does not take, is stored here and now.
        """
        pages: dict[Key, Page] = {}
        direct: dict[Key, Page] = {}
        for lease, result in results:
            if isinstance(result, Fetched) and result.page.indexable:
                (direct if lease.attempts > 1 else pages)[lease.id, lease.generation] = result.page
        for key in self._cache.put_pages(pages):
            direct[key] = pages.pop(key)
        room = self._room()

        def work(tx: Transaction) -> tuple[set[int], dict[str, int]]:
            depths = urlqueue.hold(tx, [lease for lease, _ in results])
            links = self._links(results, depths) if room else {}
            if links:
                urlqueue.add_links(tx, links)
            fetched = {number for number, _ in (*pages, *direct) if number in depths}
            if fetched:
                urlqueue.mark_fetched(tx, sorted(fetched), self._config.sweep.patience)
            for lease, result in results:
                if lease.id in depths:
                    self._end(tx, lease, result)
            return fetched, links

        fetched, links = self._database.transaction(work)
        if len(self._seen) > _SEEN_LIMIT:
            self._seen.clear()
        self._seen.update(links)
        self._count(results)
        if keys := sorted(key for key in pages if key[0] in fetched):
            self._client.wake(DOCUMENT, f"{keys[0][0]}-{keys[0][1]}-{secrets.token_hex(4)}", {"pages": keys})
        if links:
            self._client.wake(FETCH, f"links-{secrets.token_hex(8)}")
        self._store({key: page for key, page in direct.items() if key[0] in fetched})

    def _links(self, results: Sequence[Result], depths: Mapping[int, int]) -> dict[str, int]:
        """The links that are not known to be in the queue, with the depth that is left for each."""
        seen, same_host = self._seen, self._config.crawl.same_host
        links: dict[str, int] = {}
        for lease, result in results:
            depth = depths.get(lease.id, 0) - 1
            if depth < 0 or not isinstance(result, Fetched):
                continue
            host = host_of(result.address)
            prefixes = (f"http://{host}/", f"https://{host}/")
            for link in result.page.links:
                if (same_host and not link.startswith(prefixes)) or seen.get(link, -1) >= depth:
                    continue
                if self._rules.refusal(link) is not None:
                    seen[link] = _NEVER
                elif links.get(link, -1) < depth:
                    links[link] = depth
        return links

    def _room(self) -> bool:
        now = time.monotonic()
        if self._counted[0] + _COUNT_EVERY < now:
            self._counted = now, urlqueue.count(self._database)
            if self._counted[1] >= self._config.crawl.queue_limit:
                log.warning("the queue holds %d URLs, which is its limit; links are not followed", self._counted[1])
        return self._counted[1] < self._config.crawl.queue_limit

    def _end(self, tx: Transaction, lease: Lease, result: Fetched | Failure) -> None:
        if isinstance(result, Fetched):
            if not result.page.indexable:
                urlqueue.fail(tx, [lease.id], "the page asks not to be indexed")
        elif self._again(lease, result):
            delay = self._config.fetch.retry_delay * 2 ** (lease.attempts - 1)
            urlqueue.retry(tx, lease.id, delay if result.after is None else max(result.after, 1.0), result.reason)
        else:
            urlqueue.fail(tx, [lease.id], result.reason)

    def _again(self, lease: Lease, failure: Failure) -> bool:
        return failure.passing and lease.attempts < self._config.fetch.attempts

    def _count(self, results: Sequence[Result]) -> None:
        for lease, result in results:
            if isinstance(result, Fetched):
                self.tally.fetched += 1
                continue
            log.info("%s: %s", lease.address, result.reason)
            if self._again(lease, result):
                self.tally.retried += 1
            else:
                self.tally.failed += 1

    def _store(self, pages: Mapping[Key, Page]) -> None:
        try:
            self._indexing.take(pages)
        except UnavailableError as failure:
            log.warning("%s; the sweeper will see to %d pages", failure.message, len(pages))
