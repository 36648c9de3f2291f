"""What progress shows."""

from stackctl.apply.events import Ended, Event, PlayBegan, Said, Task, TaskBegan, TaskEnded
from stackctl.apply.progress import Line, Narrator

FIRST = Task("1", "Install", "database", "databases")
SECOND = Task("2", "Start", "database", "databases")
OTHER = Task("3", "Install", "cache", "databases")


def told(narrator: Narrator, *events: Event) -> list[Line]:
    return [line for event in events for line in narrator.tell(event)]


def test_play_role_task_and_host_are_nested() -> None:
    lines = told(
        Narrator(),
        PlayBegan(0.0, "databases"),
        TaskBegan(0.0, "a", FIRST),
        TaskBegan(0.0, "b", FIRST),
        TaskEnded(2.0, "a", FIRST, "changed", 2.0),
        TaskEnded(3.0, "b", FIRST, "ok", 3.0),
        TaskBegan(3.0, "a", OTHER),
        TaskEnded(4.0, "a", OTHER, "skipped", 1.0),
        Ended(4.0, frozenset()),
    )
    assert [(line.depth, line.text.split()) for line in lines] == [
        (0, ["▸", "databases"]),
        (1, ["▸", "database"]),
        (2, ["●", "Install", "a", "changed", "2.0", "s"]),
        (2, ["✓", "Install", "b", "ok", "3.0", "s"]),
        (1, ["✓", "database:", "3.0", "s"]),
        (1, ["▸", "cache"]),
        (1, ["✓", "cache:", "1.0", "s"]),
        (0, ["✓", "databases:", "4.0", "s"]),
    ]


def test_the_steps_inside_a_task_are_told_with_their_times() -> None:
    steps = [
        {"id": "array:data", "title": "Make the array data", "changed": True, "seconds": 5.25},
        {"id": "fstab:data", "title": "Name it in fstab", "changed": False, "seconds": 0.1},
    ]
    lines = told(
        Narrator(),
        PlayBegan(0.0, "databases"),
        TaskBegan(0.0, "a", FIRST),
        TaskEnded(6.0, "a", FIRST, "changed", 6.0, result={"steps": steps}),
    )
    assert [(line.depth, line.text.split()) for line in lines[3:]] == [
        (3, ["Make", "the", "array", "data", "5.2", "s"]),
    ]


def test_a_failure_marks_role_and_play() -> None:
    lines = told(
        Narrator(),
        PlayBegan(0.0, "databases"),
        TaskBegan(0.0, "a", FIRST),
        TaskEnded(5.0, "a", FIRST, "unreachable", 5.0),
        Ended(5.0, frozenset({"a"})),
    )
    assert [line.text for line in lines[-2:]] == ["✗ database: failed after 5.0 s", "✗ databases: failed after 5.0 s"]


def test_an_allowed_failure_fails_nothing() -> None:
    lines = told(
        Narrator(),
        PlayBegan(0.0, "databases"),
        TaskBegan(0.0, "a", FIRST),
        TaskEnded(5.0, "a", FIRST, "failed", 5.0, ignored=True),
        Ended(5.0, frozenset()),
    )
    assert "failed, allowed" in lines[2].text
    assert lines[-1].text == "✓ databases: 5.0 s"


def test_quiet_leaves_out_what_changed_nothing() -> None:
    lines = told(
        Narrator(quiet=True),
        PlayBegan(0.0, "databases"),
        TaskBegan(0.0, "a", FIRST),
        TaskEnded(1.0, "a", FIRST, "ok", 1.0),
        TaskBegan(1.0, "a", SECOND),
        TaskEnded(2.0, "a", SECOND, "changed", 1.0),
    )
    assert [line.text.split()[1] for line in lines] == ["databases", "database", "Start"]


def test_a_play_without_hosts_is_not_told() -> None:
    lines = told(
        Narrator(),
        PlayBegan(0.0, "caches"),
        PlayBegan(1.0, "databases"),
        TaskBegan(1.0, "a", FIRST),
        TaskEnded(2.0, "a", FIRST, "ok", 1.0),
        PlayBegan(2.0, "queues"),
        Ended(2.0, frozenset()),
    )
    assert not [line for line in lines if "caches" in line.text or "queues" in line.text]


def test_what_runs_is_known() -> None:
    narrator = Narrator()
    told(narrator, PlayBegan(0.0, "databases"), TaskBegan(0.0, "a", FIRST), TaskBegan(0.0, "b", FIRST))
    told(narrator, TaskEnded(1.0, "a", FIRST, "ok", 1.0))
    assert [(event.host, event.task.name) for event in narrator.running()] == [("b", "Install")]


def test_a_warning_is_shown_once_and_plain_talk_never() -> None:
    said = Said(0.0, "warning", "[WARNING]: twice")
    mitogen = Said(0.0, "warning", "[mux 3030] 17:23:36 W ansible_mitogen.services: refcount was 0")
    lines = told(
        Narrator(), said, said, mitogen, Said(0.0, "plain", "chatter"), Said(0.0, "error", "told by the fault")
    )
    assert [line.text for line in lines] == ["twice"]
