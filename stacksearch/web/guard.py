"""What stands before every handler: cross-site requests are refused, errors are told well, headers are strict."""

import logging
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

from stacksearch.errors import InputError, StacksearchError, UnavailableError
from stacksearch.web.keys import PAGES

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def is_cross_site(request: web.Request) -> bool:
    """Whether another site's page has sent a request that changes something.

    Browsers say so in Sec-Fetch-Site or, over plain HTTP, in Origin; what sends neither is no browser and carries
    nobody's rights with it.
    """
    if request.method in _SAFE:
        return False
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc.lower() != request.host.lower()


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every response goes through here."""
    try:
        if is_cross_site(request):
            raise web.HTTPForbidden(text="another site's page has sent this")
        response = await handler(request)
    except web.HTTPException as failure:
        if failure.status < 400:
            failure.headers.update(_HEADERS)
            raise
        text = failure.text if failure.text and not failure.text.startswith(f"{failure.status}:") else failure.reason
        response = _told(request, failure.status, text or "", None)
        if "Allow" in failure.headers:
            response.headers["Allow"] = failure.headers["Allow"]
    except InputError as failure:
        response = _told(request, 422, failure.message, failure.hint)
    except UnavailableError as failure:
        log.warning("%s %s: %s", request.method, request.path, failure.message)
        response = _told(request, 503, failure.message, failure.hint)
    except StacksearchError as failure:
        response = _told(request, 500, failure.message, failure.hint)
    except Exception:
        log.exception("%s %s", request.method, request.path)
        response = _told(request, 500, "an error of the web front; its journal says more", None)
    response.headers.update(_HEADERS)
    return response


def _told(request: web.Request, status: int, message: str, hint: str | None) -> web.Response:
    """An error, as JSON for the API and as a page for people."""
    if request.path.startswith(("/api/", "/healthz")):
        error = {"status": status, "message": message, **({"hint": hint} if hint else {})}
        return web.json_response({"error": error}, status=status)
    return request.app[PAGES].response("error.html", status=status, message=message, hint=hint)
