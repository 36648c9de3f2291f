"""The fetcher against a site that does what sites do."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
from hostile_site import Site, bomb, broken, dripping, endless, html, redirect, text

from stacksearch.addresses import parse_allowed
from stacksearch.config import CrawlConfig, FetchConfig
from stacksearch.fetcher import Failure, Fetched, Fetcher
from stacksearch.urls import Rules

pytestmark = pytest.mark.service

Fetch = Callable[..., Awaitable[Fetched | Failure]]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site().start()
    yield made
    made.stop()


def fetch(
    site: Site, path: str = "/", *, url: str = "", seed: bool = True, allow: str = "", **words: object
) -> Fetched | Failure:
    """One fetch with a fetcher of its own, which may reach the site only."""
    settings = {"timeout": 5.0, "connect_timeout": 2.0, "size_limit": 200_000, "redirects": 3, **words}
    crawl = CrawlConfig(same_host=bool(settings.pop("same_host", True)))
    config = FetchConfig(allow=(parse_allowed(allow or site.host),), **settings)  # type: ignore[arg-type]

    async def run() -> Fetched | Failure:
        async with Fetcher(config, Rules(crawl)) as fetcher:
            return await fetcher.fetch(url or site.url(path), seed=seed)

    return asyncio.run(run())


def page(found: Fetched | Failure) -> Fetched:
    assert isinstance(found, Fetched), found
    return found


def failure(found: Fetched | Failure) -> Failure:
    assert isinstance(found, Failure), found
    return found


def test_a_page_is_fetched(site: Site) -> None:
    site.pages["/"] = html("Title", "some words", ["/a"])
    found = page(fetch(site))
    assert found.page.title == "Title"
    assert "some words" in found.page.text
    assert found.page.links == (site.url("/a"),)


def test_redirects_are_followed_and_links_resolved_where_they_end(site: Site) -> None:
    site.answers["/old"] = redirect("/deep/er/")
    site.pages["/deep/er/"] = html("Moved", "", ["x.html"])
    found = page(fetch(site, "/old"))
    assert found.address == site.url("/deep/er/")
    assert found.page.links == (site.url("/deep/er/x.html"),)


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://127.0.0.1:1/", "not public and not allowed"),
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is not public"),
        ("http://[::1]/", "::1 is not public"),
        ("http://[::ffff:127.0.0.1]:1/", "127.0.0.1 is not public"),
        ("http://localhost:1/", "not public and not allowed"),
        ("http://2130706433:1/", "not a canonical IPv4 address"),
        ("http://0x7f.1:1/", "127.0.0.1 is not public"),
        ("http://0:1/", "not a canonical IPv4 address"),
        ("http://10.0.0.1/", "10.0.0.1 is not public"),
        ("file:///etc/passwd", "no URL"),
        ("gopher://x/", "no URL"),
        ("http://user:secret@example.org/", "no URL"),
        ("http://[bad/", "not fetched"),
    ],
)
def test_a_redirect_to_what_may_not_be_reached_is_refused(site: Site, location: str, reason: str) -> None:
    site.answers["/go"] = redirect(location)
    found = failure(fetch(site, "/go"))
    assert reason in found.reason
    assert not found.passing


def test_what_is_not_allowed_is_not_even_connected_to(site: Site) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        for host in ("127.0.0.1", "localhost", "2130706433"):
            found = failure(fetch(site, url=f"http://{host}:{port}/"))
            assert "not allowed" in found.reason or "not a canonical" in found.reason
        with pytest.raises(TimeoutError):
            listener.accept()


def test_public_addresses_may_be_reached_on_some_ports_only(site: Site) -> None:
    assert "port 25 is not allowed" in failure(fetch(site, url="http://1.1.1.1:25/", robots=False)).reason


def test_a_loop_of_redirects_ends(site: Site) -> None:
    site.answers["/loop"] = redirect("/loop")
    site.hits.clear()
    assert failure(fetch(site, "/loop")) == Failure("more than 3 redirects")
    assert site.hits["/loop"] == 4


def test_only_a_submitted_page_may_redirect_to_another_host(site: Site) -> None:
    other = Site().start()
    try:
        other.pages["/"] = html("Other")
        site.answers["/away"] = redirect(other.url("/"))
        assert page(fetch(site, "/away", allow="127.0.0.1")).page.title == "Other"
        assert "another host" in failure(fetch(site, "/away", allow="127.0.0.1", seed=False)).reason
        assert page(fetch(site, "/away", allow="127.0.0.1", seed=False, same_host=False)).page.title == "Other"
    finally:
        other.stop()


def test_a_redirect_to_what_a_filter_excludes_is_refused(site: Site) -> None:
    site.answers["/to-image"] = redirect("/a.png")
    assert "excluded by the filter" in failure(fetch(site, "/to-image")).reason


def test_a_gzip_bomb_is_not_unpacked(site: Site) -> None:
    site.answers["/bomb"] = bomb(512)
    began = time.process_time()
    found = failure(fetch(site, "/bomb"))
    assert "larger than" in found.reason or "cannot" in found.reason or "decod" in found.reason.lower(), found.reason
    assert not found.passing
    assert time.process_time() - began < 5


@pytest.mark.parametrize("kind", ["declared", "endless"])
def test_a_page_that_is_too_large_is_given_up(site: Site, kind: str) -> None:
    site.answers["/large"] = text(b"x" * 300_000) if kind == "declared" else endless()
    assert failure(fetch(site, "/large")) == Failure("larger than 200000 bytes")


def test_a_page_of_just_the_limit_is_taken(site: Site) -> None:
    site.answers["/limit"] = text(b"x" * 200_000)
    assert len(page(fetch(site, "/limit")).page.text) == 200_000


def test_a_slow_page_is_given_up_and_tried_again(site: Site) -> None:
    site.answers["/slow"] = dripping(0.05)
    found = failure(fetch(site, "/slow", timeout=0.5))
    assert found == Failure("no whole answer within 0.5 s", passing=True)


@pytest.mark.parametrize(
    ("status", "passing"),
    [(400, False), (401, False), (403, False), (404, False), (410, False), (429, True), (500, True), (503, True)],
)
def test_statuses_say_whether_another_attempt_helps(site: Site, status: int, passing: bool) -> None:
    site.answers["/status"] = text("x", status=status)
    assert failure(fetch(site, "/status")) == Failure(f"HTTP {status}", passing)


@pytest.mark.parametrize(
    ("header", "after"), [("7", 7.0), ("999999", 3600.0), ("soon", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0)]
)
def test_retry_after_is_heeded_within_bounds(site: Site, header: str, after: float | None) -> None:
    site.answers["/busy"] = text("x", status=503, Retry_After=header)
    assert failure(fetch(site, "/busy")).after == after


@pytest.mark.parametrize("kind", ["image/png", "application/json", "application/octet-stream", "nonsense", ""])
def test_only_text_is_taken(site: Site, kind: str) -> None:
    site.answers["/file"] = text(b"\x89PNG", kind=kind)
    assert "is not text or HTML" in failure(fetch(site, "/file")).reason


def test_plain_text_is_taken(site: Site) -> None:
    site.answers["/plain"] = text("First line\nsecond", kind="text/plain")
    assert page(fetch(site, "/plain")).page.title == "First line"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<title>grün</title>".encode(), "text/html"),
        ("<title>grün</title>".encode("latin-1"), "text/html; charset=ISO-8859-1"),
        ("<title>grün</title>".encode(), "text/html; charset=no-such-thing"),
        ("<title>grün</title>".encode("utf-16"), "text/html"),
        ("<meta charset=iso-8859-1><title>grün</title>".encode("latin-1"), "text/html"),
    ],
)
def test_charsets(site: Site, body: bytes, kind: str) -> None:
    site.answers["/text"] = text(body, kind=kind)
    assert page(fetch(site, "/text")).page.title == "grün"


def test_bytes_that_fit_no_charset_become_replacements(site: Site) -> None:
    site.answers["/bad"] = text(b"<title>a\xff\xfeb\x00c</title>")
    assert page(fetch(site, "/bad")).page.title == "a\ufffd\ufffdb\ufffdc"


def test_a_connection_that_breaks_is_tried_again(site: Site) -> None:
    site.answers["/broken"] = broken()
    assert failure(fetch(site, "/broken")).passing


def test_a_port_where_nobody_listens_is_tried_again(site: Site) -> None:
    found = failure(fetch(site, url="http://127.0.0.1:9/", allow="127.0.0.1"))
    assert found.passing
    assert "no connection to 127.0.0.1:9" in found.reason


def test_a_name_that_does_not_resolve_is_tried_again(site: Site) -> None:
    found = failure(fetch(site, url="http://no-such-host.invalid/", robots=False))
    assert found.passing
    assert "no-such-host.invalid does not resolve" in found.reason


def test_a_page_built_to_keep_a_parser_busy_is_refused(site: Site) -> None:
    site.answers["/deep"] = text("<div>" * 30_000)
    found = failure(fetch(site, "/deep"))
    assert "cannot be read" in found.reason
    assert not found.passing


def test_bad_compression_is_refused(site: Site) -> None:
    site.answers["/zip"] = text(b"this is no gzip", Content_Encoding="gzip")
    assert isinstance(fetch(site, "/zip"), Failure)


def test_robots_are_obeyed(site: Site) -> None:
    site.pages["/private/a"] = html("Private")
    site.pages["/public"] = html("Public")
    site.answers["/robots.txt"] = text("User-agent: *\nDisallow: /private", kind="text/plain")
    assert failure(fetch(site, "/private/a")) == Failure("robots.txt does not allow it")
    assert page(fetch(site, "/private/a", robots=False)).page.title == "Private"
    assert page(fetch(site, "/public")).page.title == "Public"
    site.answers["/robots.txt"] = text("x", status=503)
    assert failure(fetch(site, "/public")).passing
    del site.answers["/robots.txt"]


def test_robots_are_asked_for_once_however_many_pages_wait(site: Site) -> None:
    site.answers["/robots.txt"] = text("User-agent: *\nDisallow: /private", kind="text/plain")
    site.pages["/public"] = html("Public")
    config = FetchConfig(allow=(parse_allowed(site.host),), timeout=5.0)

    async def run() -> list[Fetched | Failure]:
        async with Fetcher(config, Rules(CrawlConfig())) as fetcher:
            return list(await asyncio.gather(*(fetcher.fetch(site.url("/public"), seed=True) for _ in range(8))))

    before = site.hits["/robots.txt"]
    assert {page(found).page.title for found in asyncio.run(run())} == {"Public"}
    assert site.hits["/robots.txt"] - before == 1
    del site.answers["/robots.txt"]


def test_whose_host_it_is(site: Site) -> None:
    async def run(host: str, allow: str) -> bool:
        async with Fetcher(FetchConfig(allow=(parse_allowed(allow),)), Rules(CrawlConfig())) as fetcher:
            return await fetcher.is_own(host)

    assert asyncio.run(run(site.host, site.host))
    assert asyncio.run(run("127.0.0.1", "127.0.0.0/8"))
    assert not asyncio.run(run("127.0.0.1:81", "127.0.0.1:80"))
    assert not asyncio.run(run("1.1.1.1", "127.0.0.0/8"))
    assert not asyncio.run(run("no-such-host.invalid", "127.0.0.0/8"))
