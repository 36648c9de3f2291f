"""The kinds of values in the subset: the one canonical form of each value, and how it is written in SQL.

Every engine sends a value as text. Its canonical form is the same whichever engine it came from, so that checksums
can be compared; its literal is what both engines read as that value.
"""

import datetime
import decimal
import math
import re
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stackctl.database.schema import Column

Value = bytes | None
"""A value in its canonical form; None is NULL."""
Canonical = Callable[[bytes], bytes]
Literal = Callable[[bytes], bytes]


class UnfitError(ValueError):
    """A value that the subset cannot hold."""


@dataclass(frozen=True)
class Kind:
    """A kind of values: makes the reader of a column's values, and writes them."""

    reader: Callable[[Column], Canonical]
    literal: Literal


@dataclass(frozen=True)
class Codec:
    """Reads and writes the values of one column."""

    column: Column
    canonical: Canonical
    literal: Literal

    def read(self, raw: Value) -> Value:
        """The canonical form of what an engine sent. Raises UnfitError, which tells why."""
        return None if raw is None else self.canonical(raw)

    def write(self, value: Value) -> bytes:
        """The SQL literal of a canonical value."""
        return b"NULL" if value is None else self.literal(value)


def codec(column: Column) -> Codec:
    """What reads and writes the values of a column."""
    kind = KINDS[column.kind]
    return Codec(column, kind.reader(column), kind.literal)


def codecs(columns: Sequence[Column]) -> tuple[Codec, ...]:
    """The codec of each column."""
    return tuple(codec(column) for column in columns)


# Numbers

_LARGEST = sys.float_info.max
_CONTEXT = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_EVEN, traps=[decimal.InvalidOperation])


def _whole(bits: int) -> Callable[[Column], Canonical]:
    lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(raw: bytes) -> bytes:
        try:
            number = int(raw)
        except ValueError:
            raise UnfitError(f"{_shown(raw)} is no whole number") from None
        if not lowest <= number <= highest:
            raise UnfitError(f"{number} does not fit into {bits} bits with a sign")
        return b"%d" % number

    return lambda _: read


def _decimal(column: Column) -> Canonical:
    step = decimal.Decimal(1).scaleb(-column.scale)

    def read(raw: bytes) -> bytes:
        try:
            exact = decimal.Decimal(raw.decode("ascii"))
            number = exact.quantize(step, context=_CONTEXT)
        except (decimal.InvalidOperation, UnicodeDecodeError):
            raise UnfitError(f"{_shown(raw)} is no decimal number") from None
        if number != exact or number.copy_abs() >= decimal.Decimal(1).scaleb(column.length - column.scale):
            raise UnfitError(f"{_shown(raw)} does not fit into DECIMAL({column.length},{column.scale})")
        return f"{number.copy_abs() if number == 0 else number:f}".encode("ascii")  # abs() would round

    return read


def _double(raw: bytes) -> bytes:
    """One number, or a rounded one and behind it what that leaves out.

    The difference of a number and its first 15 digits is a few units of its last place, so it is exact, and so is
    the sum of both.
    """
    first, _, rest = raw.partition(b" ")
    try:
        number = float(first)
        if rest:
            # the largest numbers are rounded to what is none any more, which servers read as the largest
            number = max(-_LARGEST, min(number, _LARGEST)) + float(rest)
    except ValueError:
        raise UnfitError(f"{_shown(raw)} is no number") from None
    if not math.isfinite(number):
        raise UnfitError(f"{_shown(raw)} is no finite number")
    return repr(number + 0.0).encode("ascii")  # makes 0 of -0, which not every engine keeps


def _double_literal(value: bytes) -> bytes:
    """With point and exponent, so that it is no decimal number on its way."""
    mantissa, _, exponent = value.partition(b"e")
    mantissa += b"" if b"." in mantissa else b".0"
    return b"%se%+d" % (mantissa, int(exponent or 0))


def _plain(value: bytes) -> bytes:
    return value


# Text and bytes

_ESCAPES = (
    (b"\\", b"\\\\"),
    (b"'", b"\\'"),
    (b"\x00", b"\\0"),
    (b"\n", b"\\n"),
    (b"\r", b"\\r"),
    (b"\x1a", b"\\Z"),
)


def quoted(text: bytes) -> bytes:
    """A literal of UTF-8 text."""
    for character, escaped in _ESCAPES:
        text = text.replace(character, escaped)
    return b"'" + text + b"'"


def _text(raw: bytes) -> bytes:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as failure:
        raise UnfitError(f"byte {failure.start + 1} of {_shown(raw)} is not UTF-8") from None
    return raw


