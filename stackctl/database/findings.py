"""What a move finds in a schema: what cannot be moved and how to mend it, what changes on the way, what to watch."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stackctl.errors import RefusedError


@dataclass(frozen=True, order=True)
class Refusal:
    """Something that cannot be moved as it is; ``column`` is empty where it concerns a table, or none."""

    table: str
    column: str
    what: str
    mend: str

    @property
    def where(self) -> str:
        """The table, or the column with its table."""
        return f"{self.table}.{self.column}" if self.column else self.table

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.mend}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, order=True)
class Change:
    """Something that is another thing at the target, without the loss of any value.

    ``warning``: what an application should know of it; empty where nothing changes for it.
    """

    table: str
    column: str
    before: str
    after: str
    warning: str = ""

    @property
    def where(self) -> str:
        """The table, or the column with its table."""
        return f"{self.table}.{self.column}" if self.column else self.table

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


class CannotMoveError(RefusedError):
    """A schema holds what cannot be moved; ``refusals`` are all of them."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        count = "one thing stands" if len(self.refusals) == 1 else f"{len(self.refusals)} things stand"
        lines = "\n".join(f"  {refusal}" for refusal in self.refusals)
        super().__init__(
            f"nothing was written: {count} in the way of the move:\n{lines}",
            hint="docs/database-engines.md says more of each; mend them, then run the same command again",
        )
