"""What is lost is found again: leases of the dead, pages in the cache, wakes, the index, every service in turn."""

import random
import shutil
import signal
import time
from collections import Counter

import pytest
from hostile_site import Site, html

from stacksearch import documents, gear, urlqueue
from stacksearch.audit import Audit
from stacksearch.database import Transaction
from stacksearch.errors import UnavailableError
from stacksearch.page import Page
from stacksearch.submission import submit
from stacksearch.sweeper import Sweeper
from tests.lib.waiting import wait_for
from tests.service.conftest import App
from tests.stack import WORKERS, Process, free_port

pytestmark = pytest.mark.service


def sweeper(app: App) -> Sweeper:
    parts = app.parts
    return Sweeper(app.config, parts.database, parts.cache, parts.client, parts.index)


def audit(app: App) -> Audit:
    return Audit(app.parts.database, app.parts.index, app.parts.indexing, app.config.sweep.audit_interval)


def send(app: App, *urls: str) -> list[urlqueue.Url]:
    return submit(app.config, app.parts.database, app.parts.client, urls)


def fetched(app: App, pages: dict[str, Page]) -> dict[documents.Key, Page]:
    """Rows in the state ``fetched``, as a Fetch Worker leaves them; nothing is in the cache."""
    send(app, *pages)
    leases = urlqueue.lease(app.parts.database, 100, 60)

    def work(tx: Transaction) -> None:
        urlqueue.mark_fetched(tx, list(urlqueue.hold(tx, leases)), 0)

    app.parts.database.transaction(work)
    return {(lease.id, lease.generation): pages[lease.address] for lease in leases}


def big_site(site: Site, count: int) -> None:
    """Pages that link to one another; each fifth is a copy of another."""
    picker = random.Random(1)
    for number in range(count):
        links = [f"/{picker.randrange(count)}" for _ in range(5)] + [f"/{(number + 1) % count}"]
        name = number - 1 if number % 5 == 4 else number
        site.pages[f"/{number}"] = html(f"Page {name}", f"word{name} common", links if name == number else [])
    site.pages["/"] = html("Start", "", ["/missing", *(f"/{number}" for number in range(count))])


def check_whole(app: App, site: Site, count: int) -> None:
    """Every page ended exactly once, in one row, one document a content, all in the index, and nothing beside."""
    assert app.states() == {"done": count + 1, "failed": 1}
    assert app.rows("SELECT COUNT(*) - COUNT(DISTINCT address) FROM url") == [(0,)]
    assert app.rows("SELECT address, reason FROM url WHERE state = 'failed'") == [(site.url("/missing"), "HTTP 404")]
    assert app.rows("SELECT COUNT(*) FROM url WHERE state = 'done' AND document IS NULL") == [(0,)]
    assert app.rows("SELECT COUNT(*) - COUNT(DISTINCT digest) FROM document") == [(0,)]
    ids = {number for (number,) in app.rows("SELECT id FROM document")}
    wanted = {number for (number,) in app.rows("SELECT DISTINCT document FROM url WHERE document IS NOT NULL")}
    assert wanted <= ids
    assert wanted <= app.indexed()


