"""Reads plain data (from YAML) into frozen dataclasses, strictly; gathers every error with its key's path."""

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Value = TypeVar("Value")


class Reader:
    """One reading; ``parsers`` turn text into values of kinds that are more than text.

    A field's metadata bounds it: ``min`` and ``max`` for numbers, ``choices`` and ``pattern`` for text.
    """

    def __init__(self, parsers: Mapping[Any, Callable[[str], Any]]) -> None:
        self.errors: list[str] = []
        self._parsers = parsers

    def section(self, kind: type[Value], data: object, path: str) -> Value | None:
        """The dataclass ``kind`` out of keys and values; None when there was an error."""
        if data is None:
            data = {}
        if not isinstance(data, dict):
            self._fail(path, f"expected keys and values, not {_describe(data)}")
            return None
        before = len(self.errors)
        hints = typing.get_type_hints(kind)
        fields = {item.name: item for item in dataclasses.fields(typing.cast(Any, kind))}
        for key in data:
            if key not in fields:
                self._fail(f"{path}.{key}".lstrip("."), f"unknown key; there are {', '.join(fields)}")
        values: dict[str, Any] = {}
        for name, item in fields.items():
            where = f"{path}.{name}".lstrip(".")
            if name in data:
                values[name] = self._value(hints[name], data[name], where, item.metadata)
            elif item.default is dataclasses.MISSING:
                self._fail(where, "is missing")
        return kind(**values) if len(self.errors) == before else None

    def _value(self, kind: Any, data: object, path: str, bounds: Mapping[str, Any]) -> Any:
        if typing.get_origin(kind) is tuple:
            if not isinstance(data, list):
                return self._fail(path, f"expected a list, not {_describe(data)}")
            element = typing.get_args(kind)[0]
            return tuple(self._value(element, each, f"{path}[{number}]", bounds) for number, each in enumerate(data))
        if kind not in self._parsers and dataclasses.is_dataclass(kind):
            return self.section(typing.cast(type[Any], kind), data, path)
        if kind is bool:
            return (
                data if isinstance(data, bool) else self._fail(path, f"expected true or false, not {_describe(data)}")
            )
        if kind in (int, float):
            return self._number(kind, data, path, bounds)
        return self._text(kind, data, path, bounds)

    def _number(self, kind: Any, data: object, path: str, bounds: Mapping[str, Any]) -> Any:
        if isinstance(data, bool) or not isinstance(data, (int, float) if kind is float else int):
            return self._fail(
                path, f"expected a {'number' if kind is float else 'whole number'}, not {_describe(data)}"
            )
        if "min" in bounds and not data >= bounds["min"]:
            return self._fail(path, f"{data} is less than {bounds['min']}")
        if "max" in bounds and not data <= bounds["max"]:
            return self._fail(path, f"{data} is more than {bounds['max']}")
        return kind(data)

    def _text(self, kind: Any, data: object, path: str, bounds: Mapping[str, Any]) -> Any:
        if not isinstance(data, str):
            return self._fail(path, f"expected text, not {_describe(data)}")
        if kind in self._parsers:
            try:
                return self._parsers[kind](data)
            except (ValueError, re.error) as failure:
                return self._fail(path, f"{data!r}: {failure}")
        if not data:
            return self._fail(path, "is empty")
        if "choices" in bounds and data not in bounds["choices"]:
            return self._fail(path, f"{data!r} is none of {', '.join(bounds['choices'])}")
        if "pattern" in bounds and not re.fullmatch(bounds["pattern"], data):
            return self._fail(path, f"{data!r} does not match {bounds['pattern']}")
        return data

    def _fail(self, path: str, what: str) -> None:
        self.errors.append(f"{path or 'the top'}: {what}")


_NAMES: dict[type, str] = {
    dict: "keys and values",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number with a fraction",
    types.NoneType: "nothing",
}


def _describe(data: object) -> str:
    return _NAMES.get(type(data), type(data).__name__)
