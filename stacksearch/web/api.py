"""The JSON API."""

import json
import secrets
from dataclasses import asdict
from typing import Any

from aiohttp import web

from stacksearch import status, urlqueue
from stacksearch.errors import InputError, UnavailableError
from stacksearch.gear import SEARCH
from stacksearch.search import Answer, Question
from stacksearch.service import Parts
from stacksearch.submission import submit
from stacksearch.urlqueue import Url
from stacksearch.urls import normalise
from stacksearch.web.keys import CONFIG, POOL

routes = web.RouteTableDef()


def shown(url: Url) -> dict[str, Any]:
    """A URL's row as the API gives it."""
    fields = asdict(url)
    fields["url"] = fields.pop("address")
    return {**fields, "ended": url.state not in urlqueue.OPEN}


async def ask(request: web.Request, question: Question) -> Answer:
    """The answer of a Search Worker. Raises UnavailableError when none gives one."""
    timeout = request.app[CONFIG].web.search_timeout
    data = await request.app[POOL].call(lambda parts: _ask(parts, question, timeout))
    return Answer.from_json(data)


def _ask(parts: Parts, question: Question, timeout: float) -> dict[str, Any]:
    data: dict[str, Any] = parts.client.ask(SEARCH, secrets.token_hex(16), asdict(question), timeout=timeout)
    if "error" in data:
        raise UnavailableError(data["error"], hint=data["hint"])
    return data


@routes.post("/api/urls")
async def post_urls(request: web.Request) -> web.Response:
    """Submit one URL (``url``) or several (``urls``), with a ``depth`` if need be."""
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="send JSON, with Content-Type: application/json")
    try:
        data = await request.json()
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as failure:
        raise web.HTTPBadRequest(text=f"not JSON: {failure}") from None
    texts, depth = _submission(data)
    config = request.app[CONFIG]
    urls = await request.app[POOL].call(lambda parts: submit(config, parts.database, parts.client, texts, depth))
    return web.json_response({"urls": [shown(url) for url in urls]}, status=202)


def _submission(data: object) -> tuple[list[str], int | None]:
    if not isinstance(data, dict) or data.keys() - {"url", "urls", "depth"} or ("url" in data) == ("urls" in data):
        raise InputError('send {"url": "…"} or {"urls": ["…"]}, and "depth" if need be')
    texts = [data["url"]] if "url" in data else data["urls"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError("urls is not a list of texts")
    depth = data.get("depth")
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int)):
        raise InputError("depth is not a whole number")
    return texts, depth


@routes.get(r"/api/urls/{number:\d{1,18}}")
async def get_url(request: web.Request) -> web.Response:
    """One URL's row by its id."""
    number = int(request.match_info["number"])
    return _found(await request.app[POOL].call(lambda parts: urlqueue.get(parts.database, number)))


@routes.get("/api/urls")
async def find_url(request: web.Request) -> web.Response:
    """One URL's row by the URL itself (``?url=``)."""
    if "url" not in request.query:
        raise InputError("which URL?", hint="ask for /api/urls?url=… or /api/urls/ID")
    address = normalise(request.query["url"])
    return _found(await request.app[POOL].call(lambda parts: urlqueue.find(parts.database, address)))


def _found(url: Url | None) -> web.Response:
    if url is None:
        raise web.HTTPNotFound(text="no such URL has been submitted or found")
    return web.json_response(shown(url))


@routes.get("/api/status")
async def get_status(request: web.Request) -> web.Response:
    """Counts of URLs by state, of documents, and pages a second."""
    found = await request.app[POOL].call(lambda parts: status.read(parts.database))
    return web.json_response(found.to_json())


@routes.get("/api/search")
async def search(request: web.Request) -> web.Response:
    """The results of ``q``, page by page."""
    answer = await ask(request, question(request))
    return web.json_response(answer.to_json())


def question(request: web.Request) -> Question:
    """What a request's query string asks."""
    page = request.query.get("page", "1")
    if not page.isdecimal() or len(page) > 6:
        raise InputError(f"{page!r} is not the number of a page")
    return Question(request.query.get("q", ""), int(page), request.app[CONFIG].web.results)


@routes.get("/healthz")
async def healthz(request: web.Request) -> web.Response:
    """Whether the front and its database answer."""
    await request.app[POOL].call(lambda parts: urlqueue.get(parts.database, 0))
    return web.json_response({"status": "ok"})
