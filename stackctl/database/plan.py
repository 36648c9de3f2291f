"""What a move would do: a frozen list of tables, printable before anything is written."""

from dataclasses import dataclass
from typing import Any, Literal

from stackctl.database.findings import CannotMoveError, Change, Refusal
from stackctl.database.journal import Entry
from stackctl.database.measure import Measure

Fate = Literal["new", "goes on", "begins anew", "is there", "replaces another"]


@dataclass(frozen=True)
class TablePlan:
    """What becomes of a table; ``done`` rows of it are at the target already."""

    name: str
    fate: Fate
    rows: int
    size: int
    done: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"table": self.name, "fate": self.fate, "rows": self.rows, "bytes": self.size, "done": self.done}


@dataclass(frozen=True)
class MovePlan:
    """A move: from where to where, its tables in their order, what changes on the way, what stands in it."""

    source: str
    target: str
    tables: tuple[TablePlan, ...]
    changes: tuple[Change, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows are to be brought over still."""
        return sum(table.rows - table.done for table in self.tables if table.fate != "is there")

    def check(self) -> None:
        """Raise CannotMoveError, with all of them, where something stands in the way."""
        if self.refusals:
            raise CannotMoveError(self.refusals)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "source": self.source,
            "target": self.target,
            "tables": [table.to_json() for table in self.tables],
            "changes": [change.to_json() for change in self.changes],
            "refusals": [refusal.to_json() for refusal in self.refusals],
        }


@dataclass(frozen=True)
class AtTarget:
    """What the target holds: tables of any kind, and the journal's entries of this move."""

    tables: frozenset[str]
    entries: dict[str, Entry]


def fate(
    name: str, digest: str, at_target: AtTarget, replace: frozenset[str], *, can_go_on: bool
) -> tuple[Fate, Refusal | None]:
    """What becomes of a table, and why it must not, where the operator has not named it."""
    entry = at_target.entries.get(name)
    if entry is None:
        if name not in at_target.tables:
            return "new", None
        if name in replace:
            return "replaces another", None
        return "replaces another", Refusal(
            name, "", "the target has a table of this name", f"--replace {name} drops that one with all its rows"
        )
    if name in replace:
        return "begins anew", None
    if entry.state == "differs":
        return "begins anew", Refusal(
            name,
            "",
            "its rows at the target were found to be others than the source's",
            f"see who writes there; then --replace {name} moves it anew",
        )
    if entry.digest != digest or entry.state == "claimed" or name not in at_target.tables:
        return "begins anew", None
    if entry.state == "loaded":
        return "is there", None
    return ("goes on", None) if can_go_on and entry.place is not None else ("begins anew", None)


def table_plan(name: str, of: Fate, measured: Measure, entry: Entry | None) -> TablePlan:
    """The plan of a table."""
    done = entry.done.rows if entry is not None and of in ("goes on", "is there") else 0
    return TablePlan(name, of, measured.rows, measured.size, done)
