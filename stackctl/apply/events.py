"""What happens in a run of Ansible, as frozen values; read from the events of ansible-runner."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Outcome = Literal["ok", "changed", "failed", "unreachable", "skipped"]
Level = Literal["plain", "warning", "error"]

CENSORED = "censored"
"""The only key of a result that Ansible hides (``no_log``)."""


@dataclass(frozen=True)
class Task:
    """A task of a play; ``role`` is empty for a task that stands in the play itself."""

    id: str
    name: str
    role: str
    play: str


@dataclass(frozen=True)
class PlayBegan:
    """A play begins; ``at`` is seconds since the epoch, here and below."""

    at: float
    name: str


@dataclass(frozen=True)
class TaskBegan:
    """A host begins a task."""

    at: float
    host: str
    task: Task


@dataclass(frozen=True)
class TaskEnded:
    """A host has ended a task after ``seconds``; ``result`` is what the module said, without hidden values.

    ``ignored`` marks a failure that the playbook allows; ``text`` is what Ansible printed about the task.
    """

    at: float
    host: str
    task: Task
    outcome: Outcome
    seconds: float
    ignored: bool = False
    result: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    @property
    def bad(self) -> bool:
        """True when the host failed here and the playbook does not allow it."""
        return self.outcome in ("failed", "unreachable") and not self.ignored


@dataclass(frozen=True)
class Said:
    """A line that Ansible printed on its own: a warning, an error, or plain text."""

    at: float
    level: Level
    text: str


@dataclass(frozen=True)
class Ended:
    """The playbook came to its end; ``broken`` names the hosts that failed or could not be reached."""

    at: float
    broken: frozenset[str]


Event = PlayBegan | TaskBegan | TaskEnded | Said | Ended

_ENDS: dict[str, Outcome] = {
    "runner_on_ok": "ok",
    "runner_on_failed": "failed",
    "runner_on_unreachable": "unreachable",
    "runner_on_skipped": "skipped",
}
_SPECS = "Check the role's variables"
"""What we call the task that Ansible puts before a role with argument specs."""
_LEVELS: dict[str, Level] = {"warning": "warning", "system_warning": "warning", "error": "error", "verbose": "plain"}


class EventReader:
    """Reads the events of one run in their order.

    It remembers which items of a loop changed something, as a hidden result does not tell.
    """

    def __init__(self) -> None:
        self._changed_items: set[tuple[str, str]] = set()

    def read(self, raw: Mapping[str, Any]) -> Event | None:
        """The event behind ansible-runner's ``raw`` one; None for those that say nothing new."""
        kind = str(raw.get("event", ""))
        data: Mapping[str, Any] = raw.get("event_data") or {}
        at = _seconds(raw.get("created"))
        if kind in _ENDS:
            return self._ended(kind, raw, data, at)
        if kind == "runner_item_on_ok":
            if _says_changed(raw, data):
                self._changed_items.add((_task(data).id, str(data.get("host", ""))))
            return None
        if kind == "runner_on_start":
            return TaskBegan(at, str(data.get("host", "")), _task(data))
        if kind == "playbook_on_play_start":
            return PlayBegan(at, str(data.get("name", "")))
        if kind == "playbook_on_stats":
            return Ended(at, frozenset([*(data.get("failures") or {}), *(data.get("dark") or {})]))
        text = str(raw.get("stdout", "")).replace("\r", "").strip()
        return Said(at, _LEVELS[kind], text) if kind in _LEVELS and text else None

    def _ended(self, kind: str, raw: Mapping[str, Any], data: Mapping[str, Any], at: float) -> TaskEnded:
        host, task, outcome = str(data.get("host", "")), _task(data), _ENDS[kind]
        by_items = (task.id, host) in self._changed_items
        if outcome == "ok" and (by_items or _says_changed(raw, data)):
            outcome = "changed"
        self._changed_items.discard((task.id, host))
        return TaskEnded(
            at=at,
            host=host,
            task=task,
            outcome=outcome,
            seconds=float(data.get("duration") or 0.0),
            ignored=bool(data.get("ignore_errors")),
            result=data.get("res") or {},
            text=str(raw.get("stdout", "")).replace("\r", "").strip(),
        )


def _task(data: Mapping[str, Any]) -> Task:
    name = str(data.get("task", "")).split(" : ", 1)[-1]
    return Task(
        id=str(data.get("task_uuid", "")),
        name=_SPECS if name.startswith("Validating arguments against arg spec") else name,
        role=str(data.get("role", "")),
        play=str(data.get("play", "")),
    )


def _says_changed(raw: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    result: Mapping[str, Any] = data.get("res") or {}
    if CENSORED in result:
        return str(raw.get("stdout", "")).startswith("changed:")
    return bool(result.get("changed"))


def _seconds(created: object) -> float:
    try:
        return datetime.fromisoformat(str(created)).timestamp()
    except ValueError:
        return time.time()
