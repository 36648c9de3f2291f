"""Events are read as they were meant."""

from typing import Any

from stackctl.apply.events import Ended, Event, EventReader, PlayBegan, Said, TaskBegan, TaskEnded


def outcomes(events: list[Event]) -> dict[str, str]:
    return {event.task.name: event.outcome for event in events if isinstance(event, TaskEnded)}


def test_outcomes_of_a_real_run(events: list[Event]) -> None:
    assert outcomes(events) == {
        "Look": "ok",
        "Hidden change": "changed",
        "Hidden loop": "changed",
        "Hidden calm": "ok",
        "Skipped": "skipped",
        "Breaks": "failed",
        "Mends": "ok",
        "Allowed": "failed",
        "Alters": "changed",
        "Ends": "failed",
    }


def test_an_allowed_failure_is_not_bad(events: list[Event]) -> None:
    bad = {event.task.name for event in events if isinstance(event, TaskEnded) and event.bad}
    assert bad == {"Breaks", "Ends"}


def test_every_task_begins_before_it_ends(events: list[Event]) -> None:
    open_tasks = set()
    for event in events:
        if isinstance(event, TaskBegan):
            open_tasks.add((event.task.id, event.host))
        elif isinstance(event, TaskEnded):
            open_tasks.remove((event.task.id, event.host))
    assert not open_tasks


def test_the_play_and_its_end(events: list[Event]) -> None:
    assert [event.name for event in events if isinstance(event, PlayBegan)] == ["Servers"]
    assert [event.broken for event in events if isinstance(event, Ended)] == [frozenset({"metal-1"})]


def test_seconds_are_those_of_the_task(events: list[Event]) -> None:
    began = {event.task.id: event.at for event in events if isinstance(event, TaskBegan)}
    for event in events:
        if isinstance(event, TaskEnded):
            assert abs((event.at - began[event.task.id]) - event.seconds) < 0.5


def test_names_lose_the_role_that_ansible_puts_before_them() -> None:
    raw = {"event": "runner_on_start", "event_data": {"task": "cache : Install", "role": "cache", "host": "a"}}
    event = EventReader().read(raw)
    assert isinstance(event, TaskBegan)
    assert (event.task.role, event.task.name) == ("cache", "Install")


def test_the_check_of_a_roles_variables_has_a_short_name() -> None:
    name = "cache : Validating arguments against arg spec 'main' - memcached, where the site says"
    event = EventReader().read(
        {"event": "runner_on_start", "event_data": {"task": name, "role": "cache", "host": "a"}}
    )
    assert isinstance(event, TaskBegan)
    assert event.task.name == "Check the role's variables"


def test_what_ansible_says_has_a_level() -> None:
    def read(**raw: Any) -> Event | None:
        return EventReader().read(raw)

    warning = read(event="warning", stdout="[WARNING]: Found duplicate mapping key 'a'.\r\n", created="x")
    assert isinstance(warning, Said)
    assert (warning.level, warning.text) == ("warning", "[WARNING]: Found duplicate mapping key 'a'.")
    assert read(event="verbose", stdout="\r\n") is None
    assert read(event="runner_retry", stdout="again") is None
