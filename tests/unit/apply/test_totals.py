"""What a run comes to."""

from stackctl.apply.events import Event, PlayBegan, Task, TaskBegan, TaskEnded
from stackctl.apply.totals import Totals


def totals_of(events: list[Event]) -> Totals:
    totals = Totals()
    for event in events:
        totals.see(event)
    return totals


def test_counts_of_a_real_run(events: list[Event]) -> None:
    totals = totals_of(events)
    assert totals.table() == [("metal-1", 3, 3, 3, 1)]
    assert [change.task for change in totals.changes] == ["Hidden change", "Hidden loop", "Alters"]


def test_a_role_takes_from_its_first_task_to_its_last() -> None:
    def task(number: int, role: str) -> Task:
        return Task(str(number), f"Task {number}", role, "database")

    def pair(number: int, role: str, began: float, ended: float) -> list[Event]:
        return [
            TaskBegan(began, "a", task(number, role)),
            TaskEnded(ended, "a", task(number, role), "ok", ended - began),
        ]

    events: list[Event] = [
        PlayBegan(0.0, "database"),
        *pair(1, "base", 0.0, 2.0),
        *pair(2, "base", 2.5, 3.0),
        *pair(3, "database", 3.0, 10.0),
        *pair(4, "base", 20.0, 21.0),
    ]
    assert totals_of(events).roles == {"database / base": 4.0, "database": 7.0}


def test_json_is_plain(events: list[Event]) -> None:
    assert totals_of(events).to_json()["hosts"] == {"metal-1": {"ok": 3, "changed": 3, "skipped": 1, "failed": 3}}
