"""Real services and a site to crawl, shared by the tests of this folder."""

import contextlib
import io
import itertools
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hostile_site import Site

from stackctl import cli
from stacksearch import config, schema
from stacksearch.config import Config
from stacksearch.crawl import Crawler
from stacksearch.harvest import Harvest
from stacksearch.service import Parts
from stacksearch.stop import Stop
from stacksearch.submission import submit
from stacksearch.urls import Rules
from tests import mariadb
from tests.conftest import seed_of
from tests.lib.waiting import wait_for
from tests.mariadb import Mariadb
from tests.stack import Process, Stack, free_port, missing_programs

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


@pytest.fixture(scope="session")
def mariadbs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mariadb, Mariadb]]:
    """Two plain MariaDB servers on free ports of loopback."""
    if missing := mariadb.missing_programs():
        pytest.skip(f"this host lacks {', '.join(missing)}")
    with mariadb.pair(tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")) as servers:
        yield servers


class TwoEnds:
    """A database at one server that is moved to another server, and the command that does it."""

    def __init__(self, source: Mariadb, target: Mariadb, folder: Path) -> None:
        self.source, self.target = source, target
        self.folder = folder
        self.name = f"base{next(_numbers)}"
        source.give(self.name)
        target.give(self.name, make=False)
        self.to = "mariadb"
        self.file = self.describe()

    def describe(self, **overrides: dict[str, Any]) -> Path:
        """The file with both ends; ``overrides`` are laid over it."""
        ends = {
            end: {
                "engine": "mariadb", "host": "127.0.0.1", "port": server.port, "user": mariadb.ACCOUNT,
                "password": mariadb.PASSWORD, "database": self.name, **overrides.get(end, {}),
            }
            for end, server in (("source", self.source), ("target", self.target))
        }  # fmt: skip
        file = self.folder / "ends.yml"
        file.touch(0o600)
        file.write_text(yaml.safe_dump(ends, allow_unicode=True))
        return file

    def words(self, *more: str) -> list[str]:
        """The words of the command."""
        return ["db", "move", "--endpoints", str(self.file), "--to", self.to, *more]

    def move(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end, in this process: a new one takes longer to start than most moves."""
        words = self.words(*more)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
            cli.main(words)
        return subprocess.CompletedProcess(words, int(ended.value.code or 0), out.getvalue(), err.getvalue())

    def killed_at(self, place: str) -> None:
        """Run the command, which kills itself by SIGKILL at a place (``commit`` 1, 2 …; ``compare``)."""
        process = self._beside(place, signal.SIGKILL)
        assert process.wait(mariadb.PATIENCE) == -signal.SIGKILL, process.log.read_text()

    @contextlib.contextmanager
    def stopped_at(self, place: str) -> Iterator[Process]:
        """The command, which stands still at a place as long as the block runs, and goes on after it."""
        process = self._beside(place, signal.SIGSTOP)
        try:
            wait_for(lambda: _is_stopped(process), f"the move at {place}", timeout=mariadb.PATIENCE)
            yield process
        finally:
            process.send(signal.SIGCONT)

    def _beside(self, place: str, number: int) -> Process:
        argv = [sys.executable, "-c", _AT_A_PLACE, place, str(int(number)), *self.words("--yes")]
        return Process(argv, self.folder / f"move{next(_numbers)}.log").start()

    def make(self, *statements: str) -> None:
        """Run statements at the source."""
        self.source.run(*statements, database=self.name)

    def here(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows of the source."""
        return self.source.ask(statement, self.name)

    def there(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows of the target."""
        return self.target.ask(statement, self.name)

    def journal(self) -> dict[str, tuple[str, int]]:
        """The state and the rows of each table, as the journal at the target has them; nothing without one."""
        if "stackctl_move" not in self.target.tables(self.name):
            return {}
        rows = self.there("SELECT table_name, state, row_count FROM stackctl_move WHERE table_name <> ''")
        return {row[0]: (row[1], row[2]) for row in rows}


_AT_A_PLACE = """
import os, sys
from stackctl import cli
from stackctl.database.progress import Progress

place, number = sys.argv[1], int(sys.argv[2])
commits = 0

def see(self, entry):
    global commits
    commits += 1
    if place == f"commit {commits}":
        os.kill(os.getpid(), number)

def compare(self, table):
    global place
    if place == "compare":
        place = "passed"
        os.kill(os.getpid(), number)

Progress.see, Progress.compare = see, compare
cli.main(sys.argv[3:])
"""
"""The command, which sends itself a signal at a place."""


def _is_stopped(process: Process) -> bool:
    assert process.alive(), process.log.read_text(errors="replace")
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.fixture
def sample_seed(pytestconfig: pytest.Config) -> int:
    """The seed of this run, which the top of the output tells."""
    return seed_of(pytestconfig)


@pytest.fixture
def two_ends(mariadbs: tuple[Mariadb, Mariadb], tmp_path: Path) -> TwoEnds:
    """A database of its own for one test, and the command that moves it."""
    for server in mariadbs:
        if server.process is None or not server.process.alive():  # an earlier test has killed it
            server.start()
    return TwoEnds(*mariadbs, tmp_path)
