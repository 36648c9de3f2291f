"""Nested progress of a run on stderr: play, role, task on each host, with times, while it works."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from stackctl import console
from stackctl.apply.events import Ended, Event, Outcome, PlayBegan, Said, TaskBegan, TaskEnded
from stackctl.units import format_seconds

_FIRST_REMINDER = 30.0
"""Seconds after which a task that still runs is mentioned where nothing can be drawn live; then at twice the time."""

_WARNING = "[WARNING]: "
_MARKS: dict[Outcome, tuple[str, str | None]] = {
    "ok": ("✓", None),
    "changed": ("●", "yellow"),
    "failed": ("✗", "red"),
    "unreachable": ("✗", "red"),
    "skipped": ("-", "dim"),
}


@dataclass(frozen=True)
class Line:
    """A line of narration at a depth (0 the outermost)."""

    depth: int
    text: str
    style: str | None = None


@dataclass
class _Open:
    """A play or a role that is under way."""

    name: str
    began: float
    last: float
    bad: bool = False


class Narrator:
    """Turns the events of a run into lines; ``quiet`` leaves out tasks that changed nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._announced: PlayBegan | None = None
        self._play: _Open | None = None
        self._role: _Open | None = None
        self._running: dict[tuple[str, str], TaskBegan] = {}
        self._warned: set[str] = set()

    def tell(self, event: Event) -> list[Line]:
        """The lines that an event adds."""
        if isinstance(event, PlayBegan):
            self._announced = event
            return self._close_play()
        if isinstance(event, TaskBegan):
            self._running[event.task.id, event.host] = event
            return [*self._open_play(), *self._enter_role(event)]
        if isinstance(event, TaskEnded):
            return self._task(event)
        if isinstance(event, Ended):
            return self._close_play()
        return self._said(event)

    def running(self) -> list[TaskBegan]:
        """The tasks under way, the oldest first."""
        return list(self._running.values())

    def _open_play(self) -> list[Line]:
        """A play is told with its first task: those that have no hosts here are not worth a line."""
        play, self._announced = self._announced, None
        if play is None:
            return []
        self._play = _Open(play.name, play.at, play.at)
        return [Line(0, f"▸ {play.name}", "bold")]

    def _enter_role(self, event: TaskBegan) -> list[Line]:
        if self._role is not None and self._role.name == event.task.role:
            return []
        lines = self._close_role()
        if event.task.role:
            self._role = _Open(event.task.role, event.at, event.at)
            lines.append(Line(1, f"▸ {event.task.role}"))
        return lines

    def _task(self, event: TaskEnded) -> list[Line]:
        self._running.pop((event.task.id, event.host), None)
        for unit in (self._play, self._role):
            if unit is not None:
                unit.last = max(unit.last, event.at)
                unit.bad = unit.bad or event.bad
        if event.outcome == "skipped" or (self._quiet and event.outcome == "ok"):
            return []
        mark, style = _MARKS[event.outcome]
        word: str = f"{event.outcome}, allowed" if event.ignored else event.outcome
        depth = 2 if self._role is not None else 1
        width = 56 - 2 * depth
        text = f"{mark} {event.task.name:<{width}} {event.host}  {word:<7}  {format_seconds(event.seconds)}"
        return [Line(depth, text, "yellow" if event.ignored else style), *_steps(event, depth + 1)]

    def _said(self, event: Said) -> list[Line]:
        # without Ansible's own mark it is mitogen's chatter
        if event.level != "warning" or not event.text.startswith(_WARNING) or event.text in self._warned:
            return []
        self._warned.add(event.text)
        return [Line(0, event.text.removeprefix(_WARNING).splitlines()[0], "yellow")]

    def _close_role(self) -> list[Line]:
        role, self._role = self._role, None
        return [] if role is None else [_closing(1, role)]

    def _close_play(self) -> list[Line]:
        lines = self._close_role()
        play, self._play = self._play, None
        return lines if play is None else [*lines, _closing(0, play)]


class Progress:
    """Shows what a Narrator tells, and what is under way: live on a terminal, by reminders elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._narrator = Narrator(quiet=quiet)
        self._next_reminder = _FIRST_REMINDER

    def see(self, event: Event) -> None:
        """Show an event."""
        for line in self._narrator.tell(event):
            console.note("  " * line.depth + line.text, style=line.style)
        if isinstance(event, TaskBegan | TaskEnded):
            self._next_reminder = _FIRST_REMINDER

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show what is under way while the block runs."""
        over = threading.Event()
        thread = threading.Thread(target=self._remind, args=(over,), daemon=True)
        if not console.err.is_terminal:
            thread.start()
        try:
            with console.foot(self._foot):
                yield
        finally:
            over.set()

    def _foot(self) -> list[str]:
        now = time.time()
        return [
            f"  … {event.task.name} on {event.host}, {format_seconds(max(now - event.at, 0))}"
            for event in self._narrator.running()[:8]
        ]

    def _remind(self, over: threading.Event) -> None:
        while not over.wait(1):
            oldest = min(self._narrator.running(), key=lambda event: event.at, default=None)
            if oldest is None:
                continue
            seconds = time.time() - oldest.at
            if seconds >= self._next_reminder:
                self._next_reminder = 2 * seconds
                console.note(f"    … {oldest.task.name} on {oldest.host}, for {format_seconds(seconds)} now")


def _steps(event: TaskEnded, depth: int) -> Iterator[Line]:
    """What a task says to have done inside, as the storage cycle does."""
    for step in event.result.get("steps") or ():
        if step.get("changed"):
            width = 56 - 2 * depth
            yield Line(depth, f"{step['title']:<{width}}  {format_seconds(step['seconds'])}")


def _closing(depth: int, unit: _Open) -> Line:
    took = format_seconds(unit.last - unit.began)
    if unit.bad:
        return Line(depth, f"✗ {unit.name}: failed after {took}", "red")
    return Line(depth, f"✓ {unit.name}: {took}", "green")
