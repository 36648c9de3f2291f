"""Renders the pages: templates that escape what they are given, one style sheet, no scripts."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import jinja2
from aiohttp import web

_HERE = Path(__file__).parent


class Pages:
    """The templates, ready to be rendered."""

    def __init__(self, title: str) -> None:
        self.style = (_HERE / "static" / "style.css").read_bytes()
        self.icon = (_HERE / "static" / "icon.svg").read_bytes()
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals.update(title=title, version=hashlib.blake2b(self.style, digest_size=6).hexdigest())
        self._templates.filters.update(date=_date, number=_number, query=urlencode, place=_place)

    def response(self, template: str, *, status: int = 200, **values: object) -> web.Response:
        """A page of HTML."""
        text = self._templates.get_template(template).render(values, status=status)
        return web.Response(text=text, status=status, content_type="text/html", headers={"Cache-Control": "no-store"})


def _date(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _number(value: int) -> str:
    return f"{value:,}".replace(",", "\N{THIN SPACE}")


def _place(address: str) -> str:
    """A URL as people read it: host and path."""
    parts = urlsplit(address)
    path = parts.path.rstrip("/").replace("/", " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} ")
    return f"{parts.netloc}{path}{'?' + parts.query if parts.query else ''}"
