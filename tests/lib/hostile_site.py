"""A web site on loopback for a crawler to meet: good pages, and everything that a bad one can do."""

import asyncio
import gzip
import threading
from collections import Counter
from collections.abc import Awaitable, Callable

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def html(title: str, body: str = "", links: list[str] | None = None) -> str:
    """A page of HTML."""
    anchors = " ".join(f'<a href="{link}">{link}</a>' for link in links or [])
    head = f"<!doctype html><html><head><title>{title}</title></head>"
    return f"{head}<body><h1>{title}</h1><p>{body}</p>{anchors}</body></html>"


class Site:
    """A server in a thread of its own. ``pages`` may be changed while it runs; ``hits`` counts requests by path."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.answers: dict[str, Answer] = {}
        self.hits: Counter[str] = Counter()
        self.delay = 0.0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def host(self) -> str:
        """Address and port."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        """A URL of the site."""
        return f"http://{self.host}{path}"

    def start(self) -> "Site":
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    def reset(self) -> None:
        """Forget all pages and counts."""
        self.pages.clear()
        self.answers.clear()
        self.hits.clear()
        self.delay = 0.0

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._ready.set()
        self._loop.run_forever()

    async def _serve(self) -> None:
        runner = web.ServerRunner(web.Server(self._answer), handle_signals=False)
        await runner.setup()
        listener = web.TCPSite(runner, "127.0.0.1", 0)
        await listener.start()
        self.port = int(runner.addresses[0][1])

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path_qs
        self.hits[path] += 1
        if self.delay:
            await asyncio.sleep(self.delay)
        if path in self.answers:
            return await self.answers[path](request)  # type: ignore[arg-type]
        if path in self.pages:
            return web.Response(text=self.pages[path], content_type="text/html")
        return web.Response(status=404, text="no such page")


def text(body: str | bytes, kind: str = "text/html; charset=utf-8", status: int = 200, **headers: str) -> Answer:
    """An answer with exactly this body and these headers (``_`` in names stands for ``-``)."""
    raw = body.encode() if isinstance(body, str) else body
    fields = {name.replace("_", "-"): value for name, value in headers.items()}

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=raw, status=status, headers={"Content-Type": kind, **fields})

    return answer


def redirect(location: str, status: int = 302) -> Answer:
    """A redirect."""
    return text(b"", status=status, Location=location)


def bomb(megabytes: int) -> Answer:
    """A small body that unpacks to very much."""
    packed = gzip.compress(b"\0" * (megabytes << 20), 9)
    return text(packed, Content_Encoding="gzip")


def endless(chunk: bytes = b"<p>more " * 8192) -> Answer:
    """A body that has no end and does not say how long it is."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        while True:
            await response.write(chunk)

    return answer


def dripping(seconds: float) -> Answer:
    """A body that comes a byte at a time."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html", "Content-Length": "100000"})
        await response.prepare(request)
        for _ in range(100000):
            await response.write(b"x")
            await asyncio.sleep(seconds)
        return response

    return answer


def broken() -> Answer:
    """A connection that ends in the middle of the body."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html", "Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"<p>half")
        assert request.transport is not None
        request.transport.abort()
        return response

    return answer
