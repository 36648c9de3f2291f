"""The defaults of columns: which the subset takes, and in which form. A default of the wrong type crashes Drizzle."""

from dataclasses import replace

from stackctl.database.facts import ColumnFacts
from stackctl.database.kinds import UnfitError, codec
from stackctl.database.schema import Column, Default


class RefusedDefaultError(Exception):
    """A default that cannot be moved: what is wrong, and how to mend it."""

    def __init__(self, what: str, mend: str) -> None:
        super().__init__(what)
        self.what = what
        self.mend = mend


_GIVE_IT = "have the application give the value, and take the default out"


def default_of(facts: ColumnFacts, column: Column) -> Column:
    """The column with its default, in the canonical form of its kind. Raises RefusedDefaultError."""
    if column.on_update_now and column.kind != "timestamp":
        raise RefusedDefaultError(
            "it takes the time of each update; in Drizzle only a TIMESTAMP does",
            "make it TIMESTAMP, or have the application give the time",
        )
    if facts.default is None:
        if column.kind == "timestamp" and not column.nullable and not column.on_update_now:
            raise RefusedDefaultError(
                "a TIMESTAMP NOT NULL without a default, which Drizzle changes by itself at every update",
                "give it DEFAULT CURRENT_TIMESTAMP, or make it NULL",
            )
        return column
    match facts.default.kind:
        case "null":
            return column
        case "now":
            if column.kind != "timestamp":
                raise RefusedDefaultError(
                    f"a {column.kind.upper()} that takes the time by default; in Drizzle only a TIMESTAMP does",
                    "make it TIMESTAMP, or have the application give the time",
                )
            return replace(column, default=Default("now"))
        case "expression":
            shown = facts.default.value.decode("utf-8", "replace")
            raise RefusedDefaultError(f"its default is computed: {shown}", _GIVE_IT)
        case "unreadable":
            raise RefusedDefaultError(
                "its default has characters that MariaDB does not show while the table is empty", _GIVE_IT
            )
        case "literal":
            return replace(column, default=Default("value", _value(facts.default.value, column)))


def _value(literal: bytes, column: Column) -> bytes:
    if column.kind in ("text", "blob"):
        raise RefusedDefaultError(f"a {column.kind.upper()} with a default; Drizzle has none", _GIVE_IT)
    try:
        value = codec(column).canonical(literal)
    except UnfitError as failure:
        raise RefusedDefaultError(f"its default: {failure}", "give it another default, or none") from None
    if column.kind == "varchar" and (len(value) > column.length or b"\x00" in value):
        raise RefusedDefaultError(
            f"its default has {len(value)} bytes, and Drizzle takes no more than the column has characters",
            "make the column longer, or " + _GIVE_IT,
        )
    return value
