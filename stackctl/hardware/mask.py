"""Masks the facts of servers: what names machines, disks and people is replaced, always the same by the same."""

from collections.abc import Callable, Mapping
from typing import Any

from stackctl.hardware.dump import Dump
from stackctl.hardware.kinds import Kind
from stackctl.hardware.mask_kinds import Rewriter, known_words
from stackctl.hardware.mask_words import Pool, Words
from stackctl.hardware.shapes import Shape, shapes
from stackctl.node.fingerprint import of_disk

Facts = Mapping[str, Any]

_LOOSE = frozenset({Kind.LINK, Kind.TEXT})
"""Texts of which only what is known from elsewhere can be told to be a name."""


class Mask:
    """The masks of all that the facts of some servers tell of their owner.

    A masked machine gives the same plans: serial numbers keep their order, as WWNs do, and names that the
    planner looks for are masked in every place where it looks.
    """

    def __init__(self, dumps: Mapping[str, Facts]) -> None:
        """``dumps`` holds facts by the names that a site has for their hosts."""
        self._dumps = dumps
        self._words = Words()
        for host, facts in dumps.items():
            for name in (host, facts.get("host", {}).get("name")):
                if name:
                    self._words.swap(Pool.HOST, name)
        self._rewriters = {host: self._rewriter(facts) for host, facts in dumps.items()}
        for host, facts in dumps.items():
            _walk(facts, _DUMP, self._rewriters[host])
        self._words.close()

    def host(self, name: str) -> str:
        """The mask of a host's name."""
        return self._words.swap(Pool.HOST, name)

    def facts(self, host: str) -> dict[str, Any]:
        """The masked facts of a host. Keys that the format does not know are left out."""
        masked: dict[str, Any] = _walk(self._dumps[host], _DUMP, self._rewriters[host])
        for name in masked.get("fingerprints", ()):
            masked["fingerprints"][name] = of_disk(masked, name)
        return masked

    def words(self) -> dict[str, str]:
        """Every word that was found, and its mask; UUIDs without hyphens and colons."""
        return {word: mask for _, word, mask in self._words.masks()}

    def _rewriter(self, facts: Facts) -> Rewriter:
        """A rewriter that knows the words of one server."""
        noted = _Noted(self._words)
        gather = Rewriter(noted, {})
        _walk(facts, _DUMP, lambda kind, text: text if kind in _LOOSE else gather(kind, text))
        return Rewriter(self._words, known_words(noted.found))


def masked(dumps: Mapping[str, Facts]) -> dict[str, dict[str, Any]]:
    """The masked facts of some hosts, by their masked names."""
    mask = Mask(dumps)
    return {mask.host(host): mask.facts(host) for host in dumps}


class _Noted(Words):
    """Notes words for all servers, and keeps those of one."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._all = words
        self.found: dict[tuple[Pool, str], None] = {}

    def swap(self, pool: Pool, word: str) -> str:
        self.found[pool, word] = None
        return self._all.swap(pool, word)


def _walk(value: Any, shape: Shape, rewrite: Callable[[Kind, str], str]) -> Any:
    """The value with every text of a kind rewritten."""
    if value is None:
        return None
    if shape.kind:
        return rewrite(shape.kind, str(value))
    if shape.part:
        known = shapes(shape.part)
        return {
            key: _walk(item, known[key], rewrite)
            for key, item in value.items()
            if key in known and known[key].kind is not Kind.WITHHELD
        }
    if shape.items and shape.key:
        return {_walk(key, shape.key, rewrite): _walk(item, shape.items, rewrite) for key, item in value.items()}
    if shape.items:
        return [_walk(item, shape.items, rewrite) for item in value]
    return value


_DUMP = Shape(part=Dump)
