"""The Fetch Worker's work: leases URLs, fetches many at once and hands them on in batches.

What touches the database, the cache or Gearman is done in a thread, one thing at a time, while fetches go on.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence

from stacksearch import urlqueue
from stacksearch.config import Config, FetchConfig
from stacksearch.database import Database
from stacksearch.fetcher import Failure, Fetcher
from stacksearch.harvest import Harvest, Result, Tally
from stacksearch.schedule import Manners, Schedule
from stacksearch.stop import Stop
from stacksearch.urlqueue import Lease
from stacksearch.urls import Rules, host_of

log = logging.getLogger(__name__)

_FLUSH_AFTER = 1.0
_GRACE = 10.0


class Crawler:
    """Empties the queue when woken. One event loop and one session of fetches for the life of the process."""

    def __init__(self, config: Config, rules: Rules, database: Database, harvest: Harvest, stop: Stop) -> None:
        self._config = config
        self._rules = rules
        self._database = database
        self._harvest = harvest
        self._stop = stop
        self._runner = asyncio.Runner()
        self._fetcher: Fetcher | None = None

    def drain(self) -> Tally:
        """Fetch until nothing is due; leases are given back when the process is told to stop."""
        return self._runner.run(self._drain())

    def close(self) -> None:
        """End the session."""
        if self._fetcher is not None:
            self._runner.run(self._fetcher.__aexit__(None, None, None))
        self._runner.close()

    async def _drain(self) -> Tally:
        if self._fetcher is None:
            self._fetcher = await Fetcher(self._config.fetch, self._rules).__aenter__()
        self._harvest.begin()
        drain = _Drain(self._config.fetch, self._fetcher, self._database, self._harvest, self._stop)
        try:
            await drain.go()
        finally:
            await drain.end()
        return self._harvest.tally


class _Drain:
    """What is waiting, what is under way, what has come back."""

    def __init__(
        self, config: FetchConfig, fetcher: Fetcher, database: Database, harvest: Harvest, stop: Stop
    ) -> None:
        self._config = config
        self._fetcher = fetcher
        self._database = database
        self._harvest = harvest
        self._stop = stop
        self._schedule: Schedule[Lease] = Schedule()
        self._held: dict[int, Lease] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._results: list[Result] = []
        self._changed = asyncio.Event()
        self._extended = self._flushed = time.monotonic()
        self._exhausted = self._ending = False

    async def go(self) -> None:
        """Lease, fetch and hand on until there is nothing more, or the process is to stop."""
        while not self._stop.is_set():
            now = time.monotonic()
            if self._hungry(self._config.batch):
                leases = await asyncio.to_thread(
                    urlqueue.lease, self._database, self._config.batch, self._config.lease
                )
                self._exhausted = not leases
                await self._add(leases)
            self._dispatch()
            if self._due(now):
                await self._flush()
                self._exhausted = False
                continue
            if self._exhausted and not self._held:
                return
            if now - self._extended > self._config.lease / 3:
                self._extended = now
                held = list(self._held.values())
                await asyncio.to_thread(urlqueue.extend, self._database, held, self._config.lease)
            await self._pause(now)

    async def end(self) -> None:
        """Let what is under way come to its end for a while, hand it on, and give the rest back."""
        self._ending = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_GRACE)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._results:
            await self._flush()
        if self._held:
            log.info("giving back %d URLs", len(self._held))
            await asyncio.to_thread(urlqueue.give_back, self._database, list(self._held.values()))

    def _hungry(self, level: int) -> bool:
        """Whether more URLs are to be leased."""
        return not self._exhausted and self._schedule.waiting + self._schedule.active < level

    def _due(self, now: float) -> bool:
        """Whether results are to be handed on: a batch is full, nothing else is under way, or it has been a while."""
        if not self._results:
            return False
        return (
            len(self._results) >= self._config.batch
            or not self._schedule.active
            or now - self._flushed > _FLUSH_AFTER
        )

    async def _add(self, leases: Sequence[Lease]) -> None:
        hosts = sorted({host_of(lease.address) for lease in leases})
        own = dict(zip(hosts, await asyncio.gather(*map(self._fetcher.is_own, hosts)), strict=True))
        config = self._config
        ours, others = Manners(config.concurrency, 0.0), Manners(config.host_connections, config.host_delay)
        for lease in leases:
            host = host_of(lease.address)
            self._held[lease.id] = lease
            self._schedule.add(host, lease, ours if own[host] else others)
        patience = config.lease / 2
        if late := list(self._schedule.drop(time.monotonic(), patience)):
            for lease in late:
                del self._held[lease.id]
            await asyncio.to_thread(urlqueue.give_back, self._database, late, patience)

    def _dispatch(self) -> None:
        while self._schedule.active < self._config.concurrency and not (self._ending or self._stop.is_set()):
            taken = self._schedule.take(time.monotonic())
            if taken is None:
                return
            task = asyncio.create_task(self._fetch(*taken))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _fetch(self, host: str, lease: Lease) -> None:
        try:
            result = await self._fetcher.fetch(lease.address, seed=lease.seed)
        except Exception:
            log.exception("%s", lease.address)
            result = Failure("an error of the fetcher; see its journal", passing=True)
        finally:
            self._schedule.done(host)
        self._results.append((lease, result))
        self._dispatch()
        batch = self._config.batch
        if len(self._results) >= batch or not self._schedule.active or self._hungry(batch // 2):
            self._changed.set()

    async def _flush(self) -> None:
        results, self._results = self._results, []
        self._flushed = time.monotonic()
        await asyncio.to_thread(self._harvest.bring, results)
        for lease, _ in results:
            self._held.pop(lease.id, None)

    async def _pause(self, now: float) -> None:
        """Until a batch has come back, a host may be asked again, or a little while has gone by."""
        wait = self._schedule.wait(now) if self._schedule.active < self._config.concurrency else None
        limit = _FLUSH_AFTER if wait is None else min(max(wait, 0.005), _FLUSH_AFTER)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._changed.wait()
        self._changed.clear()
