"""The whole way with real services: submit, fetch, store, index, search; and what each part does when asked again."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from hostile_site import Site, html, text

from stacksearch import documents, schema, status, urlqueue
from stacksearch.errors import InputError, StacksearchError
from stacksearch.search import Question, Searcher
from stacksearch.submission import FullError, submit
from tests.lib.waiting import wait_for
from tests.service.conftest import App, fresh_app
from tests.stack import WORKERS, Stack, free_port, listens

pytestmark = pytest.mark.service


def send(app: App, *urls: str, depth: int | None = None) -> list[urlqueue.Url]:
    return submit(app.config, app.parts.database, app.parts.client, urls, depth)


def find(app: App, query: str) -> list[str]:
    searcher = Searcher(app.parts.database, app.parts.cache, app.parts.index)
    return [hit.url for hit in searcher.answer(Question(query)).hits]


def crawl(app: App, *urls: str, depth: int | None = None) -> dict[str, int]:
    """Submit, run the workers until everything has ended."""
    with app.stack.running(app.settings, *WORKERS):
        send(app, *urls, depth=depth)
        return app.wait_ended()


class TestCrawl:
    """A crawl from one page."""

    def test_a_site_is_crawled_and_found(self, app: App, site: Site) -> None:
        site.pages["/"] = html("Home", "walrus", ["/a", "/b#top", "/missing", "http://127.0.0.1:1/else", "/pic.png"])
        site.pages["/a"] = html("Page a", "aardvark grün", ["/", "/b", "/c?x=1"])
        site.pages["/b"] = html("Page b", "badger")
        site.pages["/c?x=1"] = html("Page c", "capybara")
        assert crawl(app, site.url("/")) == {"done": 4, "failed": 1}
        assert find(app, "aardvark") == [site.url("/a")]
        assert find(app, "GRUN") == [site.url("/a")]
        assert find(app, "capybara") == [site.url("/c?x=1")]
        assert app.rows("SELECT address, reason FROM url WHERE state = 'failed'") == [
            (site.url("/missing"), "HTTP 404")
        ]
        assert "/pic.png" not in site.hits
        assert all(count == 1 for path, count in site.hits.items())
        found = status.read(app.parts.database)
        assert (found.documents, found.open, found.queue["done"]) == (4, 0, 4)
        assert [each.reason for each in found.failures] == ["HTTP 404"]

    def test_the_depth_is_kept(self, app: App, site: Site) -> None:
        for number in range(6):
            site.pages[f"/{number}"] = html(f"Page {number}", "", [f"/{number + 1}"])
        assert crawl(app, site.url("/0"), depth=2) == {"done": 3}
        assert set(site.hits) - {"/robots.txt"} == {"/0", "/1", "/2"}
        # Asked for anew with a greater depth, the crawl goes on from there; known pages are fetched for their links.
        assert crawl(app, site.url("/0"), depth=4) == {"done": 5}
        assert set(site.hits) - {"/robots.txt"} == {"/0", "/1", "/2", "/3", "/4"}

    def test_a_shorter_way_carries_the_crawl_farther(self, app: App, site: Site) -> None:
        site.pages["/"] = html("Home", "", ["/long1", "/short"])
        site.pages["/long1"] = html("Long 1", "", ["/long2"])
        site.pages["/long2"] = html("Long 2", "", ["/goal"])
        site.pages["/short"] = html("Short", "", ["/goal"])
        site.pages["/goal"] = html("Goal", "", ["/behind"])
        site.pages["/behind"] = html("Behind")
        assert crawl(app, site.url("/"), depth=3) == {"done": 6}

    def test_filters_are_kept(self, app: App, site: Site) -> None:
        app.configure(crawl={"include": ["/en/"], "exclude": ["private"]})
        site.pages["/en/"] = html("Home", "", ["/en/a", "/de/a", "/en/private"])
        site.pages["/en/a"] = html("A")
        assert crawl(app, site.url("/en/")) == {"done": 2}
        assert set(site.hits) - {"/robots.txt"} == {"/en/", "/en/a"}

    def test_equal_pages_are_one_document(self, app: App, site: Site) -> None:
        site.pages["/"] = html("Home", "", ["/index.html", "/same1", "/same2"])
        site.pages["/index.html"] = site.pages["/"]
        site.pages["/same1"] = site.pages["/same2"] = html("Same", "otter")
        assert crawl(app, site.url("/")) == {"done": 4}
        assert app.rows("SELECT COUNT(*) FROM document") == [(2,)]
        assert len(app.indexed()) == 2
        assert find(app, "otter") == [site.url("/same1")]

    def test_a_page_that_has_changed_replaces_what_was_found(self, app: App, site: Site) -> None:
        site.pages["/"] = html("Before", "tapir")
        assert crawl(app, site.url("/")) == {"done": 1}
        site.pages["/"] = html("After", "okapi")
        with app.stack.running(app.settings, *WORKERS):
            again = send(app, site.url("/"))[0]
            assert (again.state, again.generation) == ("queued", 1)
            app.wait_ended()
            assert find(app, "okapi") == [site.url("/")]
            # The old document goes when the sweeper collects it.
            wait_for(lambda: app.rows("SELECT COUNT(*) FROM document") == [(1,)], "the collection")
            wait_for(lambda: len(app.indexed()) == 1, "the index")
            assert find(app, "tapir") == []
            assert app.rows("SELECT COUNT(*) FROM document_part") == [(1,)]

    def test_passing_failures_are_tried_again_and_lasting_ones_are_not(self, app: App, site: Site) -> None:
        site.answers["/busy"] = text("x", status=503)
        site.answers["/gone"] = text("x", status=410)
        assert crawl(app, site.url("/busy"), site.url("/gone")) == {"failed": 2}
        assert (site.hits["/busy"], site.hits["/gone"]) == (3, 1)
        reasons = dict(app.rows("SELECT address, reason FROM url"))
        assert reasons == {site.url("/busy"): "HTTP 503", site.url("/gone"): "HTTP 410"}

    def test_a_page_that_asks_not_to_be_indexed_is_not(self, app: App, site: Site) -> None:
        site.pages["/"] = html("Hidden", "<meta name=robots content=noindex>narwhal", ["/next"]).replace(
            "<head>", "<head><meta name=robots content=noindex>"
        )
        site.pages["/next"] = html("Next", "manatee")
        assert crawl(app, site.url("/")) == {"done": 1, "failed": 1}
        assert find(app, "narwhal") == []
        assert find(app, "manatee") == [site.url("/next")]

    def test_long_texts_are_kept_whole(self, app: App, site: Site) -> None:
        words = " ".join(f"word{number}" for number in range(20_000)) + " 日本語 \U0001f9ad lastword"
        site.pages["/"] = html("Long", words)
        assert crawl(app, site.url("/")) == {"done": 1}
        number = app.rows("SELECT id FROM document")[0][0]
        assert documents.load(app.parts.database, [number])[number].text == f"Long {words}"
        assert app.rows("SELECT COUNT(*) FROM document_part")[0][0] > 1
        for query in ("lastword", "日本", '"word1 word2 word3"'):
            assert find(app, query) == [site.url("/")], query


class TestSubmission:
    """What is taken into the queue."""

    def test_all_wrong_urls_are_told_and_none_is_queued(self, app: App, site: Site) -> None:
        with pytest.raises(InputError) as caught:
            send(app, site.url("/"), "ftp://x/", "http://x/y.png", "nonsense")
        assert all(word in str(caught.value) for word in ("ftp://x/", "y.png", "nonsense"))
        assert app.states() == {}

    def test_a_url_is_queued_once(self, app: App, site: Site) -> None:
        first = send(app, site.url("/a"), site.url("/a#x"), site.url("/b"))
        assert [url.address for url in first] == [site.url("/a"), site.url("/b")]
        assert send(app, site.url("/a"))[0].id == first[0].id
        assert app.states() == {"queued": 2}
        assert app.rows("SELECT MAX(generation) FROM url") == [(0,)]

    @pytest.mark.parametrize("depth", [-1, 11])
    def test_the_depth_has_bounds(self, app: App, site: Site, depth: int) -> None:
        with pytest.raises(InputError, match="between 0 and 10"):
            send(app, site.url("/"), depth=depth)

    def test_a_full_queue_takes_no_more(self, app: App, site: Site) -> None:
        app.configure(crawl={"queue_limit": 1})
        send(app, site.url("/a"))
        with pytest.raises(FullError):
            send(app, site.url("/b"))

    def test_rows_survive_when_no_gearmand_answers(self, app: App, site: Site) -> None:
        app.configure(queue={"servers": [{"host": "127.0.0.1", "port": free_port()}]})
        assert send(app, site.url("/"))[0].state == "queued"


@pytest.fixture(scope="class")
def filled(services: Stack, running_site: Site) -> Iterator[App]:
    running_site.reset()
    links = [f"/{number}" for number in range(25)]
    running_site.pages["/"] = html("Start", "", links)
    for link in links:
        evil = "&lt;script&gt;alert(1)&lt;/script&gt;"
        running_site.pages[link] = html(f"Penguin {link[1:]}", f"common word{link[1:]} {evil}")
    with fresh_app(services, running_site) as app:
        assert app.crawl_here(running_site.url("/")) == {"done": 26}
        yield app


class TestSearch:
    """Asking."""

    def test_results_come_page_by_page(self, filled: App) -> None:
        searcher = Searcher(filled.parts.database, filled.parts.cache, filled.parts.index)
        pages = [searcher.answer(Question("penguin", number)) for number in (1, 2, 3, 4)]
        assert [len(page.hits) for page in pages] == [10, 10, 5, 0]
        assert {page.total for page in pages} == {25}
        assert pages[0].pages == 3
        assert len({hit.url for page in pages for hit in page.hits}) == 25

    def test_snippets_are_safe_html(self, filled: App) -> None:
        searcher = Searcher(filled.parts.database, filled.parts.cache, filled.parts.index)
        snippet = searcher.answer(Question("word7")).hits[0].snippet
        assert "<mark>word7</mark>" in snippet
        assert "&lt;script&gt;" in snippet
        assert "<script>" not in snippet

    def test_no_query_is_an_error(self, filled: App) -> None:
        searcher = Searcher(filled.parts.database, filled.parts.cache, filled.parts.index)
        for query in (
            "(",
            '"',
            "@",
            "/2",
            "-",
            "^ $ < ~",
            "!",
            "\\",
            "|",
            "''",
            "@title",
            "NEAR/3",
            "MAYBE",
            "<<",
            "=x",
        ):
            for typed in (f"penguin {query}", f"{query} penguin", f"{query}penguin", query):
                assert searcher.answer(Question(typed)).total <= 25

    def test_operators_that_people_know(self, filled: App) -> None:
        assert len(find(filled, "word3 | word4")) == 2
        assert len(find(filled, "word3 OR word4")) == 2
        assert find(filled, "word3 word4") == []
        assert len(find(filled, '"penguin 7"')) == 1
        searcher = Searcher(filled.parts.database, filled.parts.cache, filled.parts.index)
        assert searcher.answer(Question("penguin -word7")).total == 24

    def test_it_works_without_memcached(self, filled: App) -> None:
        filled.configure(cache={"servers": [{"host": "127.0.0.1", "port": free_port()}]})
        assert len(find(filled, "word7")) == 1

    def test_what_the_database_has_forgotten_leaves_the_index(self, filled: App) -> None:
        number = filled.rows("SELECT document FROM url WHERE address LIKE '%/7'")[0][0]
        filled.parts.database.write("DELETE FROM url WHERE document = %s", (number,))
        filled.parts.database.write("DELETE FROM document WHERE id = %s", (number,))
        assert find(filled, "word7") == []
        assert number not in filled.indexed()


@pytest.fixture(scope="class")
def front(services: Stack, running_site: Site) -> Iterator["Front"]:
    port = free_port()
    with fresh_app(services, running_site) as app:
        app.configure(web={"port": port, "search_timeout": 20})
        with app.stack.running(app.settings, *WORKERS, ("web",)):
            wait_for(lambda: listens(port), "the web front")
            yield Front(app, f"http://127.0.0.1:{port}")


class TestWeb:
    """The web front, from outside."""

    def test_submit_status_search_by_the_api(self, front: "Front", site: Site) -> None:
        site.pages["/"] = html("A <b>bold</b> title", "hippopotamus & co")
        code, answer = front.call("/api/urls", {"url": site.url("/"), "depth": 1})
        assert code == 202
        url = answer["urls"][0]
        assert (url["url"], url["state"], url["depth"], url["seed"]) == (site.url("/"), "queued", 1, True)
        wait_for(lambda: front.call(f"/api/urls/{url['id']}")[1]["ended"], "the page")
        by_url = front.call("/api/urls?" + urllib.parse.urlencode({"url": site.url("/#x")}))[1]
        assert (by_url["id"], by_url["state"], by_url["reason"]) == (url["id"], "done", "")
        code, found = front.call("/api/search?q=hippopotamus")
        assert (code, found["total"], found["hits"][0]["url"]) == (200, 1, site.url("/"))
        assert "<mark>hippopotamus</mark> &amp; co" in found["hits"][0]["snippet"]
        code, standing = front.call("/api/status")
        assert code == 200
        assert min(standing["documents"], standing["queue"]["done"], standing["pages_per_second"]) > 0
        assert front.call("/healthz") == (200, {"status": "ok"})

    @pytest.mark.parametrize(
        ("path", "data", "code", "said"),
        [
            ("/api/urls", {"url": "nonsense"}, 422, "not an http or https URL"),
            ("/api/urls", {"urls": ["http://a/", "ftp://b/"]}, 422, "ftp://b/"),
            ("/api/urls", {"urls": []}, 422, "no URL"),
            ("/api/urls", {"urls": "http://a/"}, 422, "not a list"),
            ("/api/urls", {"url": "http://a/", "depth": "1"}, 422, "depth"),
            ("/api/urls", {"url": "http://a/", "depth": True}, 422, "depth"),
            ("/api/urls", {"url": "http://a/", "dept": 1}, 422, "send"),
            ("/api/urls", {"url": "http://a/", "urls": []}, 422, "send"),
            ("/api/urls", [1], 422, "send"),
            ("/api/urls", b"{", 400, "not JSON"),
            ("/api/urls", b"\xff", 400, "not JSON"),
            ("/api/urls", b"x" * 5_000_000, 413, ""),
            ("/api/urls/999999", None, 404, "no such URL"),
            ("/api/urls/x", None, 404, ""),
            ("/api/urls", None, 422, "which URL"),
            ("/api/urls?url=nonsense", None, 422, "nonsense"),
            ("/api/search", None, 422, "nothing to search for"),
            ("/api/search?q=x&page=0", None, 422, "page"),
            ("/api/search?q=x&page=x", None, 422, "page"),
            ("/api/search?q=" + "x" * 501, None, 422, "longer"),
            ("/api/nothing", None, 404, ""),
            ("/api/status", {}, 405, ""),
        ],
    )
    def test_errors_are_json(self, front: "Front", path: str, data: object, code: int, said: str) -> None:
        found, answer = front.call(path, data)
        assert found == code
        assert answer["error"]["status"] == code
        assert said in json.dumps(answer["error"])

    def test_pages_work_without_scripts(self, front: "Front", site: Site) -> None:
        site.pages["/"] = html("Zebra &amp; <i>co</i>", "stripes")
        for path in ("/", "/submit", "/status"):
            code, page = front.page(path)
            assert code == 200
            assert "<script" not in page
            assert 'lang="en"' in page
        code, page = front.page("/submit", {"urls": site.url("/"), "depth": "0"})
        assert code == 200
        assert site.url("/") in page
        front.app.wait_ended()
        code, page = front.page("/search?q=stripes")
        assert code == 200
        assert "Zebra &amp; co" in page
        assert "<mark>stripes</mark>" in page
        code, page = front.page("/search?q=" + urllib.parse.quote('<img src=x> "'))
        assert code == 200
        assert "<img src=x>" not in page

    @pytest.mark.parametrize(
        ("form", "said"),
        [
            ({"urls": "ftp://x/", "depth": "1"}, "ftp://x/"),
            ({"urls": "http://x/", "depth": "-1"}, "depth"),
            ({"urls": "", "depth": "1"}, "no URL"),
            ({}, "depth"),
        ],
    )
    def test_a_wrong_form_comes_back_with_what_was_typed(
        self, front: "Front", form: dict[str, str], said: str
    ) -> None:
        code, page = front.page("/submit", form)
        assert code == 422
        assert said in page
        assert 'role="alert"' in page

    def test_another_sites_form_is_refused(self, front: "Front") -> None:
        form = {"urls": "http://example.org/", "depth": "0"}
        refused: list[dict[str, str]] = [
            {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ]  # fmt: skip
        for headers in refused:
            assert front.page("/submit", form, headers)[0] == 403
        assert front.call("/api/urls?url=http://example.org/")[0] == 404
        for headers in ({"Origin": front.base}, {"Sec-Fetch-Site": "same-origin"}, {}):
            assert front.page("/submit", form, headers)[0] == 200
        code, answer = front.call("/api/urls", {"url": "http://a/"}, {"Content-Type": "text/plain"})
        assert (code, "application/json" in answer["error"]["message"]) == (415, True)

    def test_headers_are_strict(self, front: "Front") -> None:
        for path in ("/", "/nothing", "/api/status"):
            headers = front.headers(path)
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert headers["X-Content-Type-Options"] == "nosniff"
        assert "immutable" in front.headers("/static/style.css")["Cache-Control"]

    def test_a_search_without_a_worker_is_told(self, app: App) -> None:
        port = free_port()
        app.configure(web={"port": port, "search_timeout": 0.5})
        with app.stack.running(app.settings, ("web",)):
            wait_for(lambda: listens(port), "the web front")
            front = Front(app, f"http://127.0.0.1:{port}")
            code, answer = front.call("/api/search?q=x")
            assert code == 503
            assert "no answer within 0.5 s" in answer["error"]["message"]
            code, page = front.page("/search?q=x")
            assert code == 503
            assert "no answer" in page


class Front:
    """A client of the web front."""

    def __init__(self, app: App, base: str) -> None:
        self.app = app
        self.base = base

    def request(self, path: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, str, dict[str, str]]:
        asked = urllib.request.Request(self.base + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return answer.status, answer.read().decode(), dict(answer.headers)
        except urllib.error.HTTPError as failure:
            return failure.code, failure.read().decode(), dict(failure.headers)

    def call(self, path: str, data: object = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        body = data if data is None or isinstance(data, bytes) else json.dumps(data).encode()
        code, said, _ = self.request(path, body, {"Content-Type": "application/json", **(headers or {})})  # type: ignore[arg-type]
        return code, json.loads(said)

    def page(
        self, path: str, form: dict[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str]:
        body = None if form is None else urllib.parse.urlencode(form).encode()
        return self.request(path, body, headers or {})[:2]

    def headers(self, path: str) -> dict[str, str]:
        return self.request(path, None, {})[2]


class TestSchema:
    """Migrations."""

    def test_migrating_twice_changes_nothing(self, app: App) -> None:
        assert schema.migrate(app.parts.database) == []
        assert schema.version(app.parts.database) == schema.LATEST

    def test_a_migration_that_was_killed_is_done_again(self, app: App) -> None:
        app.parts.database.write("DELETE FROM migration")
        app.parts.database.define("DROP TABLE document_part")
        assert schema.migrate(app.parts.database) == [1]
        assert app.rows("SELECT COUNT(*) FROM document_part") == [(0,)]

    def test_a_newer_schema_is_refused(self, app: App) -> None:
        app.parts.database.write("INSERT INTO migration (version, applied) VALUES (%s, 0)", (schema.LATEST + 1,))
        with pytest.raises(StacksearchError, match="newer than this release"):
            schema.migrate(app.parts.database)
