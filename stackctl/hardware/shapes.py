"""The format of a machine's facts as a tree of keys: what may stand where, for the mask and for people."""

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from stackctl.hardware.dump import Dump
from stackctl.hardware.kinds import Kind, Part


@dataclass(frozen=True, slots=True)
class Shape:
    """What may stand at a place: a text of a kind, a mapping, a list, or a part with its own keys."""

    kind: Kind | None = None
    key: "Shape | None" = None
    """The shape of a mapping's keys."""
    items: "Shape | None" = None
    """The shape of a mapping's values, or of a list's items."""
    part: type[Part] | None = None


def shape(annotation: Any) -> Shape:
    """The shape that an annotation of the models gives; of alternatives the first that is no bare value."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return Shape(kind=next((word for word in arguments[1:] if isinstance(word, Kind)), None))
    if origin in (Union, types.UnionType):
        return next((found for found in map(shape, arguments) if found != Shape()), Shape())
    if origin is dict:
        return Shape(key=shape(arguments[0]), items=shape(arguments[1]))
    if origin is list:
        return Shape(items=shape(arguments[0]))
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return Shape(part=annotation)
    return Shape()


@cache
def shapes(part: type[Part]) -> Mapping[str, Shape]:
    """The shapes of a part's keys, as the facts spell them."""
    hints = get_type_hints(part, include_extras=True)
    return {field.alias or name: shape(hints[name]) for name, field in part.model_fields.items()}


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the format, for people."""

    path: str
    doc: str
    kind: Kind | None


def keys(part: type[Part] = Dump, above: str = "") -> Iterator[Key]:
    """Every key below a part, parents before children; `*` is any key of a mapping, `[]` any item of a list."""
    for (name, found), field in zip(shapes(part).items(), part.model_fields.values(), strict=True):
        path = f"{above}{name}"
        while found.items:
            path += ".*" if found.key else "[]"
            found = found.items
        yield Key(path, " ".join((field.description or "").split()), found.kind)
        if found.part:
            yield from keys(found.part, f"{path}.")