def _sized(column: Column) -> Canonical:
    def read(raw: bytes) -> bytes:
        if len(raw) > column.length:
            raise UnfitError(f"a value of {len(raw)} bytes is longer than {column.length}")
        return _text(raw) if column.kind == "text" else raw

    return read


def _hex(value: bytes) -> bytes:
    return b"0x" + value.hex().upper().encode("ascii") if value else b"''"


def _member(column: Column) -> Canonical:
    members = {member.encode("utf-8", "surrogatepass") for member in column.members}

    def read(raw: bytes) -> bytes:
        if raw not in members:
            raise UnfitError(f"{_shown(raw)} is none of the values of the ENUM")
        return raw

    return read


# Times

_DAY = re.compile(rb"\d{4}-\d\d-\d\d")
_CLOCK = re.compile(rb"([01]\d|2[0-3]):[0-5]\d:[0-5]\d")
_MOMENT = re.compile(rb"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?")
_EPOCH_ENDS = b"2038-01-19 03:14:07"


def _date(raw: bytes) -> bytes:
    try:
        if not _DAY.fullmatch(raw):
            raise ValueError
        datetime.date.fromisoformat(raw.decode("ascii"))
    except ValueError:
        raise UnfitError(f"{_shown(raw)} is no date") from None
    return raw


def _time(raw: bytes) -> bytes:
    clock, _, fraction = raw.partition(b".")
    if not _CLOCK.fullmatch(clock) or fraction.strip(b"0"):
        raise UnfitError(f"{_shown(raw)} is no whole second of a day")
    return clock


def _moment(raw: bytes) -> tuple[bytes, bytes]:
    """The moment to the second, and its microseconds as six digits."""
    match = _MOMENT.fullmatch(raw)
    if match is None or not _CLOCK.fullmatch(match.group(2)):
        raise UnfitError(f"{_shown(raw)} is no date and time")
    return _date(match.group(1)) + b" " + match.group(2), (match.group(3) or b"").ljust(6, b"0")


def _datetime(raw: bytes) -> bytes:
    moment, fraction = _moment(raw)
    if fraction != b"000000":
        raise UnfitError(f"{_shown(raw)} has a fraction of a second, which a DATETIME of the subset has not")
    return moment


def _timestamp(column: Column) -> Canonical:
    def read(raw: bytes) -> bytes:
        moment, fraction = _moment(raw)
        if not b"1970-01-01 00:00:00" <= moment <= _EPOCH_ENDS:
            raise UnfitError(f"{_shown(raw)} is no moment of a TIMESTAMP, which ends in 2038")
        if column.length:
            return moment + b"." + fraction
        if fraction != b"000000":
            raise UnfitError(f"{_shown(raw)} has a fraction of a second, and the column has none")
        return moment

    return read


# Others

_TRUTH = {b"0": b"0", b"1": b"1", b"FALSE": b"0", b"TRUE": b"1", b"NO": b"0", b"YES": b"1"}


def _boolean(raw: bytes) -> bytes:
    truth = _TRUTH.get(raw.upper())
    if truth is None:
        raise UnfitError(f"{_shown(raw)} is neither true nor false")
    return truth


def _uuid(raw: bytes) -> bytes:
    try:
        return str(uuid.UUID(raw.decode("ascii"))).encode("ascii")
    except ValueError:
        raise UnfitError(f"{_shown(raw)} is no UUID") from None


def _shown(raw: bytes) -> str:
    text = raw[:40].decode("utf-8", "backslashreplace")
    return f"{text!r}" + ("…" if len(raw) > 40 else "")


KINDS: dict[str, Kind] = {
    "int": Kind(_whole(32), _plain),
    "bigint": Kind(_whole(64), _plain),
    "decimal": Kind(_decimal, _plain),
    "double": Kind(lambda _: _double, _double_literal),
    "varchar": Kind(lambda _: _text, quoted),
    "text": Kind(_sized, quoted),
    "varbinary": Kind(_sized, _hex),
    "blob": Kind(_sized, _hex),
    "enum": Kind(_member, quoted),
    "date": Kind(lambda _: _date, quoted),
    "time": Kind(lambda _: _time, quoted),
    "datetime": Kind(lambda _: _datetime, quoted),
    "timestamp": Kind(_timestamp, quoted),
    "boolean": Kind(lambda _: _boolean, lambda value: b"TRUE" if value == b"1" else b"FALSE"),
    "uuid": Kind(lambda _: _uuid, quoted),
}
"""Every kind by name."""
