"""The checksum over rows: the same in any order and in any parts, another for any other rows."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from stackctl.database.checksum import EMPTY, Checksum, RowSum

ROWS = st.lists(st.tuples(st.none() | st.binary(max_size=4), st.none() | st.binary(max_size=4)), max_size=8)
Rows = list[tuple[bytes | None, bytes | None]]


def sum_of(rows: Rows, begun: Checksum | None = None) -> Checksum:
    total = RowSum(begun)
    for row in rows:
        total.add(row)
    return total.checksum()


def test_a_row_by_hand() -> None:
    digest = hashlib.sha256(b"2:ab,-,0:").hexdigest()
    total = RowSum()
    total.add((b"ab", None, b""))
    assert total.checksum() == Checksum(1, digest)


def test_no_rows() -> None:
    assert Checksum(0, "0" * 64) == EMPTY


@given(ROWS, st.randoms())
def test_the_order_does_not_count(rows: Rows, random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sum_of(shuffled) == sum_of(rows)


@given(ROWS, ROWS)
def test_it_can_be_taken_in_parts(first: Rows, second: Rows) -> None:
    assert sum_of(second, sum_of(first)) == sum_of(first + second)


@given(ROWS, ROWS)
def test_other_rows_have_another(one: Rows, other: Rows) -> None:
    same = sorted(map(repr, one)) == sorted(map(repr, other))
    assert (sum_of(one) == sum_of(other)) is same


def test_neighbours_are_told_apart() -> None:
    assert sum_of([(b"ab", b"c")]) != sum_of([(b"a", b"bc")])
    assert sum_of([(None, b"")]) != sum_of([(b"", None)])
    assert sum_of([(b"-", None)]) != sum_of([(None, b"-")])
    assert sum_of([(b"a", b"b"), (b"a", b"b")]) != sum_of([(b"a", b"b")])
