"""Real services and a site to crawl, shared by the tests of this folder."""

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_site import Site

from stacksearch import config, schema
from stacksearch.config import Config
from stacksearch.crawl import Crawler
from stacksearch.harvest import Harvest
from stacksearch.service import Parts
from stacksearch.stop import Stop
from stacksearch.submission import submit
from stacksearch.urls import Rules
from tests.lib.waiting import wait_for
from tests.stack import Stack, free_port, missing_programs

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """MariaDB, gearmand, memcached and searchd on free ports of loopback."""
    if missing := missing_programs():
        pytest.skip(f"this host lacks {', '.join(missing)}")
    stack = Stack(tmp_path_factory.mktemp("services"))
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()


@pytest.fixture(scope="session")
def running_site() -> Iterator[Site]:
    site = Site().start()
    yield site
    site.stop()


@pytest.fixture
def site(running_site: Site) -> Site:
    """A site on loopback without any page yet."""
    running_site.reset()
    return running_site


class App:
    """The search app on tables, an index and a queue of its own."""

    def __init__(self, stack: Stack, site: Site) -> None:
        self.stack = stack
        self.site = site
        self.settings: Path
        self.config: Config
        self.parts: Parts
        self.configure()

    def configure(self, **sections: dict[str, Any]) -> None:
        """Lay settings over those that suit tests: quick sweeps, quick retries."""
        given: dict[str, dict[str, Any]] = {
            "fetch": {"allow": [self.site.host], "timeout": 5, "retry_delay": 0.2, "attempts": 3, "lease": 5},
            "sweep": {"interval": 0.3, "patience": 2, "audit_interval": 3},
        }
        for name, section in sections.items():
            given[name] = {**given.get(name, {}), **section}
        self.settings = self.stack.write_settings(**given)
        self.config = config.load(self.settings)
        self.parts = Parts.of(self.config)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a SELECT in the app's database."""

        def work(cursor: Any) -> None:
            cursor.execute(f"USE {self.stack.database_name}")
            cursor.execute(sql)

        found = self.stack.root(work)
        return [] if found is True else list(found)

    def states(self) -> dict[str, int]:
        """URLs by state."""
        return dict(self.rows("SELECT state, COUNT(*) FROM url GROUP BY state"))

    def indexed(self) -> set[int]:
        """The ids in the index."""
        return {int(row[0]) for row in self.stack.sphinx("SELECT id FROM documents LIMIT 1000")}

    def crawl_here(self, *urls: str) -> dict[str, int]:
        """A whole crawl in this process: without a cache, each page is stored and indexed by who fetches it."""
        nowhere = {"servers": [{"host": "127.0.0.1", "port": free_port()}]}
        alone = App(self.stack, self.site)
        alone.configure(cache=nowhere, queue=nowhere)
        parts, rules = alone.parts, Rules(alone.config.crawl)
        submit(alone.config, parts.database, parts.client, urls)
        harvest = Harvest(alone.config, rules, parts.database, parts.cache, parts.client, parts.indexing)
        crawler = Crawler(alone.config, rules, parts.database, harvest, Stop())
        crawler.drain()
        crawler.close()
        parts.close()
        self.configure()
        return self.states()

    def wait_ended(self, timeout: float = 120.0) -> dict[str, int]:
        """Wait until every URL has come to its end; gives the counts by state."""

        def ended() -> bool:
            states = self.states()
            return bool(states) and set(states) <= {"done", "failed"}

        wait_for(ended, "the crawl", timeout=timeout)
        return self.states()


@contextlib.contextmanager
def fresh_app(services: Stack, site: Site) -> Iterator[App]:
    """The app, its tables made; no process of it runs yet."""
    for name, process in services.services.items():
        if not process.alive():  # an earlier test has killed it
            services.start_service(name)
    services.clean(f"app{next(_numbers)}")
    made = App(services, site)
    schema.migrate(made.parts.database)
    try:
        yield made
    finally:
        made.parts.close()


@pytest.fixture
def app(services: Stack, site: Site) -> Iterator[App]:
    """The app for one test."""
    with fresh_app(services, site) as made:
        yield made
