"""The types of columns: which of the subset's each becomes, what changes by that, and which cannot be moved."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from stackctl.database.collations import CHARSETS, WIDENING, nearest
from stackctl.database.facts import ColumnFacts
from stackctl.database.schema import LARGEST_VALUE, Column
from stackctl.database.sql import name

LONGEST_VARCHAR = 16383
LARGEST_NUMBER = (1 << 63) - 1


@dataclass(frozen=True)
class Type:
    """A type as an engine writes it, taken apart: ``decimal(6,2) unsigned``."""

    base: str
    numbers: tuple[int, ...] = ()
    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str) -> "Type":
        """Take a type apart."""
        match = re.fullmatch(r"(\w+)\s*(?:\(([^)]*)\))?(.*)", text, re.DOTALL)
        if match is None:
            return cls(text)
        numbers = re.findall(r"\d+", match.group(2) or "") if match.group(1) not in ("enum", "set") else ()
        words = frozenset(re.findall(r"[a-z]+", match.group(3).lower()))
        return cls(match.group(1), tuple(map(int, numbers)), words & _WORDS)

    @property
    def first(self) -> int:
        """Its first number; 0 without one."""
        return self.numbers[0] if self.numbers else 0

    @property
    def title(self) -> str:
        """The type as one writes it."""
        inner = f"({','.join(map(str, self.numbers))})" if self.numbers else ""
        return " ".join([f"{self.base.upper()}{inner}", *sorted(word.upper() for word in self.words)])


_WORDS = frozenset({"unsigned", "zerofill", "compressed"})


class RefusedTypeError(Exception):
    """A column that cannot be moved: what is wrong, and how to mend it."""

    def __init__(self, what: str, mend: str) -> None:
        super().__init__(what)
        self.what = what
        self.mend = mend


@dataclass(frozen=True)
class Check:
    """Rows that stand in the way: those of which ``condition``, in the source's SQL, is true."""

    column: str
    condition: str
    what: str
    mend: str


@dataclass(frozen=True)
class Typed:
    """A column in the subset.

    ``read`` is the SQL that reads it at the source; ``after`` what its type is called, where that is another;
    ``other_collation`` the name of the collation it loses.
    """

    column: Column
    read: str
    checks: tuple[Check, ...] = ()
    after: str = ""
    warning: str = ""
    other_collation: str = ""


Typing = Callable[[ColumnFacts, Type], Typed]


def typed(facts: ColumnFacts, *, lenient: bool) -> Typed:
    """The column in the subset. ``lenient``: the engine may hold, and show, what a strict one does not.

    Raises RefusedTypeError.
    """
    found = Type.of(facts.type)
    if found.base in REFUSED:
        what, mend = REFUSED[found.base]
        raise RefusedTypeError(f"{found.title}: {what}", mend)
    if found.base not in TYPES:
        raise RefusedTypeError(f"the type {found.title} is not known to every engine", "give it another type")
    made = TYPES[found.base](facts, found)
    if "compressed" in found.words:
        made = replace(made, after=made.after or found.title.replace(" COMPRESSED", ""))
    return made if lenient else replace(made, checks=(), read=name(facts.name))


def _column(facts: ColumnFacts, kind: str, *, length: int = 0, scale: int = 0) -> Column:
    return Column(
        facts.name,
        kind,
        facts.nullable,
        length=length,
        scale=scale,
        auto_increment=facts.auto_increment,
        on_update_now=facts.on_update_now,
        comment=facts.comment,
    )


# Numbers


def _integer(facts: ColumnFacts, found: Type) -> Typed:
    unsigned = "unsigned" in found.words
    wide = found.base == "bigint" or (found.base == "int" and unsigned)
    kind = "bigint" if wide else "int"
    warnings = ["nothing keeps negative numbers out any more"] if unsigned else []
    warnings += ["its zeros in front are not shown any more"] if "zerofill" in found.words else []
    checks: tuple[Check, ...] = ()
    if found.base == "bigint" and unsigned:
        checks = (
            Check(
                facts.name,
                f"{name(facts.name)} > {LARGEST_NUMBER}",
                f"numbers above {LARGEST_NUMBER}",
                "make it DECIMAL(20,0)",
            ),
        )
    same = found.base == kind and not unsigned
    after = "" if same else kind.upper()
    return Typed(_column(facts, kind), name(facts.name), checks, after, "; ".join(warnings))


def _float(facts: ColumnFacts, found: Type) -> Typed:
    same = found.base == "double" and not found.numbers and not found.words
    # Drizzle casts nothing to DOUBLE
    read = name(facts.name) if found.base == "double" and not found.numbers else f"({name(facts.name)} + 0e0)"
    warning = ""
    if found.base == "float":
        warning = "a FLOAT shows fewer digits than it holds; now all are seen: 0.1 is 0.10000000149011612"
    elif found.numbers:
        warning = f"numbers are not rounded to {found.numbers[-1]} digits any more"
    return Typed(_column(facts, "double"), read, (), "" if same else "DOUBLE", warning)


