"""The pages for people; they work without scripts."""

from pathlib import PurePosixPath

from aiohttp import web

from stacksearch import status, urlqueue
from stacksearch.errors import InputError, UnavailableError
from stacksearch.submission import submit
from stacksearch.web.api import ask, question
from stacksearch.web.keys import CONFIG, PAGES, POOL

routes = web.RouteTableDef()

_FRESH = {"Cache-Control": "public, max-age=31536000, immutable"}


@routes.get("/")
async def home(request: web.Request) -> web.Response:
    """The search field."""
    return request.app[PAGES].response("home.html", query="")


@routes.get("/search")
async def results(request: web.Request) -> web.Response:
    """The results of ``q``, page by page."""
    query = request.query.get("q", "")
    pages = request.app[PAGES]
    if not query.strip():
        raise web.HTTPSeeOther("/")
    try:
        answer = await ask(request, question(request))
    except InputError as failure:
        return pages.response("home.html", status=422, query=query, error=failure)
    except UnavailableError as failure:
        return pages.response("home.html", status=503, query=query, error=failure)
    return pages.response("results.html", query=query, answer=answer)


@routes.get("/submit")
async def form(request: web.Request) -> web.Response:
    """The form for URLs."""
    return _form(request)


@routes.post("/submit")
async def take(request: web.Request) -> web.Response:
    """Queue what the form holds and show how it goes."""
    data = await request.post()
    typed, depth = str(data.get("urls", "")), str(data.get("depth", ""))
    config = request.app[CONFIG]
    try:
        if not depth.isdecimal() or len(depth) > 6:
            raise InputError(f"depth {depth!r} is not a whole number")
        texts = typed.split()
        urls = await request.app[POOL].call(
            lambda parts: submit(config, parts.database, parts.client, texts, int(depth))
        )
    except InputError as failure:
        return _form(request, status=422, typed=typed, depth=depth, error=failure)
    raise web.HTTPSeeOther(f"/urls/{urls[0].id}" if len(urls) == 1 else "/status")


def _form(
    request: web.Request,
    *,
    status: int = 200,
    typed: str = "",
    depth: str | None = None,
    error: InputError | None = None,
) -> web.Response:
    limit = request.app[CONFIG].crawl.depth
    return request.app[PAGES].response(
        "submit.html",
        status=status,
        typed=typed,
        depth=str(limit) if depth is None else depth,
        limit=limit,
        error=error,
    )


@routes.get(r"/urls/{number:\d{1,18}}")
async def url(request: web.Request) -> web.Response:
    """How a submitted URL goes; the page renews itself until it has come to its end."""
    number = int(request.match_info["number"])
    found = await request.app[POOL].call(lambda parts: urlqueue.get(parts.database, number))
    if found is None:
        raise web.HTTPNotFound(text="no such URL has been submitted or found")
    return request.app[PAGES].response("url.html", url=found, open=found.state in urlqueue.OPEN)


@routes.get("/status")
async def overview(request: web.Request) -> web.Response:
    """How the crawl stands."""
    found = await request.app[POOL].call(lambda parts: status.read(parts.database))
    return request.app[PAGES].response("status.html", status=200, found=found, total=sum(found.queue.values()))


@routes.get("/static/{name}")
async def static(request: web.Request) -> web.Response:
    """The style sheet and the icon."""
    pages = request.app[PAGES]
    kinds = {"style.css": ("text/css", pages.style), "icon.svg": ("image/svg+xml", pages.icon)}
    name = PurePosixPath(request.match_info["name"]).name
    if name not in kinds:
        raise web.HTTPNotFound(text="there is no such file")
    kind, body = kinds[name]
    return web.Response(body=body, content_type=kind, charset="utf-8", headers=_FRESH)


@routes.get("/robots.txt")
async def robots(_: web.Request) -> web.Response:
    """Other people's crawlers have nothing to look for among results."""
    return web.Response(text="User-agent: *\nAllow: /$\nDisallow: /\n")
