"""Reading on after a place: exactly the rows that come later in the order of the key."""

import sqlite3
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.database.kinds import codecs
from stackctl.database.schema import Column, ForeignKey, Key, KeyPart, Table, key_to_read_by, parents_first
from stackctl.database.transfer import after

NUMBERS = st.integers(-3, 3)


def key_of(width: int) -> tuple[Key, Sequence[Column]]:
    columns = [Column(f"k`{number}", "int", False) for number in range(width)]
    return Key("PRIMARY", "primary", tuple(KeyPart(column.name) for column in columns)), columns


@pytest.mark.parametrize("width", [1, 2, 3])
@given(st.data())
def test_the_rows_after_a_place(width: int, data: st.DataObject) -> None:
    """SQLite, which knows names in backticks, is the judge."""
    rows = data.draw(st.lists(st.tuples(*[NUMBERS] * width), unique=True))
    place = data.draw(st.tuples(*[NUMBERS] * width))
    key, columns = key_of(width)
    condition = after(key, codecs(columns), tuple(str(part).encode() for part in place))
    names = ", ".join(f"`k``{number}`" for number in range(width))
    with sqlite3.connect(":memory:") as judge:
        judge.execute(f"CREATE TABLE t ({names})")
        judge.executemany(f"INSERT INTO t VALUES ({','.join('?' * width)})", rows)
        found = judge.execute(f"SELECT * FROM t WHERE {condition} ORDER BY {names}").fetchall()
    assert found == sorted(row for row in rows if row > place)


class TestTheKeyToReadBy:
    ID = Column("id", "bigint", False)
    CODE = Column("code", "varchar", False, length=9, collation="bin")
    MAYBE = Column("maybe", "int")
    STATE = Column("state", "enum", False, members=("a",), collation="bin")

    def chosen(self, *keys: Key) -> str | None:
        table = Table("t", (self.ID, self.CODE, self.MAYBE, self.STATE), keys)
        found = key_to_read_by(table, ("bigint", "int", "varchar"))
        return found.name if found else None

    def key(self, name: str, *columns: str) -> Key:
        kind = "primary" if name == "PRIMARY" else "plain" if name == "plain" else "unique"
        return Key(name, kind, tuple(map(KeyPart, columns)))  # type: ignore[arg-type]

    def test_the_primary_key_comes_first(self) -> None:
        assert self.chosen(self.key("u", "code"), self.key("PRIMARY", "id")) == "PRIMARY"

    def test_another_unique_key_will_do(self) -> None:
        assert self.chosen(self.key("plain", "id"), self.key("m", "maybe"), self.key("u", "code")) == "u"

    def test_no_other_will(self) -> None:
        assert self.chosen(self.key("plain", "id"), self.key("m", "maybe")) is None

    def test_not_one_whose_order_is_another_than_its_comparison(self) -> None:
        """An ENUM sorts by its numbers and compares as text."""
        assert self.chosen(self.key("PRIMARY", "id", "state")) is None


class TestTheOrderOfTables:
    def table(self, name: str, *above: str) -> Table:
        keys = tuple(ForeignKey(f"to_{other}", ("a",), other, ("a",), "CASCADE", "CASCADE") for other in above)
        return Table(name, (Column("a", "int"),), foreign_keys=keys)

    def order(self, *tables: Table) -> list[str]:
        return [table.name for table in parents_first(tables)]

    def test_parents_come_first(self) -> None:
        found = self.order(self.table("a", "b"), self.table("b", "c"), self.table("c"), self.table("d", "a", "c"))
        assert found == ["c", "b", "a", "d"]

    def test_circles_end(self) -> None:
        assert sorted(self.order(self.table("a", "b"), self.table("b", "a"), self.table("c", "c"))) == ["a", "b", "c"]
