"""The search application from the outside: its own look at its services, and a page from submission to result."""

import http.client
import json
import secrets
import socket
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stackctl.node.process import Runner, SystemRunner

SECONDS = 90.0
"""How long a page may take from submission to result."""

_REQUEST = 30.0


class SearchError(Exception):
    """The application does not do what it should."""


_FAILURES = (OSError, http.client.HTTPException, ValueError, KeyError, SearchError)
"""Whatever a service that is not what it should be can answer with."""


def look(runner: Runner | None = None) -> list[str]:
    """What the application finds amiss with the services behind it, by its own configuration."""
    done = (runner or SystemRunner()).run(["stacksearch", "check", "--json"], check=False, timeout=120)
    try:
        services = json.loads(done.stdout)
        return [f"{service['name']}: {service['said']}" for service in services if not service["good"]]
    except (ValueError, KeyError, TypeError):
        lines = (done.stderr or done.stdout).strip().splitlines()
        return [lines[-1] if lines else f"stacksearch check ended with {done.returncode} and said nothing"]


def page(host: str, port: int, places: list[list[Any]], runner: Runner | None = None) -> dict[str, Any]:
    """What went wrong with a page of ours that is served at the first free of ``places``, crawled and found.

    ``places`` are addresses and ports (0: any). Where none is free, nothing is ``served``. The page is forgotten
    afterwards; what goes wrong with that is told under ``cleanup``.
    """
    word = "stackctl" + "".join(secrets.choice("bcdfghjklmnpqrstvwxz") for _ in range(16))
    server = _serve(places, word)
    if server is None:
        return {"served": False, "wrong": None, "cleanup": None}
    address, used = server.server_address[:2]
    url = f"http://{f'[{address!s}]' if ':' in str(address) else address!s}:{used}/{word}.html"
    wrong = None
    try:
        _crawl_and_find(_Front(host, port), url, word)
    except _FAILURES as failure:
        wrong = str(failure) or type(failure).__name__
    finally:
        server.shutdown()
        server.server_close()
    return {"served": True, "wrong": wrong, "cleanup": _forget(runner or SystemRunner(), url)}


def known(host: str, port: int, words: str) -> dict[str, Any]:
    """How many documents the application holds, how many of them some words find, and what went wrong."""
    front = _Front(host, port)
    try:
        count = int(front.ask("GET", "/api/status")["documents"])
        return {"wrong": None, "documents": count, "found": int(front.search(words)["total"]) if count else 0}
    except _FAILURES as failure:
        return {"wrong": str(failure) or type(failure).__name__, "documents": 0, "found": 0}


def _serve(places: list[list[Any]], word: str) -> ThreadingHTTPServer | None:
    """A server of the page at the first place that is free."""
    for address, port in places:
        try:
            server = (_Server6 if ":" in address else _Server)((address, port), _handler(word))
        except OSError:
            continue
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server
    return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Front:
    """The web front's API."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def ask(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_REQUEST)
        try:
            headers = {"Accept": "application/json"}
            if body is not None:
                headers["Content-Type"] = "application/json"
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        except ConnectionError as failure:
            raise SearchError(f"the web front on {self.host}:{self.port}: {failure.strerror}") from None
        finally:
            connection.close()
        if response.status >= 400:
            raise SearchError(f"{method} {path} is answered with {response.status}: {_told(text)}")
        return json.loads(text)

    def search(self, words: str) -> Any:
        return self.ask("GET", f"/api/search?{urllib.parse.urlencode({'q': words})}")


def _told(text: str) -> str:
    """The message of the API's error, or the beginning of whatever else came."""
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return " ".join(text.split())[:200]


def _crawl_and_find(front: _Front, url: str, word: str) -> None:
    ends = time.monotonic() + SECONDS
    submitted = front.ask("POST", "/api/urls", {"url": url, "depth": 0})["urls"][0]
    row, pause = submitted, 0.2
    while not row["ended"]:
        if time.monotonic() > ends:
            raise SearchError(f"the page is still {row['state']} {SECONDS:g} s after it was submitted")
        time.sleep(pause)
        pause = min(pause * 1.5, 2.0)
        row = front.ask("GET", f"/api/urls/{submitted['id']}")
    if row["state"] != "done":
        raise SearchError(f"the page has {row['state']}: {row['reason']}")
    found = front.search(word)
    if url not in [hit["url"] for hit in found["hits"]]:
        raise SearchError(f"the page was crawled and indexed, and a search for its word has {found['total']} results")


def _forget(runner: Runner, url: str) -> str | None:
    done = runner.run(["stacksearch", "forget", url], check=False, timeout=120)
    if done.returncode == 0:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"stacksearch forget ended with {done.returncode}"


def _handler(word: str) -> type[BaseHTTPRequestHandler]:
    text = f"<!doctype html><title>A page of stackctl validate</title><p>{word} is a word of this page alone.</p>"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = text.encode() if self.path == f"/{word}.html" else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            """Nobody reads the log of one page."""

    return Handler