def _decimal(facts: ColumnFacts, found: Type) -> Typed:
    digits, scale = (*found.numbers, 10, 0)[:2] if len(found.numbers) != 1 else (found.first, 0)
    if digits > 65 or scale > 30:
        raise RefusedTypeError(f"{found.title} has more digits than DECIMAL(65,30)", "take fewer digits")
    warning = "nothing keeps negative numbers out any more" if "unsigned" in found.words else ""
    after = f"DECIMAL({digits},{scale})" if found.words else ""
    return Typed(_column(facts, "decimal", length=digits, scale=scale), name(facts.name), (), after, warning)


def _year(facts: ColumnFacts, found: Type) -> Typed:
    return Typed(
        _column(facts, "int"), name(facts.name), (), "INT", "nothing keeps numbers out that are no years any more"
    )


# Text and bytes


def _text_column(facts: ColumnFacts, found: Type, kind: str, length: int) -> Typed:
    charset = facts.charset or (facts.collation or "utf8mb4").partition("_")[0]
    if charset not in CHARSETS:
        raise RefusedTypeError(
            f"text in the character set {charset}",
            f"make it utf8mb4: ALTER TABLE … MODIFY {name(facts.name)} {found.title} CHARACTER SET utf8mb4 …",
        )
    if facts.collation is None:
        raise RefusedTypeError("text without a collation", "give it one")
    collation, same = nearest(facts.collation)
    column = replace(_column(facts, kind, length=length), collation=collation)
    made = Typed(column, name(facts.name), other_collation="" if same else facts.collation)
    if charset in WIDENING:
        return replace(made, read=f"CONVERT({name(facts.name)} USING utf8mb4)")
    quoted = name(facts.name)
    broken = f"CAST({quoted} AS BINARY) <> CAST(CONVERT(CAST({quoted} AS BINARY) USING utf8mb4) AS BINARY)"
    return replace(made, checks=(Check(facts.name, broken, "bytes that are not UTF-8", "mend these texts"),))


def _varchar(facts: ColumnFacts, found: Type) -> Typed:
    length = max(found.first, 1) if found.numbers or found.base == "varchar" else 1
    if length > LONGEST_VARCHAR:
        raise RefusedTypeError(
            f"{found.title} is longer than {LONGEST_VARCHAR} characters", "make it shorter, or TEXT"
        )
    made = _text_column(facts, found, "varchar", length)
    if found.base == "char":
        return replace(made, after=f"VARCHAR({length})", warning="blanks at the end of a value are kept from now on")
    return made


def _text(facts: ColumnFacts, found: Type) -> Typed:
    bytes_each = WIDENING.get(facts.charset or "", 1)
    length = min(_CAPACITY[found.base.removesuffix("text")] * bytes_each, LARGEST_VALUE)
    made = _text_column(facts, found, "text", length)
    if _CAPACITY[found.base.removesuffix("text")] * bytes_each <= LARGEST_VALUE:
        return made
    stored = f"OCTET_LENGTH(CONVERT({name(facts.name)} USING utf8mb4))"
    return _bounded(replace(made, after="TEXT"), found, stored)


def _blob(facts: ColumnFacts, found: Type) -> Typed:
    capacity = _CAPACITY[found.base.removesuffix("blob")]
    made = Typed(_column(facts, "blob", length=min(capacity, LARGEST_VALUE)), name(facts.name))
    if capacity <= LARGEST_VALUE:
        return made
    return _bounded(replace(made, after="BLOB"), found, f"OCTET_LENGTH({name(facts.name)})")


def _bounded(made: Typed, found: Type, stored: str) -> Typed:
    check = Check(
        made.column.name,
        f"{stored} > {LARGEST_VALUE}",
        f"values longer than {LARGEST_VALUE} bytes",
        "keep them in files, or in pieces",
    )
    return replace(made, checks=(*made.checks, check), warning="a value has at most 16 MiB")


def _binary(facts: ColumnFacts, found: Type) -> Typed:
    length = max(found.first, 1)
    made = Typed(_column(facts, "varbinary", length=length), name(facts.name))
    if found.base == "varbinary":
        return made
    warning = "a shorter value is not filled up with zero bytes any more"
    return replace(made, after=f"VARBINARY({length})", warning=warning)


def _enum(facts: ColumnFacts, found: Type) -> Typed:
    if any("?" in member for member in facts.members):
        raise RefusedTypeError(
            "an ENUM with a '?' in a value: MariaDB shows characters of four bytes as '?', too",
            "take other values, or make it VARCHAR",
        )
    if len({member.casefold() for member in facts.members}) < len(facts.members):
        raise RefusedTypeError("an ENUM with values that differ in case only", "make it VARCHAR")
    made = _text_column(facts, found, "enum", 0)
    none = Check(facts.name, f"{name(facts.name)} + 0 = 0", "values that the ENUM has not", "set them right")
    return replace(made, column=replace(made.column, members=facts.members), checks=(none,))


