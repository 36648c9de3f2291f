"""Proves that what is at the target is what is at the source: rows and checksums of both, as they are now."""

from dataclasses import dataclass
from typing import Any

from stackctl.database.checksum import Checksum


@dataclass(frozen=True)
class Verdict:
    """A table after the move: the sum of the rows that were read and written, and of those that both ends hold.

    ``redefined``: the source has made another table of it meanwhile, or made or dropped it.
    """

    table: str
    moved: Checksum
    target: Checksum
    source: Checksum
    redefined: bool = False

    @property
    def fault(self) -> str | None:
        """What is wrong with the table; None where nothing is."""
        if self.redefined:
            return "the source has made, changed or dropped it meanwhile; the same command moves it as it is now"
        return self.difference

    @property
    def difference(self) -> str | None:
        """What is wrong with the rows; None where nothing is."""
        if self.target != self.moved:
            if self.target.rows != self.moved.rows:
                return f"the target holds {self.target.rows} rows where {self.moved.rows} were written"
            return f"the target's {self.target.rows} rows are not those that were written"
        if self.source != self.moved:
            if self.source.rows != self.moved.rows:
                return f"the source has {self.source.rows} rows by now; {self.moved.rows} were moved"
            return "rows of the source have changed since they were moved"
        return None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"table": self.table, "rows": self.moved.rows, "checksum": self.moved.digits, "fault": self.fault}
