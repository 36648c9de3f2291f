"""Fetches a page: limits, redirects judged one by one, addresses judged where they are connected to."""

import asyncio
import socket
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Self
from urllib.parse import urljoin

import aiohttp
from yarl import URL

from stacksearch.addresses import BlockedAddressError, Policy
from stacksearch.config import FetchConfig
from stacksearch.page import HTML_TYPES, TEXT_TYPES, Page, PageError, decode, extract_text, read_html
from stacksearch.robots import Robots
from stacksearch.urls import Rules, UrlError, host_of, normalise

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PASSING = frozenset({408, 421, 425, 429, 500, 502, 503, 504})
_RETRY_AFTER_LIMIT = 3600.0
_ROBOTS_LIMIT = 512 * 1024
_ROBOTS_FRESH = 3600.0


@dataclass(frozen=True)
class Fetched:
    """A page, and the URL that it came from after redirects."""

    address: str
    page: Page


@dataclass(frozen=True)
class Failure:
    """Why there is no page; ``passing`` when another attempt may help, then ``after`` may say in how many seconds."""

    reason: str
    passing: bool = False
    after: float | None = None


@dataclass(frozen=True)
class Response:
    """A response's status, its headers of interest and its body, cut off at the limit."""

    status: int
    location: str
    kind: str
    charset: str | None
    retry_after: str
    body: bytes


class _TooLargeError(Exception):
    pass


class Fetcher:
    """A session that fetches pages; use it as an asynchronous context manager."""

    def __init__(self, config: FetchConfig, rules: Rules) -> None:
        self._config = config
        self._rules = rules
        self._policy = Policy(config.allow, config.ports)
        self._robots: dict[str, tuple[float, Robots]] = {}
        self._asking: dict[str, asyncio.Task[Robots]] = {}
        self._own: dict[str, bool] = {}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        config = self._config
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=config.concurrency * 2, ttl_dns_cache=60, socket_factory=self._socket, keepalive_timeout=15
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=config.connect_timeout),
            headers={
                "User-Agent": config.user_agent,
                "Accept": "text/html,application/xhtml+xml,text/plain;q=0.8",
                "Accept-Encoding": "gzip, deflate",
            },
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._asking.values():
            task.cancel()
        if self._session is not None:
            await self._session.close()

    async def fetch(self, address: str, *, seed: bool) -> Fetched | Failure:
        """Fetch a normal URL. ``seed`` says that it was submitted, so a redirect may lead to another host."""
        try:
            async with asyncio.timeout(self._config.timeout):
                return await self._follow(address, seed)
        except TimeoutError:
            return Failure(f"no whole answer within {self._config.timeout:g} s", passing=True)
        except _TooLargeError:
            return Failure(f"larger than {self._config.size_limit} bytes")
        except PageError as failure:
            return Failure(f"the page cannot be read: {failure}")
        except (aiohttp.ClientError, UrlError, OSError, ValueError) as failure:
            return _failure(failure)

    async def is_own(self, host: str) -> bool:
        """Whether ``host:port`` lies in a network that the operator has allowed; such hosts are not throttled."""
        if host not in self._own:
            if len(self._own) > 10_000:
                self._own.clear()
            self._own[host] = bool(self._config.allow) and await self._resolves_to_own(host)
        return self._own[host]

    async def _resolves_to_own(self, host: str) -> bool:
        url = URL(f"http://{host}/", encoded=True)
        if url.host is None:
            return False
        try:
            found = await asyncio.get_running_loop().getaddrinfo(url.host, url.port or 80, type=socket.SOCK_STREAM)
        except OSError:
            return False
        ports = {url.port or 80} if url.explicit_port else {80, 443}
        return all(any(self._policy.own(str(entry[4][0]), port) for port in ports) for entry in found)

    async def _follow(self, address: str, seed: bool) -> Fetched | Failure:
        first = address
        for _ in range(self._config.redirects + 1):
            if self._config.robots:
                refusal = await self._robots_refusal(address)
                if refusal is not None:
                    return refusal
            response = await self._get(address, self._config.size_limit)
            if response.status not in _REDIRECTS or not response.location:
                return self._judge(address, response)
            address = normalise(urljoin(address, response.location))
            if not seed and self._rules.config.same_host and host_of(address) != host_of(first):
                return Failure(f"redirected to another host: {address}")
            refusal_by_rule = self._rules.refusal(address)
            if refusal_by_rule is not None:
                return Failure(f"redirected to {address}: {refusal_by_rule}")
        return Failure(f"more than {self._config.redirects} redirects")

    def _judge(self, address: str, response: Response) -> Fetched | Failure:
        if response.status != 200:
            passing = response.status in _PASSING
            return Failure(f"HTTP {response.status}", passing, _seconds(response.retry_after) if passing else None)
        if response.kind in HTML_TYPES:
            page = read_html(response.body, response.charset).page(address)
        elif response.kind in TEXT_TYPES:
            page = extract_text(decode(response.body, response.charset))
        else:
            return Failure(f"the type {response.kind or 'unknown'} is not text or HTML")
        return Fetched(address, page)

    async def _get(self, address: str, limit: int) -> Response:
        assert self._session is not None
        async with self._session.get(URL(address, encoded=True), allow_redirects=False) as answer:
            headers = answer.headers
            kind = answer.content_type if "Content-Type" in headers else ""
            wanted = answer.status == 200 and (kind in HTML_TYPES or kind in TEXT_TYPES)
            if wanted and answer.content_length is not None and answer.content_length > limit:
                raise _TooLargeError
            body = await _read(answer, limit) if wanted else b""
            return Response(
                answer.status, headers.get("Location", ""), kind, answer.charset, headers.get("Retry-After", ""), body
            )

    async def _robots_refusal(self, address: str) -> Failure | None:
        robots = await self._robots_of("/".join(address.split("/", 3)[:3]))
        if robots.passing:
            return Failure("robots.txt cannot be had for the moment", passing=True)
        return None if robots.allows(address, self._config.user_agent) else Failure("robots.txt does not allow it")

    async def _robots_of(self, origin: str) -> Robots:
        """An origin's rules; however many pages wait for them, they are asked for once."""
        now = asyncio.get_running_loop().time()
        known = self._robots.get(origin)
        if known is not None and known[0] >= now:
            return known[1]
        asking = self._asking.get(origin)
        if asking is None:
            asking = self._asking[origin] = asyncio.create_task(self._fetch_robots(origin))
            asking.add_done_callback(lambda task: self._asked(origin, task))
        robots = await asyncio.shield(asking)
        if not robots.passing:
            if len(self._robots) > 10_000:
                self._robots.clear()
            self._robots[origin] = now + _ROBOTS_FRESH, robots
        return robots

    def _asked(self, origin: str, task: asyncio.Task[Robots]) -> None:
        del self._asking[origin]
        if not task.cancelled():
            task.exception()  # who waited has it; nobody may be left

    async def _fetch_robots(self, origin: str) -> Robots:
        address = f"{origin}/robots.txt"
        try:
            async with asyncio.timeout(self._config.timeout):
                for _ in range(self._config.redirects + 1):
                    response = await self._get(address, _ROBOTS_LIMIT)
                    if response.status not in _REDIRECTS or not response.location:
                        return Robots.of(response.status, response.body)
                    address = normalise(urljoin(address, response.location))
        except _TooLargeError:
            return Robots.of(200, b"")
        return Robots.of(404, b"")

    def _socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        """Makes the socket for an address that is about to be connected to, IP literals included."""
        family, kind, protocol, _, destination = info
        self._policy.check(str(destination[0]), int(destination[1]))
        return socket.socket(family=family, type=kind, proto=protocol)


