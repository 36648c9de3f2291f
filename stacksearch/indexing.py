"""The Document Worker's work: pages from the cache go into the document table and from there into the index."""

import logging
from collections.abc import Collection, Mapping

from stacksearch import documents
from stacksearch.cache import Cache
from stacksearch.config import Config
from stacksearch.database import Database
from stacksearch.documents import Key
from stacksearch.index import Index
from stacksearch.page import Page

log = logging.getLogger(__name__)


class Indexing:
    """Stores and indexes. Every step may be done again: rows are keyed by content, the index by the rows' ids."""

    def __init__(self, config: Config, database: Database, cache: Cache, index: Index) -> None:
        self._config = config
        self._database = database
        self._cache = cache
        self._index = index

    def announced(self, keys: Collection[Key]) -> int:
        """Take the announced pages out of the cache and store them; what the cache has lost is fetched again."""
        pages = self._cache.pages(keys)
        lost = [key for key in keys if key not in pages]
        if lost:
            documents.fetch_again(self._database, lost)
        return self.take(pages)

    def take(self, pages: Mapping[Key, Page]) -> int:
        """Store and index pages whose rows wait for them; gives how many URLs that served."""
        if not pages:
            return 0
        stored, fresh = documents.store(self._database, pages, self._config.sweep.patience)
        if fresh:
            self._index.replace(fresh)
        documents.finish(self._database, set(stored.values()))
        return len(stored)

    def again(self, numbers: Collection[int]) -> int:
        """Index stored documents, whether the index holds them or not."""
        found = documents.load(self._database, numbers)
        if found:
            self._index.replace(found.values())
            documents.finish(self._database, set(found))
        return len(found)
