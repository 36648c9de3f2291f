"""A YAML file as plain values, each of which knows the line it stands on; and what is wrong with it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

KeyPath = tuple[str | int, ...]
"""The way to a value: keys of mappings and indexes of lists."""

_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LARGEST_FILE = 4 << 20
_MOST_NODES = 200_000

_PLAIN_WORDS = (
    (
        r"found character '\\t' that cannot start any token",
        "a tab stands where only spaces can indent",
    ),
    (r"found character '(.)' that cannot start any token", r"a value cannot begin with \1; put it in quotes"),
    (
        r"mapping values are not allowed here",
        "a ':' stands where none can; check the indentation or quote the value",
    ),
    (r"expected <block end>, but found .*", "the indentation does not fit the lines above"),
    (r"found unexpected end of stream", "a quote is not closed"),
    (r"expected '(.)' or '(.)', but got .*", r"expected '\1' or '\2'; is a bracket not closed?"),
    (r"could not find expected ':'", "a key without ':'"),
    (r"found undefined alias '(.*)'", r"the alias *\1 has no anchor &\1 above it"),
    (r"but found another document", "a second document (`---`) follows; the file holds one"),
)


def dotted(path: KeyPath) -> str:
    """A key path for people: ``hosts.metal-1.roles[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def shown(file: Path) -> str:
    """A file's path for people: relative where it lies under the current folder."""
    try:
        return str(file.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(file)


def _printable(text: str) -> str:
    """One line that moves no cursor, whatever the file holds."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, or doubtful, at one place of a file; ``line`` counts from 1."""

    file: Path
    line: int
    path: KeyPath
    message: str

    def __str__(self) -> str:
        where = f"{shown(self.file)}:{self.line}: "
        return _printable(f"{where}{dotted(self.path)}: {self.message}" if self.path else f"{where}{self.message}")

    def as_json(self) -> dict[str, Any]:
        """The parts of the problem as a JSON object."""
        return {"file": str(self.file), "line": self.line, "path": dotted(self.path), "message": self.message}


@dataclass(frozen=True)
class Mark:
    """Where a value stands, and a scalar's own spelling (``0123`` for what YAML reads as 83)."""

    line: int
    spelling: str | None = None


@dataclass
class Document:
    """The values of a YAML file, the mark of each, and the problems found while reading it."""

    file: Path
    value: Any = None
    marks: dict[KeyPath, Mark] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    holes: set[KeyPath] = field(default_factory=set)
    """Where a value stands that could not be read; it is None in ``value``, and told among the problems."""
    is_empty: bool = False

    def line(self, path: KeyPath) -> int:
        """The line of a key, or of the nearest one above it that the file has."""
        for length in range(len(path), -1, -1):
            if mark := self.marks.get(path[:length]):
                return mark.line
        return 1

    def has(self, path: KeyPath) -> bool:
        """Whether the file itself says something at ``path``."""
        return path in self.marks

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A problem at ``path`` of this file."""
        return Problem(self.file, self.line(path), path, message)


def read(file: Path, *, tags: frozenset[str] = frozenset()) -> Document:
    """Read a YAML file whose top is a mapping. Never raises: what is wrong stands in ``problems``.

    Values with one of ``tags`` (``!vault``) are taken as the text they are; other tags are problems.
    """
    document = Document(file)
    try:
        text = _text(file)
        root = _compose(text)
        document.value = None if root is None else _Builder(document, tags).build(root)
        if document.value is None:
            document.is_empty = not document.problems
            raise _UnreadableError(1, "the file is empty")
        if not isinstance(document.value, Mapping):
            raise _UnreadableError(1, f"the file must hold `key: value` lines, not {kind_of(document.value)}")
    except _UnreadableError as failure:
        document.value = None
        document.problems.append(Problem(file, failure.line, (), failure.message))
    return document


def kind_of(value: object) -> str:
    """What a YAML value is, in plain words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) <= 40 else "a long text"
    return "a list" if isinstance(value, list | tuple) else "a mapping"


class _UnreadableError(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def _text(file: Path) -> str:
    try:
        if file.exists() and not file.is_file():
            raise _UnreadableError(1, "this is not a regular file")
        if file.stat().st_size > _LARGEST_FILE:
            raise _UnreadableError(1, "the file is larger than 4 MiB; that is no description of a site")
        content = file.read_bytes()
    except FileNotFoundError:
        raise _UnreadableError(1, "there is no such file") from None
    except OSError as failure:
        raise _UnreadableError(1, f"the file cannot be read: {failure.strerror or failure}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = content.count(b"\n", 0, failure.start) + 1
        raise _UnreadableError(line, "the file is not UTF-8 text") from None


def _compose(text: str) -> yaml.Node | None:
    """The node tree; the fast parser reads good files, the one with the better words explains bad ones."""
    try:
        try:
            return yaml.compose(text, Loader=_FAST)
        except yaml.YAMLError:
            return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        line = mark.line + 1 if mark else 1
        column = f" (column {mark.column + 1})" if mark else ""
        raise _UnreadableError(line, f"not valid YAML: {_in_plain_words(failure)}{column}") from None
    except yaml.reader.ReaderError as failure:
        line = text.count("\n", 0, failure.position) + 1
        raise _UnreadableError(line, "not valid YAML: a control character stands here") from None
    except (yaml.YAMLError, ValueError) as failure:
        raise _UnreadableError(1, f"not valid YAML: {failure}") from None
    except RecursionError:
        raise _UnreadableError(1, "the file is nested too deeply") from None


def _in_plain_words(failure: yaml.MarkedYAMLError) -> str:
    said = failure.problem or failure.context or "it cannot be read"
    for pattern, words in _PLAIN_WORDS:
        if match := re.fullmatch(pattern, said):
            return match.expand(words)
    return said


class _Builder:
    """Turns nodes into plain values; keys are text as spelled, dates stay text, aliases are followed."""

    def __init__(self, document: Document, tags: frozenset[str]) -> None:
        self._text_tags = tags | {"tag:yaml.org,2002:timestamp"}
        self._document = document
        self._scalars = yaml.constructor.SafeConstructor()
        self._open: set[int] = set()
        self._nodes = 0

    def build(self, root: yaml.Node) -> Any:
        try:
            return self._value(root, ())
        except RecursionError:
            raise _UnreadableError(1, "the file is nested too deeply") from None

    def _problem(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        self._document.problems.append(Problem(self._document.file, _line(node), path, message))

    def _hole(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        self._document.holes.add(path)
        self._problem(node, path, message)

    def _mark(self, path: KeyPath, place: yaml.Node, value: yaml.Node) -> None:
        spelling = value.value if isinstance(value, yaml.ScalarNode) else None
        self._document.marks.setdefault(path, Mark(_line(place), spelling))

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        self._mark(path, node, node)
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise _UnreadableError(_line(node), "the file grows beyond all measure once its aliases are followed")
        if id(node) in self._open:
            return self._hole(node, path, "an alias leads back into itself")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.Node, path: KeyPath) -> Any:
        if node.tag in self._text_tags:
            return node.value
        try:
            return self._scalars.construct_object(node)
        except yaml.YAMLError:
            return self._hole(node, path, f"the tag {node.tag} means nothing here; write a plain value")
        except (ValueError, OverflowError):
            return self._hole(node, path, f"{kind_of(node.value)} cannot be read; put it in quotes")

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._problem(key_node, path, "a key must be plain text")
                continue
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = key_node.value
            if key in first:
                self._problem(key_node, (*path, key), f"is given twice; it stands in line {first[key]} already")
                continue
            first[key] = _line(key_node)
            self._mark((*path, key), key_node, value_node)
            values[key] = self._value(value_node, (*path, key))
        for merged in self._merges(node, path):
            for key, value in self._value(merged, path).items():
                values.setdefault(key, value)
        return values

    def _merges(self, node: yaml.MappingNode, path: KeyPath) -> Iterator[yaml.MappingNode]:
        for key_node, value_node in node.value:
            if key_node.tag != "tag:yaml.org,2002:merge":
                continue
            for source in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                if isinstance(source, yaml.MappingNode) and id(source) not in self._open:
                    yield source
                else:
                    self._problem(key_node, path, "`<<` takes a mapping, or a list of mappings")


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1 if node.start_mark else 1
