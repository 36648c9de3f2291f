"""robots.txt, after RFC 9309."""

import pytest

from stacksearch.robots import Robots

AGENT = "stacksearch/1 (+x)"


@pytest.mark.parametrize(
    ("body", "path", "allowed"),
    [
        (b"User-agent: *\nDisallow: /private", "/private/a", False),
        (b"User-agent: *\nDisallow: /private", "/public", True),
        (b"User-agent: *\nDisallow: /*.html$", "/a.html", False),
        (b"User-agent: *\nDisallow: /\nAllow: /open", "/open/a", True),
        (b"User-agent: stacksearch\nDisallow: /\n\nUser-agent: *\nDisallow:", "/a", False),
        (b"User-agent: other\nDisallow: /", "/a", True),
        (b"\xff\xfe nonsense", "/a", True),
        (b"", "/a", True),
    ],
)
def test_rules_are_obeyed(body: bytes, path: str, allowed: bool) -> None:
    assert Robots.of(200, body).allows(f"http://example.org{path}", AGENT) == allowed


@pytest.mark.parametrize(
    ("status", "allowed", "passing"), [(404, True, False), (403, True, False), (503, True, True), (429, True, True)]
)
def test_a_missing_file_allows_all_and_a_failing_server_nothing_for_now(
    status: int, allowed: bool, passing: bool
) -> None:
    robots = Robots.of(status, b"User-agent: *\nDisallow: /")
    assert robots.allows("http://example.org/a", AGENT) == allowed
    assert robots.passing == passing
