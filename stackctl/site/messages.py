"""What the validator found wrong, in plain words, at the key path as the file spells it."""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

from pydantic_core import ErrorDetails

from stackctl.site.document import Document, KeyPath, Problem, kind_of
from stackctl.site.schema import annotation_at, known_keys
from stackctl.site.values import PATTERN_WORDS, WrongValueError

_DOCUMENTATION = {
    "bool": "must be true or false",
    "int": "must be a whole number",
    "string": "must be text",
    "tuple": "must be a list",
    "dict": "must be a mapping (`key: value` lines)",
    "model": "must be a mapping (`key: value` lines)",
}


def problems_of(errors: Iterable[ErrorDetails], document: Document) -> list[Problem]:
    """A problem for every error of the validator; ``document`` gives lines and spellings."""
    return [_problem(error, document) for error in errors]


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A guess at what was meant, else the list of what is known."""
    if close := difflib.get_close_matches(word, known, n=1, cutoff=0.6):
        return f"did you mean {close[0]}?"
    return f"known: {', '.join(known)}"


def place_of(error: ErrorDetails) -> KeyPath:
    """The key path of an error, with the key that its message is about."""
    path: KeyPath = tuple(part for part in error["loc"] if part != "[key]")
    wrong = error.get("ctx", {}).get("error")
    return (*path, *wrong.at) if isinstance(wrong, WrongValueError) else path


def _problem(error: ErrorDetails, document: Document) -> Problem:
    path = place_of(error)
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "missing":
        message = "is missing"
        if path == ("plugin",):
            message += "; the file must say `plugin: stackctl`"
    elif kind == "extra_forbidden":
        message = f"is not a known key; {did_you_mean(str(path[-1]), known_keys(path[:-1]))}"
    elif error["loc"] and error["loc"][-1] == "[key]":
        message = f"the name {_reason(kind, str(path[-1]), context)}"
    elif value is None:
        message = "is empty; give it a value, or take the line out"
    else:
        spelling = document.marks[path].spelling if path in document.marks else None
        message = _wrong_type(kind, value, spelling) or _reason(kind, value, context, path)
    return document.problem(path, message)


def _wrong_type(kind: str, value: Any, spelling: str | None) -> str | None:
    expected = _DOCUMENTATION.get(kind.split("_")[0])
    if expected is None or not re.search(r"_(type|parsing|from_float|attributes_type)$", kind):
        return None
    message = f"{expected}, not {kind_of(value)}"
    if kind == "string_type" and spelling is not None:
        return f'{message}; write it in quotes: "{spelling}"'
    if kind == "tuple_type" and isinstance(value, str):
        return f"{message}; write it in brackets: [{value}]"
    if kind.startswith("model") and isinstance(value, str):
        return message
    return message


def _reason(kind: str, value: Any, context: dict[str, Any], path: KeyPath = ()) -> str:
    """Why a value of the right type is wrong."""
    reason = _REASONS.get(kind)
    if kind == "literal_error":
        return _not_among(value, path)
    if kind == "value_error":
        wrong = context["error"]
        return wrong.message if isinstance(wrong, WrongValueError) else str(wrong)
    return reason(value, context) if reason else "cannot be used"


def _not_among(value: Any, path: KeyPath) -> str:
    known = tuple(str(choice) for choice in get_args(annotation_at(path)))
    noun = "a known role" if "roles" in path else "a known value"
    if len(known) == 1:
        return f"must be {known[0]}, not {kind_of(value)}"
    close = difflib.get_close_matches(str(value), known, n=1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    return f"{value if isinstance(value, str) else kind_of(value)} is not {noun}{meant}; known: {', '.join(known)}"


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…'"


_REASONS: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "greater_than_equal": lambda value, context: f"must be at least {context['ge']}, not {value}",
    "less_than_equal": lambda value, context: f"must be at most {context['le']}, not {value}",
    "string_pattern_mismatch": lambda value, context: f"{_quoted(value)} {PATTERN_WORDS[context['pattern']]}",
    "string_too_long": lambda value, context: f"{_quoted(value)} is longer than {context['max_length']} characters",
    "string_too_short": lambda value, context: "is empty; give it a value, or take the line out",
    "too_short": lambda value, context: "is empty; at least one is needed",
    "finite_number": lambda value, context: f"must be a number, not {value}",
    "recursion_loop": lambda value, context: "leads back into itself",
    "int_parsing_size": lambda value, context: "is too large a number",
}
