"""Words of SQL that every engine writes alike: names in backticks, literals in quotes; and reading them back."""

import re

_NAME = re.compile(r"`((?:[^`]|``)*)`")
_LITERAL = re.compile(r"'((?:[^'\\]|\\.|'')*)'", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)|''", re.DOTALL)
_MEANT = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "0": "\0", "Z": "\x1a"}


def name(word: str) -> str:
    """A name in backticks."""
    return f"`{word.replace('`', '``')}`"


def names(words: tuple[str, ...]) -> str:
    """Names in backticks, separated by commas."""
    return ", ".join(name(word) for word in words)


def read_name(text: str, at: int = 0) -> tuple[str, int]:
    """The name that begins at a place, and where it ends. Raises ValueError when none begins there."""
    match = _NAME.match(text, at)
    if match is None:
        raise ValueError(f"no name at {text[at : at + 40]!r}")
    return match.group(1).replace("``", "`"), match.end()


def read_literal(text: str, at: int = 0) -> tuple[str, int]:
    """The text of the literal that begins at a place, and where it ends. Raises ValueError when none begins there."""
    match = _LITERAL.match(text, at)
    if match is None:
        raise ValueError(f"no literal at {text[at : at + 40]!r}")
    return unescaped(match.group(1)), match.end()


def read_literals(text: str) -> tuple[str, ...]:
    """The texts of literals that are separated by commas."""
    found, at = [], 0
    while True:
        literal, at = read_literal(text, at)
        found.append(literal)
        if at == len(text):
            return tuple(found)
        if text[at] != ",":
            raise ValueError(f"no comma at {text[at : at + 40]!r}")
        at += 1


def unescaped(inner: str) -> str:
    """What stands between the quotes of a literal, as it is meant."""
    return _ESCAPED.sub(lambda match: "'" if match.group(1) is None else _meant(match.group(1)), inner)


def _meant(sign: str) -> str:
    return _MEANT.get(sign, sign)