class TestQueue:
    """Rows and their leases."""

    def test_a_lease_is_given_to_one(self, app: App, site: Site) -> None:
        send(app, *(site.url(f"/{number}") for number in range(10)))
        first = urlqueue.lease(app.parts.database, 6, 60)
        second = urlqueue.lease(app.parts.database, 6, 60)
        assert (len(first), len(second)) == (6, 4)
        assert not {lease.id for lease in first} & {lease.id for lease in second}
        assert urlqueue.lease(app.parts.database, 6, 60) == []

    def test_the_oldest_come_first(self, app: App, site: Site) -> None:
        urls = [send(app, site.url(f"/{number}"))[0].id for number in range(5)]
        assert [lease.id for lease in urlqueue.lease(app.parts.database, 5, 60)] == urls

    def test_what_is_given_back_can_be_leased_again_and_the_attempt_does_not_count(
        self, app: App, site: Site
    ) -> None:
        send(app, site.url("/"))
        leases = urlqueue.lease(app.parts.database, 5, 60)
        urlqueue.give_back(app.parts.database, leases)
        again = urlqueue.lease(app.parts.database, 5, 60)
        assert [lease.attempts for lease in (*leases, *again)] == [1, 1]

    def test_an_expired_lease_is_taken_away_and_its_holder_changes_nothing(self, app: App, site: Site) -> None:
        send(app, site.url("/"))
        late = urlqueue.lease(app.parts.database, 5, -1)
        assert sweeper(app).round().requeued == 1
        assert app.states() == {"queued": 1}
        mine = urlqueue.lease(app.parts.database, 5, 60)
        assert app.parts.database.transaction(lambda tx: urlqueue.hold(tx, late)) == {}
        urlqueue.extend(app.parts.database, late, 600)
        urlqueue.give_back(app.parts.database, late)
        assert app.states() == {"fetching": 1}
        assert list(app.parts.database.transaction(lambda tx: urlqueue.hold(tx, mine))) == [mine[0].id]

    def test_an_extended_lease_does_not_expire(self, app: App, site: Site) -> None:
        send(app, site.url("/"))
        leases = urlqueue.lease(app.parts.database, 5, -1)
        urlqueue.extend(app.parts.database, leases, 60)
        assert sweeper(app).round().requeued == 0

    def test_a_url_that_kills_its_workers_is_given_up(self, app: App, site: Site) -> None:
        send(app, site.url("/"))
        for _ in range(3 * app.config.fetch.attempts):
            assert len(urlqueue.lease(app.parts.database, 5, -1)) == 1
            sweeper(app).round()
        assert app.states() == {"failed": 1}
        assert "ended without a word 9 times" in app.rows("SELECT reason FROM url")[0][0]

    def test_workers_that_lease_at_one_time_share_the_queue(self, app: App, site: Site) -> None:
        from concurrent.futures import ThreadPoolExecutor

        from stacksearch.database import Database

        send(app, *(site.url(f"/{number}") for number in range(400)))

        def worker(_: int) -> list[int]:
            database = Database(app.config.database)
            taken: list[int] = []
            while leases := urlqueue.lease(database, 7, 60):
                taken += [lease.id for lease in leases]
                links = {site.url(f"/link{lease.id % 50}"): 1 for lease in leases}
                database.transaction(lambda tx, links=links: urlqueue.add_links(tx, links))  # type: ignore[misc]
                urlqueue.extend(database, leases, 60)
            database.close()
            return taken

        with ThreadPoolExecutor(6) as threads:
            taken = [number for share in threads.map(worker, range(6)) for number in share]
        assert len(taken) == len(set(taken)) == 450


class TestDocuments:
    """Storing and indexing, again and again."""

    def test_storing_twice_is_storing_once(self, app: App, site: Site) -> None:
        pages = fetched(app, {site.url("/a"): Page("A", "aa"), site.url("/b"): Page("B", "bb")})
        assert app.parts.indexing.take(pages) == 2
        assert app.parts.indexing.take(pages) == 0
        assert app.states() == {"done": 2}
        assert app.rows("SELECT COUNT(*), SUM(indexed) FROM document") == [(2, 2)]

    def test_a_page_of_an_older_generation_is_dropped(self, app: App, site: Site) -> None:
        pages = fetched(app, {site.url("/a"): Page("A", "aa")})
        app.parts.database.write("UPDATE url SET generation = generation + 1")
        assert app.parts.indexing.take(pages) == 0
        assert app.states() == {"fetched": 1}

    def test_what_the_cache_has_lost_is_fetched_again(self, app: App, site: Site) -> None:
        pages = fetched(app, {site.url("/a"): Page("A", "aa")})
        assert app.parts.indexing.announced(list(pages)) == 0
        assert app.rows("SELECT state, reason FROM url") == [("queued", "lost from the cache")]
        # The second time the page does not go by way of the cache.
        site.pages["/a"] = html("A", "walrus")
        with app.stack.running(app.settings, ("worker", "fetch"), ("sweeper",)):
            assert app.wait_ended() == {"done": 1}

    def test_killed_between_the_table_and_the_index(self, app: App, site: Site) -> None:
        pages = fetched(app, {site.url("/a"): Page("A", "aa")})
        documents.store(app.parts.database, pages, 0)  # and then the worker dies
        assert app.states() == {"stored": 1}
        with app.stack.running(app.settings, ("worker", "document"), ("sweeper",)):
            assert app.wait_ended() == {"done": 1}
        assert len(app.indexed()) == 1

    def test_killed_between_the_index_and_the_table(self, app: App, site: Site) -> None:
        pages = fetched(app, {site.url("/a"): Page("A", "aa")})
        _, fresh = documents.store(app.parts.database, pages, 0)
        app.parts.index.replace(fresh)  # and then the worker dies
        with app.stack.running(app.settings, ("worker", "document"), ("sweeper",)):
            assert app.wait_ended() == {"done": 1}
        assert len(app.indexed()) == 1

    def test_two_urls_with_one_content_wait_for_one_document(self, app: App, site: Site) -> None:
        first = fetched(app, {site.url("/a"): Page("A", "aa")})
        documents.store(app.parts.database, first, 60)
        second = fetched(app, {site.url("/b"): Page("A", "aa")})
        assert app.parts.indexing.take(second) == 1
        assert app.states() == {"done": 2}

    def test_a_document_is_not_collected_while_a_url_points_to_it(self, app: App, site: Site) -> None:
        pages = fetched(app, {site.url("/a"): Page("A", "aa"), site.url("/b"): Page("A", "aa")})
        app.parts.indexing.take(pages)
        app.parts.database.write("DELETE FROM url WHERE address = %s", (site.url("/a"),))
        assert sweeper(app).round().collected == 0
        app.parts.database.write("DELETE FROM url")
        assert sweeper(app).round().collected == 1
        assert app.indexed() == set()
        assert app.rows("SELECT COUNT(*) FROM document_part") == [(0,)]


