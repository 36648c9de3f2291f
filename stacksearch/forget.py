"""Takes pages out again: their rows, and the documents to which nothing else points, from table, cache and index."""

import functools
from collections.abc import Sequence

from stacksearch.cache import Cache
from stacksearch.database import Database, Transaction, statement
from stacksearch.documents import delete_orphan
from stacksearch.index import Index
from stacksearch.urls import digest, normalise

_LOCK = statement("SELECT id, document FROM url WHERE digest IN ({rows}) ORDER BY id FOR UPDATE")
_DELETE_URLS = statement("DELETE FROM url WHERE id IN ({rows})")


def forget(database: Database, cache: Cache, index: Index, texts: Sequence[str]) -> int:
    """Forget these URLs; gives how many were known. What is under way for one of them is dropped when it ends.

    Links that other pages have to it bring a URL back when those pages are fetched again.
    """
    digests = sorted({digest(normalise(text)) for text in texts})
    known, documents = database.transaction(functools.partial(_forget_urls, digests))
    gone = [number for number in documents if database.transaction(functools.partial(delete_orphan, number))]
    if gone:
        cache.drop_sources(gone)
        index.delete(gone)
    return known


def _forget_urls(digests: Sequence[str], tx: Transaction) -> tuple[int, list[int]]:
    """How many URLs there were, and the documents that they led to."""
    rows = tx.read(_LOCK, rows=digests)
    if rows:
        tx.write(_DELETE_URLS, rows=[number for number, _ in rows])
    return len(rows), sorted({document for _, document in rows if document is not None})
