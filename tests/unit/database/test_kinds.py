"""Every value has one canonical form, whichever engine sent it, and a literal that is read as that value."""

import datetime
import decimal
import math
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.database.kinds import KINDS, UnfitError, codec
from stackctl.database.schema import Column
from stackctl.database.sql import read_literal


def of(kind: str, **words: object) -> Column:
    return Column("c", kind, **words)  # type: ignore[arg-type]


NINES = b"9" * 35 + b"." + b"9" * 30
COLUMNS = {
    "int": of("int"),
    "bigint": of("bigint"),
    "decimal": of("decimal", length=10, scale=3),
    "longest decimal": of("decimal", length=65, scale=30),
    "double": of("double"),
    "varchar": of("varchar", length=50),
    "text": of("text", length=100),
    "varbinary": of("varbinary", length=20),
    "blob": of("blob", length=100),
    "enum": of("enum", members=("a", "b'c")),
    "date": of("date"),
    "time": of("time"),
    "datetime": of("datetime"),
    "timestamp": of("timestamp"),
    "microseconds": of("timestamp", length=6),
    "boolean": of("boolean"),
    "uuid": of("uuid"),
}


def test_every_kind_is_tried_here() -> None:
    assert {column.kind for column in COLUMNS.values()} == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "sent", "canonical", "literal"),
    [
        ("int", b"-00042", b"-42", b"-42"),
        ("int", b"2147483647", b"2147483647", b"2147483647"),
        ("bigint", b"-9223372036854775808", b"-9223372036854775808", b"-9223372036854775808"),
        ("decimal", b"1.5", b"1.500", b"1.500"),
        ("decimal", b"-0.000", b"0.000", b"0.000"),
        ("decimal", b"-9999999.999", b"-9999999.999", b"-9999999.999"),
        ("longest decimal", NINES, NINES, NINES),
        ("longest decimal", b"-" + NINES, b"-" + NINES, b"-" + NINES),
        ("double", b"10000000000", b"10000000000.0", b"10000000000.0e+0"),
        ("double", b"1e308", b"1e+308", b"1.0e+308"),
        ("double", b"-0", b"0.0", b"0.0e+0"),
        ("double", b"5e-324", b"5e-324", b"5.0e-324"),
        # 15 digits, and what they leave out
        ("double", b"0.123456789012346 -3.33066907387547e-16", b"0.12345678901234566", b"0.12345678901234566e+0"),
        ("double", b"-1.79769313486232e308 0", b"-1.7976931348623157e+308", b"-1.7976931348623157e+308"),
        ("double", b"2.2250738585072e-308 1.5e-323", b"2.2250738585072014e-308", b"2.2250738585072014e-308"),
        ("varchar", "naïve 🦀".encode(), "naïve 🦀".encode(), "'naïve 🦀'".encode()),
        ("varchar", b"it's \\ \n\r\0\x1a", b"it's \\ \n\r\0\x1a", b"'it\\'s \\\\ \\n\\r\\0\\Z'"),
        ("text", b"", b"", b"''"),
        ("varbinary", b"\x00\xff", b"\x00\xff", b"0x00FF"),
        ("blob", b"", b"", b"''"),
        ("enum", b"b'c", b"b'c", b"'b\\'c'"),
        ("date", b"0001-01-01", b"0001-01-01", b"'0001-01-01'"),
        ("time", b"23:59:59.000", b"23:59:59", b"'23:59:59'"),
        ("datetime", b"9999-12-31 23:59:59.000000", b"9999-12-31 23:59:59", b"'9999-12-31 23:59:59'"),
        ("timestamp", b"2038-01-19 03:14:07", b"2038-01-19 03:14:07", b"'2038-01-19 03:14:07'"),
        ("microseconds", b"2020-02-29 10:00:00.120", b"2020-02-29 10:00:00.120000", b"'2020-02-29 10:00:00.120000'"),
        ("microseconds", b"2020-02-29 10:00:00", b"2020-02-29 10:00:00.000000", b"'2020-02-29 10:00:00.000000'"),
        ("boolean", b"TRUE", b"1", b"TRUE"),
        ("boolean", b"0", b"0", b"FALSE"),
        ("uuid", b"00112233-4455-6677-8899-AABBCCDDEEFF", b"00112233-4455-6677-8899-aabbccddeeff",
         b"'00112233-4455-6677-8899-aabbccddeeff'"),
    ],
)  # fmt: skip
def test_what_engines_send(kind: str, sent: bytes, canonical: bytes, literal: bytes) -> None:
    reading = codec(COLUMNS[kind])
    assert reading.read(sent) == canonical
    assert reading.write(canonical) == literal


