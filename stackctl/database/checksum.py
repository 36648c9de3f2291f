"""A checksum over rows in no order: each row's SHA-256, summed up. Engines that sort texts otherwise give the same.

The sum can be taken in parts, and a row that is there twice counts twice.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from stackctl.database.kinds import Value

_WHOLE = 1 << 256


@dataclass(frozen=True)
class Checksum:
    """How many rows, and their sum as 64 hexadecimal digits."""

    rows: int
    digits: str

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.digits[:16]}"


class RowSum:
    """The sum as it grows."""

    def __init__(self, begun: Checksum | None = None) -> None:
        self.rows = begun.rows if begun else 0
        self._total = int(begun.digits, 16) if begun else 0

    def add(self, row: Sequence[Value]) -> None:
        """Count a row in; its values are in their canonical form, in the order of the table's columns."""
        # each value with its length before it, so that no two rows are the same bytes
        parts = [b"-" if value is None else b"%d:%b" % (len(value), value) for value in row]
        self._total += int.from_bytes(hashlib.sha256(b",".join(parts)).digest())
        self.rows += 1

    def checksum(self) -> Checksum:
        """The sum so far."""
        self._total %= _WHOLE
        return Checksum(self.rows, f"{self._total:064x}")


EMPTY = RowSum().checksum()
"""The sum of no rows."""
