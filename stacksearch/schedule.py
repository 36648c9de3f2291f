"""Which leased URL is fetched next: hosts take turns, and each is given its due rest."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Manners:
    """How a host is treated: fetches at one time, and seconds between the beginnings of two."""

    connections: int
    delay: float


@dataclass
class _Host(Generic[Item]):
    manners: Manners
    waiting: deque[Item] = field(default_factory=deque)
    active: int = 0
    next_start: float = 0.0


class Schedule(Generic[Item]):
    """URLs that wait, by host. Times are seconds of any one clock that the caller reads."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host[Item]] = {}
        self._turns: deque[str] = deque()
        self.waiting = 0
        self.active = 0

    def add(self, host: str, item: Item, manners: Manners) -> None:
        """Put an item at the end of its host's line."""
        entry = self._hosts.get(host)
        if entry is None:
            entry = self._hosts[host] = _Host(manners)
        if not entry.waiting:
            self._turns.append(host)
        entry.waiting.append(item)
        self.waiting += 1

    def take(self, now: float) -> tuple[str, Item] | None:
        """The next item that may be begun now, with its host; None when there is none."""
        for _ in range(len(self._turns)):
            host = self._turns.popleft()
            entry = self._hosts[host]
            if entry.active >= entry.manners.connections or entry.next_start > now:
                self._turns.append(host)
                continue
            item = entry.waiting.popleft()
            if entry.waiting:
                self._turns.append(host)
            entry.active += 1
            entry.next_start = now + entry.manners.delay
            self.waiting -= 1
            self.active += 1
            return host, item
        return None

    def done(self, host: str) -> None:
        """Say that an item of the host has come to its end."""
        self._hosts[host].active -= 1
        self.active -= 1

    def wait(self, now: float) -> float | None:
        """Seconds until an item may be begun by the clock alone; None when that hangs on ``done`` or ``add``."""
        starts = [
            entry.next_start - now
            for entry in (self._hosts[host] for host in self._turns)
            if entry.active < entry.manners.connections
        ]
        return max(min(starts), 0.0) if starts else None

    def drop(self, now: float, patience: float) -> Iterator[Item]:
        """Take out the items that would have to wait longer than ``patience`` seconds."""
        for host in list(self._turns):
            entry = self._hosts[host]
            rest = max(entry.next_start - now, 0.0)
            keep = len(entry.waiting)
            if entry.manners.delay > 0:
                keep = max(int((patience - rest) / entry.manners.delay) + 1, 0) if patience >= rest else 0
            while len(entry.waiting) > keep:
                self.waiting -= 1
                yield entry.waiting.pop()
            if not entry.waiting:
                self._turns.remove(host)

    def forget(self, now: float) -> None:
        """Drop what is known of hosts that have nothing waiting, active or owed."""
        for host, entry in list(self._hosts.items()):
            if not entry.waiting and not entry.active and entry.next_start <= now:
                del self._hosts[host]