async def _read(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in answer.content.iter_any():
        size += len(chunk)
        if size > limit:
            answer.close()
            raise _TooLargeError
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _failure(failure: Exception) -> Failure:
    if isinstance(failure, UrlError):
        return Failure(f"redirected to no URL: {failure.message}")
    if isinstance(failure, aiohttp.ClientConnectorError):
        cause = failure.os_error
        # Several refused addresses come as one OSError that quotes them.
        if isinstance(cause, BlockedAddressError) or "not allowed" in str(cause):
            return Failure(str(cause)[:200])
        if isinstance(failure, aiohttp.ClientConnectorDNSError):
            return Failure(f"the name {failure.host} does not resolve", passing=True)
        if isinstance(failure, aiohttp.ClientSSLError):
            return Failure(f"TLS: {cause}"[:200])
        return Failure(
            f"no connection to {failure.host}:{failure.port}: {cause.strerror or cause}"[:200], passing=True
        )
    if isinstance(failure, aiohttp.InvalidURL) or not isinstance(failure, (aiohttp.ClientError, OSError)):
        return Failure(f"not fetched: {failure}"[:200])
    return Failure(f"the connection broke: {failure or type(failure).__name__}"[:200], passing=True)


def _seconds(retry_after: str) -> float | None:
    """The seconds of a Retry-After header, which may also be a date; None when it says nothing."""
    if retry_after.isdigit():
        return min(float(retry_after), _RETRY_AFTER_LIMIT)
    try:
        date = parsedate_to_datetime(retry_after)
        seconds = date.timestamp() - date.now(date.tzinfo).timestamp()
    except (TypeError, ValueError):
        return None
    return min(max(seconds, 0.0), _RETRY_AFTER_LIMIT)
