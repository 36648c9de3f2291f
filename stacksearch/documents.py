"""The document table: one row for each distinct content, however many URLs lead to it.

A row never changes; a URL whose content has changed points to another row, and rows to which nothing points are
collected by the sweeper. Texts lie in parts, because a TEXT of MariaDB holds 64 KiB.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stacksearch.database import Database, Transaction, statement
from stacksearch.page import Page

_PART_LENGTH = 16_000
"""Characters of a part: at most 64,000 bytes."""

_LOCK = statement("SELECT id, state, generation, document FROM url WHERE id IN ({rows}) FOR UPDATE")
_INSERT = statement("INSERT IGNORE INTO document (digest, title, size, added, indexed) VALUES {rows}")
_IDS = statement("SELECT digest, id, indexed FROM document WHERE digest IN ({rows}) FOR UPDATE")
_INSERT_PARTS = statement("INSERT IGNORE INTO document_part (document, part, body) VALUES {rows}")
_STORED = statement("""
    UPDATE url SET state = 'stored', reason = '', moment = UNIX_TIMESTAMP() + %s,
        document = CASE id {cases} ELSE document END
    WHERE id IN ({rows})
""")
_POINTING = statement("SELECT id FROM url WHERE document IN ({rows})")
_DONE = statement("UPDATE url SET state = 'done', moment = UNIX_TIMESTAMP() WHERE id IN ({rows})")
_INDEXED = statement("UPDATE document SET indexed = 1 WHERE id IN ({rows})")
_FETCH_AGAIN = statement(
    "UPDATE url SET state = 'queued', moment = UNIX_TIMESTAMP(), reason = 'lost from the cache' WHERE id IN ({rows})"
)
_NOW = statement("SELECT UNIX_TIMESTAMP()")
_TITLES = statement("SELECT id, title, added FROM document WHERE id IN ({rows})")
_PARTS = statement("SELECT document, body FROM document_part WHERE document IN ({rows}) ORDER BY document, part")
_ADDRESSES = statement("SELECT MIN(address), document FROM url WHERE document IN ({rows}) GROUP BY document")
_COUNT = statement("SELECT COUNT(*) FROM document")
_DELETE_ORPHAN = statement(
    "DELETE FROM document WHERE id = %s AND NOT EXISTS (SELECT 1 FROM url WHERE url.document = document.id)"
)
_DELETE_PARTS = statement("DELETE FROM document_part WHERE document = %s")

Key = tuple[int, int]
"""A URL's id and generation."""


@dataclass(frozen=True)
class Document:
    """A stored document; ``added`` is the Unix time at which it was stored."""

    id: int
    title: str
    text: str
    added: int


@dataclass(frozen=True)
class Source:
    """What a search shows of a document: one of its URLs, title and text."""

    address: str
    title: str
    text: str
    added: int


def store(database: Database, pages: Mapping[Key, Page], patience: int) -> tuple[dict[int, int], list[Document]]:
    """Store pages whose URLs still wait for them, in state ``fetched`` and at that generation.

    Gives the documents by the numbers of their URLs, and those documents that the index does not hold yet.
    """
    return database.transaction(lambda tx: store_in(tx, pages, patience))


def store_in(tx: Transaction, pages: Mapping[Key, Page], patience: int) -> tuple[dict[int, int], list[Document]]:
    """The same, inside a transaction."""
    generations = {number: generation for number, generation in pages}  # noqa: C416
    awaiting = {
        number: pages[number, generation]
        for number, state, generation, _ in tx.read(_LOCK, rows=sorted(generations))
        if state == "fetched" and (number, generation) in pages
    }
    if not awaiting:
        return {}, []
    by_digest = {page.digest: page for page in awaiting.values()}
    now = tx.read(_NOW)[0][0]
    digests = sorted(by_digest)
    entries = [(key, by_digest[key].title, len(by_digest[key].text), now, 0) for key in digests]
    tx.write(_INSERT, rows=entries)
    known = {key: (number, indexed) for key, number, indexed in tx.read(_IDS, rows=digests)}
    fresh = [
        Document(known[key][0], by_digest[key].title, by_digest[key].text, now)
        for key in digests
        if not known[key][1]
    ]
    parts = [part for document in fresh for part in _parts(document)]
    if parts:
        tx.write(_INSERT_PARTS, rows=parts)
    stored = {number: known[page.digest][0] for number, page in awaiting.items()}
    tx.write(_STORED, (patience,), rows=sorted(stored), cases=stored)
    return stored, fresh


def _parts(document: Document) -> list[tuple[int, int, str]]:
    text = document.text
    return [
        (document.id, number, text[start : start + _PART_LENGTH])
        for number, start in enumerate(range(0, len(text), _PART_LENGTH))
    ]


def finish(database: Database, documents: Collection[int]) -> None:
    """Say that the documents are in the index, which ends the URLs that wait for them."""
    wanted = sorted(documents)

    def work(tx: Transaction) -> None:
        tx.write(_INDEXED, rows=wanted)
        pointing = [number for (number,) in tx.read(_POINTING, rows=wanted)]
        ended = [
            number
            for number, state, _, document in (tx.read(_LOCK, rows=sorted(pointing)) if pointing else ())
            if state == "stored" and document in documents
        ]
        if ended:
            tx.write(_DONE, rows=ended)

    if wanted:
        database.transaction(work)


def fetch_again(database: Database, keys: Collection[Key]) -> None:
    """Queue URLs whose pages the cache has lost."""

    def work(tx: Transaction) -> None:
        lost = [
            number
            for number, state, generation, _ in tx.read(_LOCK, rows=sorted(number for number, _ in keys))
            if state == "fetched" and (number, generation) in keys
        ]
        if lost:
            tx.write(_FETCH_AGAIN, rows=lost)

    if keys:
        database.transaction(work)


def load(database: Database, numbers: Collection[int]) -> dict[int, Document]:
    """The documents with these ids; ids without one are left out."""
    if not numbers:
        return {}

    def work(tx: Transaction) -> dict[int, Document]:
        texts: dict[int, list[str]] = {}
        wanted = sorted(numbers)
        titles = tx.read(_TITLES, rows=wanted)
        for number, body in tx.read(_PARTS, rows=wanted):
            texts.setdefault(number, []).append(body)
        return {
            number: Document(number, title, "".join(texts.get(number, ())), added) for number, title, added in titles
        }

    return database.transaction(work)


def sources(database: Database, numbers: Collection[int]) -> dict[int, Source]:
    """What a search shows of the documents with these ids; ids without a document or a URL are left out."""
    if not numbers:
        return {}
    addresses = {number: address for address, number in database.read(_ADDRESSES, rows=sorted(numbers))}
    return {
        number: Source(addresses[number], document.title, document.text, document.added)
        for number, document in load(database, numbers).items()
        if number in addresses
    }


def count(database: Database) -> int:
    """How many documents there are."""
    return int(database.read(_COUNT)[0][0])


def delete_orphan(number: int, tx: Transaction) -> bool:
    """Delete a document unless a URL leads to it; whether it is gone from the table."""
    if not tx.write(_DELETE_ORPHAN, (number,)):
        return False
    tx.write(_DELETE_PARTS, (number,))
    return True
