"""URLs: one spelling for each, links resolved against their page, and the rules that say which are followed."""

import functools
import hashlib
import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

import idna

from stacksearch.config import CrawlConfig
from stacksearch.errors import InputError

MAX_LENGTH = 2000
_DEFAULT_PORTS = {"http": 80, "https": 443}

_STRIPPED = re.compile(r"[\t\r\n]")
_LABELS = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})|%")
_UNSAFE = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")
_PLAIN = re.compile(r"(\.\./)*([A-Za-z0-9_~-][A-Za-z0-9_.~-]*/)*[A-Za-z0-9_~-][A-Za-z0-9_.~-]*/?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class UrlError(InputError):
    """A text that is no URL to fetch."""


def digest(address: str) -> str:
    """The key of a normal URL in the queue table: 32 hexadecimal digits."""
    return hashlib.blake2b(address.encode(), digest_size=16).hexdigest()


def host_of(address: str) -> str:
    """The host with its port (``example.org:8080``) of a normal URL."""
    return address.split("/", 3)[2]


def normalise(text: str) -> str:
    """The one spelling of an absolute http or https URL, after RFC 3986 §6.2.

    Scheme and host in lower case, the host in ASCII (IDNA), no default port, no fragment, no dot segments,
    escapes in upper case and only where needed. Raises UrlError.
    """
    shown = text if len(text) <= 100 else text[:97] + "..."
    cleaned = _STRIPPED.sub("", text.strip())
    try:
        parts = urlsplit(cleaned)
        port = parts.port
    except ValueError as failure:
        raise UrlError(f"{shown!r} is not a URL: {failure}") from None
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        raise UrlError(
            f"{shown!r} is not an http or https URL", hint="write the whole address, such as https://example.org/"
        )
    if "@" in parts.netloc:
        raise UrlError(f"{shown!r} holds a user name or password; only public pages can be fetched")
    host = _host(parts, shown)
    if port == 0:
        raise UrlError(f"{shown!r} is not a URL: port 0")
    authority = host if port in (None, _DEFAULT_PORTS[scheme]) else f"{host}:{port}"
    path = _without_dots(_escaped(parts.path.replace("\\", "/"))) or "/"
    address = f"{scheme}://{authority}{path}"
    if parts.query:
        address += "?" + _escaped(parts.query)
    if len(address) > MAX_LENGTH:
        raise UrlError(f"{shown!r} is longer than {MAX_LENGTH} characters")
    return address


def _host(parts: SplitResult, shown: str) -> str:
    host = parts.hostname or ""
    if ":" in host:
        try:
            return f"[{ipaddress.IPv6Address(host).compressed}]"
        except ValueError:
            raise UrlError(f"{shown!r} is not a URL: {host} is not an IPv6 address") from None
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode()
        except idna.IDNAError:
            raise UrlError(f"{shown!r} is not a URL: its host is no name of the DNS") from None
    host = host.lower().removesuffix(".")
    if not _LABELS.fullmatch(host):
        raise UrlError(f"{shown!r} is not a URL: its host is no name of the DNS")
    return host


def _without_dots(path: str) -> str:
    """RFC 3986 §5.2.4; the common path without dot segments is left alone."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept) if len(kept) > 1 else "/"


def _escaped(text: str) -> str:
    if "%" in text:
        text = _ESCAPE.sub(_normal_escape, text)
    return _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")), text)


def _normal_escape(match: re.Match[str]) -> str:
    if match[1] is None:
        return "%25"
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


@functools.lru_cache(maxsize=512)
def _answers(folder: str) -> dict[str, str | None]:
    """The links of a folder's pages that have been resolved so far."""
    return {}


class Resolver:
    """Resolves the links of one page.

    What a reference means depends on the page's folder only (unless it begins with a query), so the pages of a
    folder share their answers: most links of a site are navigation that returns on every page.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._folder = base.partition("?")[0].rpartition("/")[0] + "/"
        self._known = _answers(self._folder)
        if len(self._known) > 20_000:
            self._known.clear()

    def links(self, references: Iterable[str]) -> Iterator[str]:
        """The normal URLs of references (stripped, without fragments); those that lead to no page are left out."""
        known = self._known
        for reference in references:
            link = known.get(reference, "")
            if link == "":
                link = self._resolve(reference)
                if reference[:1] != "?":
                    known[reference] = link
            if link is not None:
                yield link

    def _resolve(self, reference: str) -> str | None:
        if not reference:
            return None
        if _PLAIN.fullmatch(reference) and len(self._folder) + len(reference) <= MAX_LENGTH:
            return self._plain(reference)
        try:
            return normalise(urljoin(self._base if reference[0] == "?" else self._folder, reference))
        except (ValueError, UrlError):
            return None

    def _plain(self, reference: str) -> str:
        """The common relative path, which needs no parsing: the folder is normal, and so is the path."""
        if "../" not in reference:
            return self._folder + reference
        path = self._folder.split("/")[3:-1]
        while reference.startswith("../"):
            reference = reference[3:]
            del path[-1:]
        return "/".join((*self._folder.split("/", 3)[:3], *path, reference))


@dataclass(frozen=True)
class Rules:
    """Which URLs are taken into the queue."""

    config: CrawlConfig

    def refusal(self, address: str) -> str | None:
        """Which filter keeps the URL out; None when it is taken."""
        for pattern in self.config.exclude:
            if pattern.search(address):
                return f"excluded by the filter {pattern.pattern if len(pattern.pattern) < 60 else 'for file types'}"
        if self.config.include and not any(pattern.search(address) for pattern in self.config.include):
            return "matches none of the filters that include"
        return None

    def follows(self, page: str, link: str) -> bool:
        """Whether a link of a page is followed."""
        return (not self.config.same_host or host_of(page) == host_of(link)) and self.refusal(link) is None