class TestIndex:
    """The index can be made again."""

    def test_an_audit_puts_back_what_is_missing_and_drops_what_is_strange(self, app: App, site: Site) -> None:
        pages = {site.url(f"/{number}"): Page(f"T{number}", f"word{number}") for number in range(30)}
        app.parts.indexing.take(fetched(app, pages))
        ids = sorted(app.indexed())
        app.parts.index.delete(ids[::3])
        app.parts.index.replace([documents.Document(5_000_000, "stranger", "strange", 0)])
        assert audit(app).run() == (10, 1)
        assert app.indexed() == set(ids)
        assert audit(app).run() == (0, 0)

    def test_an_index_whose_files_are_gone_comes_back_by_itself(self, app: App, site: Site) -> None:
        pages = {site.url(f"/{number}"): Page(f"T{number}", f"word{number}") for number in range(5)}
        app.parts.indexing.take(fetched(app, pages))
        before = app.indexed()
        with app.stack.running(app.settings, ("sweeper",)):
            app.stack.services["index"].kill()
            shutil.rmtree(app.stack.folder / "sphinx")
            (app.stack.folder / "sphinx").mkdir()
            app.stack.start_service("index")
            wait_for(lambda: app.indexed() == before, "the audit")

    def test_an_index_survives_kill_9(self, app: App, site: Site) -> None:
        pages = {site.url(f"/{number}"): Page(f"T{number}", f"word{number}") for number in range(50)}
        app.parts.indexing.take(fetched(app, pages))
        before = app.indexed()
        app.stack.services["index"].kill()
        app.stack.start_service("index")
        assert app.indexed() == before

    def test_rebuild_indexes_everything_again(self, app: App, site: Site) -> None:
        pages = {site.url(f"/{number}"): Page(f"T{number}", f"word{number}") for number in range(5)}
        app.parts.indexing.take(fetched(app, pages))
        before = app.indexed()
        app.stack.sphinx("TRUNCATE RTINDEX documents")
        assert app.stack.app(app.settings, "rebuild-index").wait() == 0
        assert app.indexed() == before


class TestServices:
    """Each service goes away and comes back in the middle of a crawl."""

    @pytest.mark.parametrize("name", ["queue", "cache", "index", "database"])
    def test_a_service_is_killed_in_the_middle(self, app: App, site: Site, name: str) -> None:
        big_site(site, 60)
        site.delay = 0.02
        app.configure(fetch={"concurrency": 4, "batch": 10})
        with app.stack.running(app.settings, *WORKERS):
            send(app, site.url("/"))
            wait_for(lambda: app.states().get("done", 0) > 5, "the first pages")
            app.stack.services[name].kill()
            time.sleep(1.0)  # not a wait for something: the service is away for so long
            app.stack.start_service(name)
            app.wait_ended()
        check_whole(app, site, 60)

    @pytest.mark.parametrize("name", ["database", "queue", "cache", "index"])
    def test_the_first_search_after_a_restart_is_answered(self, app: App, site: Site, name: str) -> None:
        """Connections that were open before are found broken at their next use, which no user may feel."""
        site.pages["/"] = html("Start", "lantern room")
        question, server = {"query": "lantern"}, app.config.queue.servers[0]
        with app.stack.running(app.settings, *WORKERS):
            send(app, site.url("/"))
            app.wait_ended()
            assert app.parts.client.ask(gear.SEARCH, "before", question, timeout=30).get("total") == 1
            app.stack.services[name].kill()
            app.stack.start_service(name)
            wait_for(lambda: gear.functions(server).get(f"{app.stack.prefix}_search", (0, 0, 0))[2], "the worker")
            said = app.parts.client.ask(gear.SEARCH, "after", question, timeout=30)
            assert said.get("total") == 1, said

    def test_a_crawl_goes_on_without_any_cache(self, app: App, site: Site) -> None:
        big_site(site, 20)
        app.configure(cache={"servers": [{"host": "127.0.0.1", "port": free_port()}]})
        with app.stack.running(app.settings, *WORKERS):
            send(app, site.url("/"))
            app.wait_ended()
        check_whole(app, site, 20)

    def test_a_crawl_goes_on_without_any_gearmand(self, app: App, site: Site) -> None:
        """Nobody can be woken; Fetch Workers look for themselves, and pages wait until gearmand is back."""
        big_site(site, 10)
        app.configure(queue={"servers": [{"host": "127.0.0.1", "port": free_port()}]})
        with app.stack.running(app.settings, *WORKERS):
            send(app, site.url("/"))
            wait_for(lambda: app.states().get("fetched", 0) >= 11, "the pages")
        app.configure()
        with app.stack.running(app.settings, *WORKERS):
            app.wait_ended()
        check_whole(app, site, 10)

    def test_a_wake_that_nobody_heard_is_made_up_for(self, app: App, site: Site) -> None:
        site.pages["/"] = html("A")
        app.configure(queue={"servers": [{"host": "127.0.0.1", "port": free_port()}]})
        send(app, site.url("/"))  # not woken
        app.configure()
        with app.stack.running(app.settings, *WORKERS):
            assert app.wait_ended() == {"done": 1}

    def test_a_database_that_is_away_is_told(self, app: App) -> None:
        app.configure(database={"port": free_port()})
        with pytest.raises(UnavailableError, match="the database"):
            urlqueue.count(app.parts.database)


