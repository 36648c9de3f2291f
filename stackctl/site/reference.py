"""Every key of stack.yml with its type, default and meaning, read from the JSON Schema of the models."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stackctl.errors import InputError
from stackctl.site.messages import did_you_mean
from stackctl.site.schema import json_schema
from stackctl.site.values import FORMAT_WORDS
from stackctl.units import format_size

NAME = "NAME"
"""Stands in a key path for a name that the operator chooses."""


@dataclass(frozen=True)
class Key:
    """One key: ``default`` is YAML as one would write it, None where there is none."""

    path: tuple[str, ...]
    type: str
    doc: str
    required: bool
    default: str | None

    @property
    def dotted(self) -> str:
        """The path with dots."""
        return ".".join(self.path)

    @property
    def default_words(self) -> str:
        """The default for people."""
        return "required" if self.required else self.default or ""


def keys() -> tuple[Key, ...]:
    """Every key, parents before children, in the order of the models."""
    return tuple(_keys(json_schema(), json_schema()["$defs"], (), {}))


def keys_under(dotted: str | None) -> tuple[Key, ...]:
    """The key at a dotted path and all below it; a host's or layout's own name may stand for NAME.

    Raises InputError when there is no such key.
    """
    if dotted is None:
        return keys()
    asked = tuple(part for part in dotted.split(".") if part)
    found = tuple(key for key in keys() if _matches(asked, key.path))
    if not found:
        known = [key.dotted for key in keys()]
        raise InputError(f"stack.yml has no key {dotted}", hint=_nearest(asked, known))
    return found


def _matches(asked: tuple[str, ...], path: tuple[str, ...]) -> bool:
    if len(path) < len(asked):
        return False
    return all(ours in (NAME, theirs) for theirs, ours in zip(asked, path, strict=False))


def _nearest(asked: tuple[str, ...], known: list[str]) -> str:
    guess = did_you_mean(".".join(asked), known)
    return guess if guess.startswith("did") else "`stackctl explain` lists them all"


def _keys(
    schema: dict[str, Any], definitions: dict[str, Any], path: tuple[str, ...], inherited: dict[str, Any]
) -> Iterator[Key]:
    """The keys below an object; ``inherited`` holds the defaults that its parent gives them."""
    for name, given in schema.get("properties", {}).items():
        part = _resolved(given, definitions)
        default = inherited.get(name, given.get("default"))
        here = (*path, name)
        yield Key(
            path=here,
            type=_type(part, definitions),
            doc=given.get("description") or part.get("description", ""),
            required=name in schema.get("required", ()) and name not in inherited,
            default=_as_yaml(default, part),
        )
        below = default if isinstance(default, dict) else {}
        for pattern in part.get("patternProperties", {}).values():
            item = _resolved(pattern, definitions)
            yield Key((*here, NAME), _type(item, definitions), item.get("description", ""), False, None)
            yield from _keys(item, definitions, (*here, NAME), {})
        yield from _keys(part, definitions, here, below)


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema behind references and `or null`."""
    if "$ref" in schema:
        target: dict[str, Any] = definitions[schema["$ref"].rsplit("/", 1)[1]]
        return target
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    return _resolved(choices[0], definitions) if len(choices) == 1 else schema


def _type(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " | ".join(f"`{choice}`" for choice in schema["enum"])
    if words := FORMAT_WORDS.get(schema.get("format", "")):
        return words
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_type(_resolved(schema['items'], definitions), definitions)}"
    if kind == "object":
        return "mapping by name" if "patternProperties" in schema else "mapping"
    if kind == "integer":
        return f"number, {schema['minimum']} to {schema['maximum']}"
    return {"boolean": "`true` | `false`"}.get(str(kind), "text")


def _as_yaml(default: Any, schema: dict[str, Any]) -> str | None:
    if default is None or isinstance(default, dict):
        return None
    if schema.get("format") == "size" and isinstance(default, int):
        return format_size(default)
    if isinstance(default, bool):
        return str(default).lower()
    return f"[{', '.join(map(str, default))}]" if isinstance(default, list) else str(default)
