"""What is left of a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacksearch.page import LINKS, TITLE_LENGTH, Page, PageError, decode, extract_text, read_html

BASE = "http://example.org/folder/page.html"


def page(html: str) -> Page:
    return read_html(html.encode("utf-8", "replace"), "utf-8").page(BASE)


def test_title_text_and_links_are_taken() -> None:
    found = page(
        "<html><head><title> The\n title </title></head><body><h1>Head</h1><p>Some <b>bold</b>\n  text.</p>"
        "<a href='a.html#x'>A</a> <a href='a.html'>again</a><map><area href='/b'></map></body></html>"
    )
    assert found.title == "The title"
    assert found.text == "Head Some bold text. A again"
    assert found.links == ("http://example.org/folder/a.html", "http://example.org/b")


def test_scripts_styles_and_what_is_not_shown_are_not_text() -> None:
    found = page(
        "<body>a<script>var x = 'no';</script><style>b{}</style><template>no</template><svg><text>no</text></svg>b"
    )
    assert found.text == "a b"


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<body><h1>First head</h1>", "First head"),
        ("<title></title><h1>First head</h1>", "First head"),
        ("<body>Only text", "Only text"),
        ("<svg><title>not this</title></svg><h1>Head</h1>", "Head"),
        ("<title>" + "x" * 1000 + "</title>", "x" * TITLE_LENGTH),
        ("", ""),
    ],
)
def test_a_page_without_a_title_gets_one(html: str, title: str) -> None:
    assert page(html).title == title


def test_a_base_element_moves_the_links() -> None:
    assert page("<base href='/other/'><a href='x'>").links == ("http://example.org/other/x",)
    assert page("<base href='mailto:x'><a href='x'>").links == ("http://example.org/folder/x",)


def test_links_that_lead_nowhere_are_left_out() -> None:
    html = (
        "<a href='#a'><a href=''><a href='  '><a><a href='javascript:x()'><a href='mailto:a@b'><a href='http://[x/'>"
    )
    assert page(html).links == ()


def test_nofollow_is_obeyed() -> None:
    assert page("<a rel='noopener NoFollow' href='a'><a href='b'>").links == ("http://example.org/folder/b",)
    assert page("<meta name=ROBOTS content='noarchive, NOFOLLOW'><a href='a'>").links == ()


def test_a_page_may_ask_not_to_be_indexed() -> None:
    assert not page("<meta name=robots content=noindex>x").indexable
    assert not page("<meta name=robots content=none>x").indexable
    assert page("<meta name=robots content='index, follow'>x").indexable


def test_links_of_one_page_are_limited() -> None:
    assert len(page("".join(f"<a href='/{number}'>" for number in range(LINKS + 10))).links) == LINKS


@pytest.mark.parametrize("html", ["<div>" * 200_000, "<select>" + "<option>" * 100_000, "<b><p>" * 100_000])
def test_a_page_built_to_keep_a_parser_busy_is_refused(html: str) -> None:
    with pytest.raises(PageError):
        page(html)


def test_a_long_plain_page_is_not_refused() -> None:
    assert page("<ul>" + "<li><p>word</p></li>" * 20_000 + "</ul>").text.startswith("word word")


@given(st.text(max_size=300))
def test_text_never_holds_what_cannot_be_stored(text: str) -> None:
    found = page(f"<title>{text}</title><body>{text}")
    for part in (found.title, found.text):
        part.encode()
        assert "\x00" not in part
        assert part == " ".join(part.split())
    assert len(found.digest) == 32


def test_plain_text_has_its_first_line_as_title() -> None:
    found = extract_text("\n  RFC 1\nsome  text\n")
    assert (found.title, found.text) == ("RFC 1", "RFC 1 some text")


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("grün".encode(), None, "grün"),
        ("grün".encode("latin-1"), "iso-8859-1", "grün"),
        (b"\x80 5", "iso-8859-1", "€ 5"),  # the encoding standard reads it as windows-1252
        ("\ufeffgrün".encode(), "iso-8859-1", "grün"),  # a byte order mark beats the header
        ("grün".encode("utf-16-le"), "utf-16-le", "grün"),
        (b"\xff\xfe" + "grün".encode("utf-16-le"), None, "grün"),
        ("<meta charset='koi8-r'>мир".encode("koi8-r"), None, "<meta charset='koi8-r'>мир"),
        (b"<meta http-equiv=content-type content='text/html; charset=Shift_JIS'>" + "日".encode("cp932"), None, None),
        ("grün".encode(), "no-such-charset", "grün"),
        (b"gr\xfcn", None, "gr\ufffdn"),
        (b"a\xffb", "utf-8", "a\ufffdb"),
        (b"abc", "rot13", "abc"),  # a codec of Python that is no charset
        (b"x", "idna", "x"),
    ],
)
def test_bytes_become_text_whatever_they_claim(body: bytes, charset: str | None, text: str | None) -> None:
    decoded = decode(body, charset)
    assert decoded == text if text is not None else decoded.endswith("日")


@given(
    st.binary(max_size=200),
    st.sampled_from([None, "utf-8", "utf-7", "hex", "utf-16", "cp1252", "big5", "\x00", "undefined"]),
)
def test_decoding_never_fails(body: bytes, charset: str | None) -> None:
    assert isinstance(decode(body, charset), str)


def test_the_same_bytes_at_two_urls_have_their_own_links() -> None:
    body = b"<title>T</title><a href='x.html'>x</a>"
    first = read_html(body, None).page("http://example.org/a/")
    second = read_html(body, None).page("http://example.org/b/")
    assert (first.links, second.links) == (("http://example.org/a/x.html",), ("http://example.org/b/x.html",))
    assert first.digest == second.digest


def test_the_digest_is_that_of_title_and_text() -> None:
    assert Page("a", "b", ("x",)).digest == Page("a", "b").digest
    assert Page("a", "b").digest != Page("b", "a").digest