class TestStops:
    """Orderly ends and disorderly ones."""

    def test_a_worker_that_is_told_to_stop_gives_its_leases_back(self, app: App, site: Site) -> None:
        big_site(site, 200)
        site.delay = 0.3
        app.configure(fetch={"concurrency": 2, "batch": 50, "lease": 600})
        with app.stack.running(app.settings, ("worker", "fetch")) as (worker,):
            send(app, site.url("/"))
            wait_for(lambda: app.states().get("fetching", 0) > 20, "leases")
            worker.send(signal.SIGTERM)
            assert worker.wait(30) == 0
        states = app.states()
        assert "fetching" not in states
        assert states["queued"] > 150
        assert app.rows("SELECT MAX(attempts) FROM url WHERE state = 'queued'") == [(0,)]

    @pytest.mark.parametrize(
        "words", [("worker", "document"), ("worker", "search"), ("worker", "fetch"), ("sweeper",)]
    )
    def test_an_idle_process_ends_at_once(self, app: App, words: tuple[str, ...]) -> None:
        with app.stack.running(app.settings, words) as (process,):
            function = f"{app.stack.prefix}_{words[-1]}"
            server = app.config.queue.servers[0]
            if words[0] == "worker":
                wait_for(lambda: gear.functions(server).get(function, (0, 0, 0))[2], "the worker")
            else:
                time.sleep(2)
            process.send(signal.SIGTERM)
            process.send(signal.SIGTERM)  # may come twice
            assert process.wait(20) in (0, -signal.SIGTERM)

    def test_every_process_is_killed_again_and_again(self, app: App, site: Site) -> None:
        """kill -9 of workers, sweeper and services while pages come in: no URL is lost and none is stored twice."""
        count = 150
        big_site(site, count)
        site.delay = 2.0  # slow enough that all of the killing falls into the crawl
        app.configure(fetch={"concurrency": 8, "batch": 10, "lease": 5, "attempts": 10}, sweep={"patience": 2})
        picker = random.Random(20261130)
        kinds = [*WORKERS, ("worker", "fetch"), ("worker", "document")]
        killed: Counter[str] = Counter()
        processes: list[Process] = []
        try:
            processes = [app.stack.app(app.settings, *words, log=f"chaos-{n}") for n, words in enumerate(kinds)]
            send(app, site.url("/"))
            while sum(killed.values()) < 12 and sum(app_open(app).values()):
                time.sleep(picker.uniform(0.2, 1.0))  # the rhythm of the killing
                if picker.random() < 0.8:
                    process = picker.choice(processes)
                    process.kill()
                    process.start()
                    killed[" ".join(process.argv[-2:])] += 1
                else:
                    name = picker.choice(["queue", "cache", "index", "database"])
                    app.stack.services[name].kill()
                    app.stack.start_service(name)
                    killed[name] += 1
            site.delay = 0.01
            app.wait_ended(timeout=180)
        finally:
            for process in processes:
                process.kill()
        assert sum(killed.values()) == 12
        check_whole(app, site, count)


def app_open(app: App) -> dict[str, int]:
    """The URLs that have not ended, by state."""
    return {state: count for state, count in app.states().items() if state in urlqueue.OPEN}
