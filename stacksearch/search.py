"""A search: the index gives ids, memcached or the database what is shown of them."""

import html
import secrets
import time
from dataclasses import asdict, dataclass
from typing import Any

from stacksearch import documents
from stacksearch.cache import Cache
from stacksearch.database import Database
from stacksearch.errors import InputError
from stacksearch.index import MAX_MATCHES, Index

QUERY_LENGTH = 500


@dataclass(frozen=True)
class Question:
    """What is asked: the words, and which page of results."""

    query: str
    page: int = 1
    size: int = 10

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise InputError("nothing to search for", hint="give some words")
        if len(self.query) > QUERY_LENGTH:
            raise InputError(f"the query is longer than {QUERY_LENGTH} characters")
        if not 1 <= self.size <= 100:
            raise InputError(f"{self.size} results a page are not between 1 and 100")
        last = MAX_MATCHES // self.size
        if not 1 <= self.page <= last:
            raise InputError(
                f"there is no page {self.page}", hint=f"the best {MAX_MATCHES} results lie on the pages 1 to {last}"
            )


@dataclass(frozen=True)
class Hit:
    """A result. ``snippet`` is HTML in which the words found stand in ``<mark>``; the rest is plain text."""

    document: int
    url: str
    title: str
    snippet: str
    added: int


@dataclass(frozen=True)
class Answer:
    """The results of a page, best first, and how many there are in all."""

    query: str
    page: int
    size: int
    total: int
    seconds: float
    hits: tuple[Hit, ...]

    @property
    def pages(self) -> int:
        """How many pages of results can be shown."""
        return min((self.total + self.size - 1) // self.size, MAX_MATCHES // self.size)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as it travels through Gearman and leaves by the API."""
        return {**asdict(self), "hits": [asdict(hit) for hit in self.hits], "pages": self.pages}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Answer":
        """Read plain data."""
        fields = {name: value for name, value in data.items() if name not in ("hits", "pages")}
        return cls(**fields, hits=tuple(Hit(**hit) for hit in data["hits"]))


class Searcher:
    """Answers questions."""

    def __init__(self, database: Database, cache: Cache, index: Index) -> None:
        self._database = database
        self._cache = cache
        self._index = index

    def answer(self, question: Question) -> Answer:
        """The answer; ids that the database does not know any more are taken out of the index on the way."""
        began = time.perf_counter()
        offset = (question.page - 1) * question.size
        found = self._index.search(question.query, offset, question.size)
        sources = self._cache.sources(found.ids)
        if missing := [number for number in found.ids if number not in sources]:
            loaded = documents.sources(self._database, missing)
            self._cache.put_sources(loaded)
            sources.update(loaded)
            self._forget([number for number in missing if number not in loaded])
        shown = [number for number in found.ids if number in sources]
        snippets = self._snippets([sources[number].text for number in shown], question.query)
        hits = tuple(
            Hit(number, sources[number].address, sources[number].title, snippet, sources[number].added)
            for number, snippet in zip(shown, snippets, strict=True)
        )
        total = found.total - (len(found.ids) - len(shown))
        return Answer(
            question.query, question.page, question.size, total, round(time.perf_counter() - began, 4), hits
        )

    def _forget(self, numbers: list[int]) -> None:
        gone = set(numbers) - documents.load(self._database, numbers).keys()
        self._index.delete(gone)

    def _snippets(self, texts: list[str], query: str) -> list[str]:
        # searchd escapes nothing. Marks that nobody can guess stay apart from whatever a page holds.
        secret = secrets.token_hex(8)
        marks = (f"[[{secret}:", f":{secret}]]")
        return [
            html.escape(snippet).replace(marks[0], "<mark>").replace(marks[1], "</mark>")
            for snippet in self._index.snippets(texts, query, marks)
        ]
