"""memcached, which only speeds: whatever it loses is fetched or read again, and its absence is borne."""

import json
import logging
import zlib
from collections.abc import Collection, Mapping

from pymemcache.client.hash import HashClient
from pymemcache.exceptions import MemcacheError

from stacksearch.config import CacheConfig
from stacksearch.documents import Key, Source
from stacksearch.page import Page

log = logging.getLogger(__name__)

_COMPRESS_OVER = 100_000
_PLAIN, _ZLIB = b"0", b"1"


class Cache:
    """Pages on their way to the Document Worker, and documents for the Search Worker."""

    def __init__(self, config: CacheConfig, prefix: str) -> None:
        self._config = config
        self._prefix = prefix
        self._client = HashClient(
            [(server.host, server.port) for server in config.servers],
            connect_timeout=2,
            timeout=5,
            no_delay=True,
            retry_attempts=1,
            retry_timeout=1,
            dead_timeout=5,
        )

    def put_pages(self, pages: Mapping[Key, Page]) -> set[Key]:
        """Keep fetched pages; gives those that could not be kept."""
        values = {self._page_key(key): _pack({"title": page.title, "text": page.text}) for key, page in pages.items()}
        fitting = {name: value for name, value in values.items() if len(value) <= self._config.item_limit}
        lost = self._set(fitting) | (values.keys() - fitting.keys())
        return {key for key in pages if self._page_key(key) in lost}

    def pages(self, keys: Collection[Key]) -> dict[Key, Page]:
        """The pages that are still there."""
        found = self._get([self._page_key(key) for key in keys])
        pages = {}
        for key in keys:
            match found.get(self._page_key(key)):
                case {"title": str(title), "text": str(text)}:
                    pages[key] = Page(title, text)
        return pages

    def put_sources(self, sources: Mapping[int, Source]) -> None:
        """Keep documents, by their ids, for searches to come."""
        values = {
            self._document_key(number): _pack(
                {"address": source.address, "title": source.title, "text": source.text, "added": source.added}
            )
            for number, source in sources.items()
        }
        self._set({name: value for name, value in values.items() if len(value) <= self._config.item_limit})

    def sources(self, numbers: Collection[int]) -> dict[int, Source]:
        """The documents that are there."""
        found = self._get([self._document_key(number) for number in numbers])
        sources = {}
        for number in numbers:
            match found.get(self._document_key(number)):
                case {"address": str(address), "title": str(title), "text": str(text), "added": int(added)}:
                    sources[number] = Source(address, title, text, added)
        return sources

    def drop_sources(self, numbers: Collection[int]) -> None:
        """Let documents go that are no more."""
        try:
            self._client.delete_many([self._document_key(number) for number in numbers])
        except (MemcacheError, OSError) as failure:
            log.debug("memcached: %s", failure)

    def check(self) -> str:
        """Write and read a value; gives what the server says of itself. Raises OSError or MemcacheError."""
        name = f"{self._prefix}:check"
        self._client.set(name, b"1", expire=60, noreply=False)
        if self._client.get(name) != b"1":
            raise MemcacheError("a value that was written cannot be read")
        return ", ".join(str(server) for server in self._config.servers)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _page_key(self, key: Key) -> str:
        return f"{self._prefix}:page:{key[0]}:{key[1]}"

    def _document_key(self, number: int) -> str:
        return f"{self._prefix}:document:{number}"

    def _set(self, values: Mapping[str, bytes]) -> set[str]:
        if not values:
            return set()
        try:
            return set(self._client.set_many(dict(values), expire=self._config.lifetime, noreply=False))
        except (MemcacheError, OSError) as failure:
            log.warning("memcached: %s", failure)
            return set(values)

    def _get(self, names: Collection[str]) -> dict[str, object]:
        if not names:
            return {}
        try:
            found = self._client.get_many(list(names))
        except (MemcacheError, OSError) as failure:
            log.warning("memcached: %s", failure)
            return {}
        return {name: _unpack(packed) for name, packed in found.items()}


def _pack(value: Mapping[str, object]) -> bytes:
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    if len(plain) > _COMPRESS_OVER:
        return _ZLIB + zlib.compress(plain, 1)
    return _PLAIN + plain


def _unpack(packed: bytes) -> object:
    """The value; None when it is not ours, as anyone who reaches a memcached can write to it."""
    try:
        return json.loads(zlib.decompress(packed[1:]) if packed[:1] == _ZLIB else packed[1:])
    except (ValueError, zlib.error):
        return None
