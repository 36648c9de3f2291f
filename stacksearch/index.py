"""Sphinx: a real-time index of titles and texts, which can be made again from the database at any time."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pymysql

from stacksearch.config import IndexConfig
from stacksearch.database import Connection, Row
from stacksearch.documents import Document
from stacksearch.errors import UnavailableError

log = logging.getLogger(__name__)

MAX_MATCHES = 1000
"""Sphinx gives no more than so many results of a query."""
_BATCH_BYTES = 4_000_000
"""Of one REPLACE; searchd's max_packet_size is 8 MiB."""

OPERATORS = frozenset("\\()|-!@~\"&/^$=<*?'")
_ESCAPED = str.maketrans({character: f"\\{character}" for character in OPERATORS})


@dataclass(frozen=True)
class Matches:
    """What a query found: ids, best first, and how many there are in all."""

    ids: tuple[int, ...]
    total: int


def escape(words: str) -> str:
    """The words without the meaning of operators."""
    return words.translate(_ESCAPED)


def user_query(typed: str) -> str:
    """What a person typed, with the operators people know: "phrases", -without, OR as |. All others are words."""
    parts: list[str] = []
    for number, piece in enumerate(typed.split('"')):
        quoted = number % 2 == 1
        words = [word for word in piece.split() if any(character.isalnum() for character in word) or word == "|"]
        if quoted:
            phrase = " ".join(escape(word) for word in words if word != "|")
            if phrase:
                parts.append(f'"{phrase}"')
            continue
        for word in words:
            if word in ("|", "OR"):
                parts.append("|")
            elif word.startswith("-") and parts:
                parts.append("-" + escape(word.lstrip("-")))
            else:
                parts.append(escape(word))
    return " ".join(parts)


class Index:
    """A connection to searchd that is made when needed, and again when it is lost."""

    def __init__(self, config: IndexConfig) -> None:
        self._config = config
        self._connection: Connection | None = None

    def __str__(self) -> str:
        return f"{self._config.host}:{self._config.port}"

    def replace(self, documents: Collection[Document]) -> None:
        """Put documents into the index; those that it holds already are replaced."""
        batch: list[str] = []
        size = 0
        literal = self._connect().quoted
        for document in documents:
            row = f"({document.id},{literal(document.title)},{literal(document.text)},{document.added})"
            length = len(row.encode())
            if batch and size + length > _BATCH_BYTES:
                self._replace_rows(batch)
                batch, size = [], 0
            batch.append(row)
            size += length
        if batch:
            self._replace_rows(batch)

    def _replace_rows(self, rows: Sequence[str]) -> None:
        self._run(f"REPLACE INTO {self._config.name} (id, title, content, added) VALUES {','.join(rows)}")  # noqa: S608

    def delete(self, numbers: Collection[int]) -> None:
        """Take documents out of the index."""
        if numbers:
            listed = ",".join(str(int(number)) for number in numbers)
            self._run(f"DELETE FROM {self._config.name} WHERE id IN ({listed})")  # noqa: S608

    def search(self, typed: str, offset: int, count: int) -> Matches:
        """The best matches. What searchd takes for wrong operators is asked again as plain words."""
        try:
            return self._search(user_query(typed), offset, count)
        except pymysql.err.ProgrammingError as failure:
            log.info("query %r: %s", typed, failure)
        words = " ".join(escape(word) for word in typed.split() if any(character.isalnum() for character in word))
        try:
            return self._search(words, offset, count)
        except pymysql.err.ProgrammingError as failure:
            log.warning("query %r, as plain words: %s", typed, failure)
            return Matches((), 0)

    def _search(self, query: str, offset: int, count: int) -> Matches:
        if not query:
            return Matches((), 0)
        literal = self._connect().quoted
        rows = self._run(
            f"SELECT id FROM {self._config.name} WHERE MATCH({literal(query)}) LIMIT {offset:d},{count:d}"  # noqa: S608
            f" OPTION max_matches={MAX_MATCHES}, ranker=proximity_bm25, field_weights=(title=5, content=1),"
            " max_query_time=5000"
        )
        total = next((int(value) for name, value in self._run("SHOW META") if name == "total_found"), 0)
        return Matches(tuple(int(row[0]) for row in rows), total)

    def snippets(self, texts: Sequence[str], typed: str, marks: tuple[str, str]) -> list[str]:
        """An excerpt of each text with the words of the query between the marks; nothing is escaped."""
        if not texts:
            return []
        literal = self._connect().quoted
        words = " ".join(escape(word) for word in typed.replace('"', " ").split() if not word.startswith("-"))
        listed = ",".join(literal(text) for text in texts)
        rows = self._run(
            f"CALL SNIPPETS(({listed}), {literal(self._config.name)}, {literal(words)}, 240 AS limit, 8 AS around,"
            f" {literal(marks[0])} AS before_match, {literal(marks[1])} AS after_match, ' … ' AS chunk_separator,"
            " 1 AS allow_empty)"
        )
        return [str(row[0]) for row in rows]

    def ids(self, first: int, last: int) -> set[int]:
        """The ids between two, both included; at most ``MAX_MATCHES`` lie there."""
        rows = self._run(
            f"SELECT id FROM {self._config.name} WHERE id BETWEEN {first:d} AND {last:d}"  # noqa: S608
            f" LIMIT {MAX_MATCHES} OPTION max_matches={MAX_MATCHES}"
        )
        return {int(row[0]) for row in rows}

    def highest(self) -> int:
        """The highest id; 0 for an empty index."""
        rows = self._run(f"SELECT id FROM {self._config.name} ORDER BY id DESC LIMIT 1")  # noqa: S608
        return int(rows[0][0]) if rows else 0

    def status(self) -> dict[str, str]:
        """What searchd says of itself, and of the index (``indexed_documents``)."""
        facts = {str(name): str(value) for name, value in self._run("SHOW STATUS")}
        facts.update((str(name), str(value)) for name, value in self._run(f"SHOW INDEX {self._config.name} STATUS"))
        return facts

    def close(self) -> None:
        """Let the connection go; the next use makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> Connection:
        if self._connection is None:
            try:
                self._connection = Connection(
                    host=self._config.host,
                    port=self._config.port,
                    autocommit=True,
                    connect_timeout=5,
                    read_timeout=60,
                    write_timeout=60,
                    ssl_disabled=True,
                )
            except pymysql.err.OperationalError as failure:
                raise self._unavailable(failure) from None
        return self._connection

    def _run(self, sql: str) -> list[Row]:
        for attempt in (1, 2):
            connection = self._connect()
            try:
                with connection.cursor() as cursor:
                    cursor.execute(sql)
                    return list(cursor.fetchall())
            except (pymysql.err.OperationalError, pymysql.err.InterfaceError, OSError) as failure:
                self._connection = None
                if attempt == 2:
                    raise self._unavailable(failure) from None
        raise AssertionError("unreachable")

    def _unavailable(self, failure: Exception) -> UnavailableError:
        said = failure.args[-1] if failure.args else failure
        return UnavailableError(f"searchd at {self}: {said}")