@pytest.mark.parametrize("kind", COLUMNS)
def test_null_is_null(kind: str) -> None:
    reading = codec(COLUMNS[kind])
    assert reading.read(None) is None
    assert reading.write(None) == b"NULL"


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("int", b"2147483648"),
        ("int", b"-2147483649"),
        ("int", b"1.5"),
        ("bigint", b"9223372036854775808"),
        ("decimal", b"1.0001"),
        ("decimal", b"10000000"),
        ("decimal", b"NaN"),
        ("decimal", b"Infinity"),
        ("double", b"inf"),
        ("double", b"nan"),
        ("varchar", b"caf\xe9"),
        ("text", b"\xed\xa0\x80"),
        ("text", b"x" * 101),
        ("varbinary", b"x" * 21),
        ("blob", b"x" * 101),
        ("enum", b""),
        ("enum", b"A"),
        ("date", b"0000-00-00"),
        ("date", b"2020-00-10"),
        ("date", b"2021-02-29"),
        ("date", b"2020-W01-1"),
        ("time", b"-01:00:00"),
        ("time", b"24:00:00"),
        ("time", b"838:59:59"),
        ("time", b"10:00:00.5"),
        ("datetime", b"0000-00-00 00:00:00"),
        ("datetime", b"2020-01-01 10:00:00.500"),
        ("timestamp", b"2038-01-19 03:14:08"),
        ("timestamp", b"2020-01-01 10:00:00.5"),
        ("microseconds", b"0000-00-00 00:00:00.000000"),
        ("boolean", b"2"),
        ("uuid", b"nothing"),
    ],
)
def test_what_the_subset_cannot_hold(kind: str, sent: bytes) -> None:
    with pytest.raises(UnfitError):
        codec(COLUMNS[kind]).read(sent)


def test_a_long_value_is_not_shown_whole() -> None:
    with pytest.raises(UnfitError) as failure:
        codec(COLUMNS["int"]).read(b"9x" * 1000)
    assert len(str(failure.value)) < 80


_MOMENTS = st.datetimes(datetime.datetime(1970, 1, 2), datetime.datetime(2038, 1, 19))
VALUES = {
    "int": st.integers(-(2**31), 2**31 - 1).map(str),
    "bigint": st.integers(-(2**63), 2**63 - 1).map(str),
    "decimal": st.decimals("-9999999.999", "9999999.999", places=3).map(str),
    "longest decimal": st.integers(0, 10**65 - 1).map(lambda digits: f"{digits // 10**30}.{digits % 10**30:030}"),
    "double": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "varchar": st.text(),
    "text": st.text(max_size=25),
    "varbinary": st.binary(max_size=20),
    "blob": st.binary(max_size=100),
    "enum": st.sampled_from(COLUMNS["enum"].members),
    "date": st.dates().map(str),
    "time": st.times().map(lambda time: time.strftime("%H:%M:%S")),
    "datetime": st.datetimes().map(lambda moment: moment.isoformat(" ", "seconds")),
    "timestamp": _MOMENTS.map(lambda moment: moment.isoformat(" ", "seconds")),
    "microseconds": _MOMENTS.map(lambda moment: moment.isoformat(" ", "microseconds")),
    "boolean": st.sampled_from(["TRUE", "FALSE", "0", "1"]),
    "uuid": st.uuids().map(str),
}


@given(st.data())
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_canonical_form_is_its_own(kind: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[kind])
    reading = codec(COLUMNS[kind])
    canonical = reading.read(value if isinstance(value, bytes) else value.encode())
    assert reading.read(canonical) == canonical


@given(st.one_of(st.text(), st.text(alphabet="'\\\n\r\0\x1a\"%ü🦀")))
def test_a_literal_is_read_as_the_text(text: str) -> None:
    literal = codec(COLUMNS["varchar"]).write(text.encode()).decode()
    assert read_literal(literal) == (text, len(literal))


@given(st.binary())
def test_a_literal_is_read_as_the_bytes(value: bytes) -> None:
    literal = codec(COLUMNS["blob"]).write(value)
    assert literal == b"''" if not value else bytes.fromhex(literal.decode()[2:]) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_loses_no_bit(number: float) -> None:
    literal = codec(COLUMNS["double"]).write(codec(COLUMNS["double"]).read(repr(number).encode())).decode()
    assert float(literal) == number
    assert "." in literal
    assert "e" in literal
    assert not math.isnan(float(literal))


@given(st.decimals("-9999999.999", "9999999.999", places=3))
def test_a_decimal_is_the_same_number(number: decimal.Decimal) -> None:
    canonical = codec(COLUMNS["decimal"]).read(str(number).encode())
    assert canonical is not None
    assert decimal.Decimal(canonical.decode()) == number
    assert len(canonical.partition(b".")[2]) == 3


@given(st.uuids())
def test_a_uuid_is_the_same(value: uuid.UUID) -> None:
    canonical = codec(COLUMNS["uuid"]).read(str(value).upper().encode())
    assert canonical == str(value).encode()
