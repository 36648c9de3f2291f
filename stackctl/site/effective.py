"""Every value that a site ends up with, and where it comes from: a line of its file, a default, the controller."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from stackctl.errors import InputError
from stackctl.site.document import KeyPath, dotted, read
from stackctl.site.load import OpenSite
from stackctl.site.mirrors import mirrors_of

DEFAULT = "default"
CONTROLLER = "controller"


@dataclass(frozen=True)
class Effective:
    """A value as one would write it, and its source: `line N`, `default` or `controller`."""

    path: KeyPath
    value: str
    source: str

    @property
    def dotted(self) -> str:
        """The path with dots."""
        return dotted(self.path)


def effective(opened: OpenSite, under: str | None = None) -> list[Effective]:
    """Every leaf value of an open site, in the order of the models; or those at and below a dotted path.

    Raises InputError when the site has nothing there.
    """
    document = read(opened.file)
    mirrors = mirrors_of(opened.site.mirrors)
    found = []
    for path, value in _leaves(opened.site, opened.site.model_dump(mode="json"), ()):
        source = f"line {document.line(path)}" if document.has(path) else DEFAULT
        if path[0] == "mirrors" and value is None:
            value, source = mirrors[str(path[1])], CONTROLLER if mirrors[str(path[1])] else DEFAULT
        found.append(Effective(path, _as_yaml(value), source))
    if under is None:
        return found
    below = [item for item in found if item.dotted == under or item.dotted.startswith((f"{under}.", f"{under}["))]
    if not below:
        raise InputError(
            f"this site has nothing at {under}", hint="`stackctl explain --values` lists all that it has"
        )
    return below


def _leaves(part: Any, shown: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """The leaves of a model; ``shown`` is the same part with sizes in human words."""
    if isinstance(part, BaseModel):
        for name in type(part).model_fields:
            yield from _leaves(getattr(part, name), shown[name], (*path, name))
    elif isinstance(part, dict):
        for name, below in part.items():
            yield from _leaves(below, shown[name], (*path, name))
    else:
        yield path, shown


def _as_yaml(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
