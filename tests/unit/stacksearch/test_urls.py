"""URLs have one spelling; filters say which are followed."""

import re
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacksearch.config import CrawlConfig
from stacksearch.urls import Resolver, Rules, UrlError, digest, host_of, normalise


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("http://example.org", "http://example.org/"),
        ("HTTP://EXAMPLE.org:80/a", "http://example.org/a"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("https://example.org./", "https://example.org/"),
        ("http://example.org/a#part", "http://example.org/a"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/../../a", "http://example.org/a"),
        ("http://example.org/a/..", "http://example.org/"),
        ("http://example.org/a/b/..", "http://example.org/a/"),
        ("http://example.org/%2e%2E/a", "http://example.org/a"),
        ("http://example.org/%7Euser/%c3%bc", "http://example.org/~user/%C3%BC"),
        ("http://example.org/a b", "http://example.org/a%20b"),
        ("http://example.org/ü?q=ö", "http://example.org/%C3%BC?q=%C3%B6"),
        ("http://example.org/100%", "http://example.org/100%25"),
        ("http://example.org/?", "http://example.org/"),
        ("http://example.org?q=1", "http://example.org/?q=1"),
        ("  http://example.org/a\n", "http://example.org/a"),
        ("http://exa\tmple.org/", "http://example.org/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://127.0.0.1:8081/x", "http://127.0.0.1:8081/x"),
        ("http://example.org\\a", "http://example.org/a"),
    ],
)
def test_a_url_has_one_spelling(text: str, normal: str) -> None:
    if "\\" in text:
        text = text.replace("org\\a", "org/\\a")
        normal = "http://example.org//a"
    assert normalise(text) == normal


@pytest.mark.parametrize(
    "text",
    [
        "", "example.org", "ftp://example.org/", "javascript:alert(1)", "file:///etc/passwd", "http://", "http:///a",
        "http://user:secret@example.org/", "http://example.org:0/", "http://example.org:99999/",
        "http://exa mple.org/", "http://[::1/", "http://[zz]/", "http://-a.example/", "http://a..b/", "http://a_b\x00/",
        "http://" + "a" * 300 + "/",
        "http://example.org/" + "a" * 3000, "http://%61.example/",
    ],
)  # fmt: skip
def test_what_cannot_be_fetched_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(UrlError) as caught:
        normalise(text)
    assert repr(text[:50])[:20] in str(caught.value) or text == ""


@given(st.text(max_size=60), st.text(max_size=30))
def test_normalising_twice_changes_nothing(path: str, query: str) -> None:
    once = normalise(f"http://example.org/{path}?{query}")
    assert normalise(once) == once
    assert once.isascii()
    assert "#" not in once


_SEGMENT = st.from_regex(r"[A-Za-z0-9_~-][A-Za-z0-9_.~-]{0,8}", fullmatch=True)


@given(
    st.lists(_SEGMENT, max_size=4),
    st.integers(0, 5),
    st.lists(_SEGMENT, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
)
def test_the_short_way_of_resolving_gives_what_the_long_way_gives(
    folder: list[str], ups: int, path: list[str], end: str
) -> None:
    base = "/".join(["http://example.org:8080", *folder, "page.html?x=1"])
    reference = "../" * ups + "/".join(path) + end
    assert list(Resolver(base).links([reference])) == [normalise(urljoin(base, reference))]


def test_links_are_resolved_against_the_page() -> None:
    base = "http://example.org/a/page.html?q=1"
    references = [
        "b.html",
        "/c",
        "?q=2",
        "//other.example/d",
        "https://x.example/",
        "mailto:a@b",
        "../e",
        "http://[bad/",
    ]
    assert list(Resolver(base).links(references)) == [
        "http://example.org/a/b.html",
        "http://example.org/c",
        "http://example.org/a/page.html?q=2",
        "http://other.example/d",
        "https://x.example/",
        "http://example.org/e",
    ]


def test_a_query_is_resolved_against_its_own_page_only() -> None:
    assert list(Resolver("http://example.org/a/one").links(["?x"])) == ["http://example.org/a/one?x"]
    assert list(Resolver("http://example.org/a/two").links(["?x"])) == ["http://example.org/a/two?x"]


def test_the_host_is_told_with_its_port() -> None:
    assert host_of("http://example.org:8080/a/b") == "example.org:8080"
    assert host_of("https://example.org/") == "example.org"


def test_digests_are_32_hexadecimal_digits() -> None:
    assert re.fullmatch("[0-9a-f]{32}", digest("http://example.org/"))
    assert digest("http://example.org/a") != digest("http://example.org/A")


class TestRules:
    """The filters."""

    def test_files_that_hold_no_text_are_left_out_unless_told_otherwise(self) -> None:
        rules = Rules(CrawlConfig())
        for name in ("a.png", "A.JPG", "style.css?v=1", "x.tar.gz", "b.pdf"):
            assert rules.refusal(f"http://example.org/{name}") is not None
        for name in ("", "a.html", "png", "a.pngx/", "pdf/about"):
            assert rules.refusal(f"http://example.org/{name}") is None
        assert Rules(CrawlConfig(exclude=())).refusal("http://example.org/a.png") is None

    def test_with_filters_that_include_a_url_must_match_one(self) -> None:
        rules = Rules(CrawlConfig(include=(re.compile("/en/"), re.compile("/de/"))))
        assert rules.refusal("http://example.org/de/a") is None
        assert "include" in str(rules.refusal("http://example.org/fr/a"))

    def test_an_excluding_filter_beats_an_including_one(self) -> None:
        rules = Rules(CrawlConfig(include=(re.compile("/en/"),), exclude=(re.compile("private"),)))
        assert "private" in str(rules.refusal("http://example.org/en/private"))