# Times

_NO_DATE = "({0} < '0001-01-01' OR MONTH({0}) = 0 OR DAYOFMONTH({0}) = 0)"


def _date(facts: ColumnFacts, found: Type) -> Typed:
    check = Check(facts.name, _NO_DATE.format(name(facts.name)), _ZERO, _SET_DATES_RIGHT)
    return Typed(_column(facts, "date"), name(facts.name), (check,))


def _time(facts: ColumnFacts, found: Type) -> Typed:
    column = name(facts.name)
    check = Check(
        facts.name,
        f"({column} < '00:00:00' OR {column} > '23:59:59' OR MICROSECOND({column}) <> 0)",
        "times below 0:00:00, above 23:59:59, or with a fraction of a second",
        "keep spans of time as INT (seconds) or BIGINT (microseconds)",
    )
    return Typed(_column(facts, "time"), column, (check,), "TIME" if found.first else "")


def _datetime(facts: ColumnFacts, found: Type) -> Typed:
    column = name(facts.name)
    checks = [Check(facts.name, _NO_DATE.format(column), _ZERO, _SET_DATES_RIGHT)]
    if found.first:
        checks.append(
            Check(
                facts.name,
                f"MICROSECOND({column}) <> 0",
                "fractions of a second, which only a TIMESTAMP keeps",
                "make it TIMESTAMP(6) or a number, or round it",
            )
        )
    warning = "fractions of a second are refused from now on" if found.first else ""
    return Typed(_column(facts, "datetime"), column, tuple(checks), "DATETIME" if found.first else "", warning)


def _timestamp(facts: ColumnFacts, found: Type) -> Typed:
    digits = 6 if found.first else 0
    column = name(facts.name)
    check = Check(
        facts.name,
        f"({column} < '1970-01-01 00:00:01' OR {column} > '2038-01-19 03:14:07.999999')",
        "moments of nothing ('0000-00-00 00:00:00'), or after January 2038",
        "set them right, or make it DATETIME",
    )
    other = found.first not in (0, 6)
    warning = "six digits of a second are kept and shown from now on" if other else ""
    return Typed(
        _column(facts, "timestamp", length=digits), column, (check,), "TIMESTAMP(6)" if other else "", warning
    )


_ZERO = "dates of nothing, such as '0000-00-00' or '2020-00-10'"
_SET_DATES_RIGHT = "make them NULL or true dates"


# Others


def _boolean(facts: ColumnFacts, found: Type) -> Typed:
    warning = "Drizzle sends TRUE and FALSE, MariaDB 1 and 0"
    return Typed(_column(facts, "boolean"), name(facts.name), (), "BOOLEAN", warning)


def _uuid(facts: ColumnFacts, found: Type) -> Typed:
    return Typed(_column(facts, "uuid"), name(facts.name), (), "UUID", "the engines sort UUIDs differently")


_CAPACITY = {"tiny": 255, "": 65535, "medium": (1 << 24) - 1, "long": (1 << 32) - 1}

TYPES: dict[str, Typing] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "integer", "bigint"), _integer),
    **dict.fromkeys(("float", "double"), _float),
    **dict.fromkeys(("decimal", "numeric"), _decimal),
    **dict.fromkeys(("char", "varchar"), _varchar),
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), _text),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), _blob),
    **dict.fromkeys(("binary", "varbinary"), _binary),
    "enum": _enum,
    "year": _year,
    "date": _date,
    "time": _time,
    "datetime": _datetime,
    "timestamp": _timestamp,
    "boolean": _boolean,
    "uuid": _uuid,
}
"""What can be moved."""

REFUSED: dict[str, tuple[str, str]] = {
    "set": ("a set sorts and counts by its bits", "make it VARCHAR, or a table of its own"),
    "bit": ("bits are bytes to a client and numbers in SQL", "make it BIGINT: MODIFY keeps the numbers"),
    "inet4": ("only MariaDB has addresses", "make it VARCHAR(15): MODIFY keeps the text"),
    "inet6": ("only MariaDB has addresses", "make it VARCHAR(39): MODIFY keeps the text"),
    "ipv6": ("only Drizzle has addresses", "make it VARCHAR(39)"),
    "vector": ("only MariaDB has vectors", "make it BLOB"),
    "xmltype": ("only MariaDB has XML", "make it TEXT"),
    **dict.fromkeys(
        (
            "geometry",
            "point",
            "linestring",
            "polygon",
            "multipoint",
            "multilinestring",
            "multipolygon",
            "geometrycollection",
        ),
        ("only MariaDB has shapes", "keep their parts in DOUBLE columns, or ST_AsBinary of them in a BLOB"),
    ),
}
"""What cannot, and what to do instead."""
