"""A page: what is left of a response's bytes when markup is taken away: title, text, links."""

import codecs
import functools
import hashlib
import itertools
import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from stacksearch.urls import Resolver

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset({"text/plain"})
TITLE_LENGTH = 300
TEXT_LENGTH = 1_000_000
"""Characters of a document; what follows is neither stored nor found."""
LINKS = 5000
"""Links that are followed from one page."""

_REMEMBERED_SIZE = 64 * 1024
_HIDDEN = ["script", "style", "noscript", "template", "svg", "iframe", "object"]
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000effff]+")
_META_CHARSET = re.compile(rb"<meta[^>]+?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{2,40})", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# The encoding standard reads these labels as their Windows supersets.
_SUPERSETS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030",
              "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs", "utf-7": "cp1252"}  # fmt: skip


_FEW_TAGS = 8000
_PARSER_WORK = 100_000_000
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)")
_CLOSE_THEMSELVES = frozenset({"area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link",
    "meta", "option", "p", "param", "source", "td", "th", "tr", "track", "wbr"})  # fmt: skip


class PageError(ValueError):
    """A page that cannot be read."""


@dataclass(frozen=True)
class Page:
    """A page ready to be stored; ``links`` are normal URLs, each once, in the order of the page."""

    title: str
    text: str
    links: tuple[str, ...] = ()
    indexable: bool = True
    """False when the page asks not to be indexed."""

    @property
    def digest(self) -> str:
        """The key of the content in the document table: 32 hexadecimal digits."""
        return hashlib.blake2b(f"{self.title}\n{self.text}".encode(), digest_size=16).hexdigest()


def decode(body: bytes, charset: str | None) -> str:
    """The text of a body: by its byte order mark, else the header's charset, else the page's own, else UTF-8.

    An unknown charset and bytes that do not fit never fail; they become replacement characters.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    if charset is None and (match := _META_CHARSET.search(body, 0, 2048)):
        charset = match[1].decode()
    try:
        name = codecs.lookup(charset).name if charset else "utf-8"
        return body.decode(_SUPERSETS.get(name, name), "replace")
    except (LookupError, ValueError, UnicodeError):
        return body.decode("utf-8", "replace")


def _clean(text: str, limit: int) -> str:
    text = " ".join(text.split())
    if not text.isprintable():  # quick, and the common answer
        text = " ".join(_CONTROL.sub(" ", text).split())
    return text[:limit].rstrip()


def extract_text(text: str) -> Page:
    """A page of plain text; its first line is its title."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return Page(_clean(first, TITLE_LENGTH), _clean(text, TEXT_LENGTH))


@dataclass(frozen=True)
class Markup:
    """What a body of HTML says, wherever it came from; ``references`` are not resolved yet."""

    title: str
    text: str
    references: tuple[str, ...]
    base: str
    indexable: bool

    def page(self, address: str) -> Page:
        """The page at a URL, which its links are resolved against unless it names a base."""
        base = next(Resolver(address).links([self.base]), address) if self.base else address
        links = itertools.islice(Resolver(base).links(self.references), LINKS)
        return Page(self.title, self.text, tuple(dict.fromkeys(links)), self.indexable)


def read_html(body: bytes, charset: str | None) -> Markup:
    """Read a body. Raises PageError when it is built to keep a parser busy.

    Sites show the same bytes at several URLs (a page that is not translated, a folder and its index): what was read a
    short while ago is not read again.
    """
    return _remembered(body, charset) if len(body) <= _REMEMBERED_SIZE else _read(body, charset)


def _read(body: bytes, charset: str | None) -> Markup:
    html = decode(body, charset)
    _check_work(html)
    tree = LexborHTMLParser(html)
    base, indexable, follow = "", True, True
    if head := tree.head:
        base = _base(head)
        indexable, follow = _robots(head)
    title = _title(tree)
    references = _references(tree) if follow else ()
    tree.strip_tags(_HIDDEN)
    text = _clean(tree.body.text(separator=" "), TEXT_LENGTH) if tree.body else ""
    return Markup(title or text[:80], text, references, base, indexable)


_remembered = functools.lru_cache(maxsize=512)(_read)


def _check_work(html: str) -> None:
    """Parsing takes time in proportion to tags times depth, and to the square of a list's options.

    A few MB of ``<div>`` would hold a worker for an hour.
    """
    if html.count("<") < _FEW_TAGS:
        return
    depth = deepest = tags = options = 0
    for match in _TAG.finditer(html):
        tags += 1
        name = match[2].lower()
        if name not in _CLOSE_THEMSELVES:
            depth = max(depth - 1, 0) if match[1] else depth + 1
            deepest = max(deepest, depth)
        elif name == "option":
            options += 1
    if tags * deepest + options * options > _PARSER_WORK:
        raise PageError(f"its {tags} tags are nested {deepest} deep" if deepest > options else f"{options} options")


def _title(tree: LexborHTMLParser) -> str:
    for selector in ("head > title", "h1"):
        node = tree.css_first(selector)
        if node is not None and (title := _clean(node.text(), TITLE_LENGTH)):
            return title
    return ""


def _base(head: LexborNode) -> str:
    node = head.css_first("base[href]")
    return _plain(node.attributes.get("href")) if node is not None else ""


def _plain(reference: str | None) -> str:
    """A reference without its fragment."""
    return (reference or "").partition("#")[0].strip()


def _robots(head: LexborNode) -> tuple[bool, bool]:
    """Whether the page may be indexed, and its links followed."""
    words: set[str] = set()
    for node in head.css("meta[name][content]"):
        attributes = node.attributes
        if (attributes.get("name") or "").lower() == "robots":
            words.update(word.strip() for word in (attributes.get("content") or "").lower().split(","))
    return not words & {"noindex", "none"}, not words & {"nofollow", "none"}


def _references(tree: LexborHTMLParser) -> tuple[str, ...]:
    references: dict[str, None] = {}
    for node in (*tree.tags("a"), *tree.tags("area")):
        attributes = node.attributes
        reference = attributes.get("href")
        if not reference or reference[0] == "#":
            continue
        rel = attributes.get("rel")
        if rel is None or "nofollow" not in rel.lower():
            references[_plain(reference)] = None
    return tuple(references)
