"""What becomes of a table: nothing of somebody else's is touched without the operator's word."""

import pytest

from stackctl.database.checksum import EMPTY, Checksum
from stackctl.database.findings import CannotMoveError, Refusal
from stackctl.database.journal import Entry, State
from stackctl.database.measure import Measure
from stackctl.database.plan import AtTarget, Fate, MovePlan, TablePlan, fate, table_plan
from stackctl.errors import ExitCode

HERE = frozenset({"t"})


def entry(state: State, *, digest: str = "d", place: tuple[bytes, ...] | None = (b"5",)) -> Entry:
    return Entry("t", state, digest, Checksum(5, "f" * 64), place)


def judged(
    tables: frozenset[str], known: Entry | None, *, replace: bool = False, can_go_on: bool = True
) -> tuple[Fate, bool]:
    """The fate of the table t whose definition is d, and whether it is refused."""
    at_target = AtTarget(tables, {"t": known} if known else {})
    of, refusal = fate("t", "d", at_target, HERE if replace else frozenset(), can_go_on=can_go_on)
    return of, refusal is not None


def test_a_table_that_is_not_there() -> None:
    assert judged(frozenset(), None) == ("new", False)
    assert judged(frozenset({"other"}), None) == ("new", False)


def test_somebody_elses_table_needs_a_word() -> None:
    assert judged(HERE, None) == ("replaces another", True)
    assert judged(HERE, None, replace=True) == ("replaces another", False)


@pytest.mark.parametrize(
    ("known", "of"),
    [
        (entry("claimed"), "begins anew"),
        (entry("loading"), "goes on"),
        (entry("loading", place=None), "begins anew"),
        (entry("loaded"), "is there"),
        (entry("loading", digest="another"), "begins anew"),
        (entry("loaded", digest="another"), "begins anew"),
    ],
)
def test_our_own_goes_on(known: Entry, of: Fate) -> None:
    assert judged(HERE, known) == (of, False)


@pytest.mark.parametrize("state", ["claimed", "loading", "loaded"])
def test_our_own_that_is_gone_begins_anew(state: State) -> None:
    assert judged(frozenset(), entry(state)) == ("begins anew", False)


def test_without_a_key_a_table_begins_anew() -> None:
    assert judged(HERE, entry("loading"), can_go_on=False) == ("begins anew", False)


def test_one_that_differed_needs_a_word() -> None:
    assert judged(HERE, entry("differs")) == ("begins anew", True)
    assert judged(HERE, entry("differs"), replace=True) == ("begins anew", False)


def test_by_the_operators_word_any_begins_anew() -> None:
    for state in ("claimed", "loading", "loaded"):
        assert judged(HERE, entry(state), replace=True) == ("begins anew", False)


def test_what_is_left_to_do() -> None:
    measured = Measure(100, 5000, 60)
    plan = MovePlan(
        "a",
        "b",
        (
            table_plan("new", "new", measured, None),
            table_plan("half", "goes on", measured, entry("loading")),
            table_plan("done", "is there", measured, Entry("done", "loaded", "d", Checksum(100, "0" * 64))),
            table_plan("again", "begins anew", measured, entry("loading")),
        ),
    )
    assert [table.done for table in plan.tables] == [0, 5, 100, 0]
    assert plan.rows == 100 + 95 + 100
    plan.check()


def test_all_that_stands_in_the_way_is_told_at_once() -> None:
    refusals = (Refusal("t", "c", "what", "mend"), Refusal("u", "", "other", "mend too"))
    plan = MovePlan("a", "b", (TablePlan("t", "new", 0, 0),), refusals=refusals)
    with pytest.raises(CannotMoveError) as failure:
        plan.check()
    assert failure.value.code == ExitCode.REFUSED
    assert "t.c: what; mend" in str(failure.value)
    assert "u: other; mend too" in str(failure.value)
    assert [refusal["column"] for refusal in plan.to_json()["refusals"]] == ["c", ""]


def test_an_entry_begins_empty() -> None:
    assert Entry("t", "claimed", "d") == Entry("t", "claimed", "d", EMPTY, None)
