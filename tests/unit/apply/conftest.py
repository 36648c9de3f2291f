"""Fixtures of the tests of runs: a state of their own, a site on this machine, recorded events."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackctl.apply.events import Event, EventReader, Task, TaskEnded


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where run records go: a folder that ends with the test."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder / "stackctl"


@pytest.fixture(scope="session")
def raw_events() -> list[dict[str, Any]]:
    """The events of a real run, as ansible-runner gave them: every outcome, hidden results, a rescue, a loop."""
    lines = (Path(__file__).parent / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def events(raw_events: list[dict[str, Any]]) -> list[Event]:
    reader = EventReader()
    return [event for event in map(reader.read, raw_events) if event is not None]


@pytest.fixture
def ended() -> Callable[..., TaskEnded]:
    """Makes the end of a task: ``ended("failed", msg="…")``."""

    def make(outcome: Any = "ok", *, host: str = "metal-1", text: str = "", **result: Any) -> TaskEnded:
        task = Task("t1", "Install the server", "database", "database")
        return TaskEnded(100.0, host, task, outcome, 2.0, result=result, text=text)

    return make
