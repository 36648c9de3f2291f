"""Hosts take turns and are given their rest."""

from hypothesis import given
from hypothesis import strategies as st

from stacksearch.schedule import Manners, Schedule

OURS = Manners(16, 0.0)
POLITE = Manners(2, 0.5)


def test_hosts_take_turns() -> None:
    schedule: Schedule[int] = Schedule()
    for number in range(3):
        schedule.add("a", number, OURS)
    schedule.add("b", 10, OURS)
    assert [schedule.take(0.0) for _ in range(5)] == [("a", 0), ("b", 10), ("a", 1), ("a", 2), None]


def test_a_host_is_not_asked_more_often_than_its_manners_say() -> None:
    schedule: Schedule[int] = Schedule()
    for number in range(4):
        schedule.add("a", number, POLITE)
    assert schedule.take(0.0) == ("a", 0)
    assert schedule.take(0.1) is None
    assert schedule.wait(0.1) == 0.4
    assert schedule.take(0.5) == ("a", 1)
    assert schedule.take(1.0) is None  # two are under way
    assert schedule.wait(1.0) is None
    schedule.done("a")
    assert schedule.take(1.0) == ("a", 2)


def test_what_would_wait_too_long_is_dropped_from_the_end() -> None:
    schedule: Schedule[int] = Schedule()
    for number in range(10):
        schedule.add("a", number, POLITE)
        schedule.add("b", 100 + number, OURS)
    assert list(schedule.drop(0.0, patience=1.0)) == [9, 8, 7, 6, 5, 4, 3]  # three begin at 0, 0.5 and 1
    assert schedule.waiting == 13


def test_a_host_that_owes_rest_is_not_forgotten() -> None:
    schedule: Schedule[int] = Schedule()
    schedule.add("a", 1, POLITE)
    schedule.take(0.0)
    schedule.done("a")
    schedule.forget(0.2)
    schedule.add("a", 2, POLITE)
    assert schedule.take(0.2) is None
    assert schedule.take(0.5) == ("a", 2)
    schedule.done("a")
    schedule.forget(1.0)
    schedule.add("a", 3, POLITE)
    assert schedule.take(1.0) == ("a", 3)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=60), st.integers(1, 3))
def test_every_item_is_taken_once_and_never_too_many_at_a_time(
    steps: list[tuple[str, int]], connections: int
) -> None:
    schedule: Schedule[int] = Schedule()
    taken: list[int] = []
    active: list[str] = []
    for number, (host, takes) in enumerate(steps):
        schedule.add(host, number, Manners(connections, 0.0))
        for _ in range(takes):
            if (found := schedule.take(0.0)) is None:
                break
            active.append(found[0])
            taken.append(found[1])
            assert all(active.count(each) <= connections for each in "abc")
        if active:
            schedule.done(active.pop(0))
    while (found := schedule.take(0.0)) is not None or active:
        if found is not None:
            active.append(found[0])
            taken.append(found[1])
        schedule.done(active.pop(0))
    assert sorted(taken) == list(range(len(steps)))
    assert schedule.waiting == schedule.active == 0
