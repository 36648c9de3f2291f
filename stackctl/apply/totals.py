"""What a run comes to: how many tasks changed or failed on each host, how long each role took."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackctl.apply.events import Event, Outcome, PlayBegan, TaskBegan, TaskEnded


@dataclass(frozen=True)
class Change:
    """A task that changed something on a host."""

    host: str
    role: str
    task: str
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"host": self.host, "role": self.role, "task": self.task, "seconds": round(self.seconds, 3)}


class Totals:
    """Adds up the events of a run in their order."""

    def __init__(self) -> None:
        self.hosts: dict[str, Counter[Outcome]] = {}
        self.roles: dict[str, float] = {}
        """Seconds from a role's first task to its last, pauses for other roles not counted; by play and role."""
        self.changes: list[Change] = []
        self._current: tuple[str, float] | None = None

    def see(self, event: Event) -> None:
        """Count an event in."""
        if isinstance(event, PlayBegan):
            self._current = None
        elif isinstance(event, TaskBegan):
            name = role_name(event.task.play, event.task.role)
            if self._current is None or self._current[0] != name:
                self._current = (name, event.at)
                self.roles.setdefault(name, 0.0)
        elif isinstance(event, TaskEnded):
            self.hosts.setdefault(event.host, Counter())[event.outcome] += 1
            if event.outcome == "changed":
                self.changes.append(Change(event.host, event.task.role, event.task.name, event.seconds))
            if self._current is not None:
                name, since = self._current
                self.roles[name] += max(event.at - since, 0.0)
                self._current = (name, max(event.at, since))

    def table(self) -> list[tuple[str, int, int, int, int]]:
        """A row a host: its name, then the counts of ok, changed, failed (or not reached) and skipped tasks."""
        return [
            (host, count["ok"], count["changed"], count["failed"] + count["unreachable"], count["skipped"])
            for host, count in self.hosts.items()
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        hosts: Mapping[str, Any] = {host: dict(count) for host, count in self.hosts.items()}
        return {
            "hosts": hosts,
            "roles": {name: round(seconds, 3) for name, seconds in self.roles.items()},
            "changes": [change.to_json() for change in self.changes],
        }


def role_name(play: str, role: str) -> str:
    """What a role within a play is called in totals: the role, with the play where their names differ."""
    if not role:
        return play
    return role if play == role else f"{play} / {role}"
