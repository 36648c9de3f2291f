"""What becomes of each type: MariaDB's words on the left, the subset's column on the right."""

import pytest

from stackctl.database.facts import ColumnFacts
from stackctl.database.schema import LARGEST_VALUE, Column
from stackctl.database.types import REFUSED, TYPES, RefusedTypeError, Type, typed


def facts(words: str, **more: object) -> ColumnFacts:
    if any(word in words for word in ("char", "text", "enum")):
        more = {"charset": "utf8mb4", "collation": "utf8mb4_bin", **more}
    return ColumnFacts("c", words, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "kind", "length", "scale", "after"),
    [
        ("tinyint(1)", "int", 0, 0, "INT"),
        ("tinyint(4)", "int", 0, 0, "INT"),
        ("tinyint(3) unsigned", "int", 0, 0, "INT"),
        ("smallint(6)", "int", 0, 0, "INT"),
        ("smallint(5) unsigned", "int", 0, 0, "INT"),
        ("mediumint(9)", "int", 0, 0, "INT"),
        ("mediumint(8) unsigned", "int", 0, 0, "INT"),
        ("int(11)", "int", 0, 0, ""),
        ("int(10) unsigned", "bigint", 0, 0, "BIGINT"),
        ("int(5) unsigned zerofill", "bigint", 0, 0, "BIGINT"),
        ("bigint(20)", "bigint", 0, 0, ""),
        ("bigint(20) unsigned", "bigint", 0, 0, "BIGINT"),
        ("float", "double", 0, 0, "DOUBLE"),
        ("float(7,2)", "double", 0, 0, "DOUBLE"),
        ("double", "double", 0, 0, ""),
        ("double(10,3)", "double", 0, 0, "DOUBLE"),
        ("double unsigned", "double", 0, 0, "DOUBLE"),
        ("decimal(10,0)", "decimal", 10, 0, ""),
        ("decimal(65,30)", "decimal", 65, 30, ""),
        ("decimal(6,2) unsigned", "decimal", 6, 2, "DECIMAL(6,2)"),
        ("char(3)", "varchar", 3, 0, "VARCHAR(3)"),
        ("char(0)", "varchar", 1, 0, "VARCHAR(1)"),
        ("varchar(16383)", "varchar", 16383, 0, ""),
        ("varchar(10) /*m!100301 compressed*/", "varchar", 10, 0, "VARCHAR(10)"),
        ("tinytext", "text", 255, 0, ""),
        ("text", "text", 65535, 0, ""),
        ("mediumtext", "text", LARGEST_VALUE, 0, ""),
        ("longtext", "text", LARGEST_VALUE, 0, "TEXT"),
        ("binary(16)", "varbinary", 16, 0, "VARBINARY(16)"),
        ("varbinary(60000)", "varbinary", 60000, 0, ""),
        ("tinyblob", "blob", 255, 0, ""),
        ("blob", "blob", 65535, 0, ""),
        ("mediumblob", "blob", LARGEST_VALUE, 0, ""),
        ("longblob", "blob", LARGEST_VALUE, 0, "BLOB"),
        ("year(4)", "int", 0, 0, "INT"),
        ("date", "date", 0, 0, ""),
        ("time", "time", 0, 0, ""),
        ("time(3)", "time", 0, 0, "TIME"),
        ("datetime", "datetime", 0, 0, ""),
        ("datetime(6)", "datetime", 0, 0, "DATETIME"),
        ("timestamp", "timestamp", 0, 0, ""),
        ("timestamp(3)", "timestamp", 6, 0, "TIMESTAMP(6)"),
        ("timestamp(6)", "timestamp", 6, 0, ""),
        ("boolean", "boolean", 0, 0, "BOOLEAN"),
        ("uuid", "uuid", 0, 0, "UUID"),
    ],
)
def test_what_is_moved(words: str, kind: str, length: int, scale: int, after: str) -> None:
    made = typed(facts(words), lenient=True)
    assert (made.column.kind, made.column.length, made.column.scale, made.after) == (kind, length, scale, after)


def test_every_type_has_its_line() -> None:
    """Each type that is moved, or refused, is tried in this file."""
    lines = [line for mark in test_what_is_moved.pytestmark for line in mark.args[1]]  # type: ignore[attr-defined]
    bases = {Type.of(line[0]).base for line in lines}
    assert set(TYPES) - bases == {"enum", "integer", "numeric"}


@pytest.mark.parametrize("words", [*REFUSED, "set('a','b')", "bit(1)"])
def test_what_is_refused(words: str) -> None:
    with pytest.raises(RefusedTypeError) as failure:
        typed(facts(words), lenient=True)
    assert failure.value.mend


@pytest.mark.parametrize("words", ["varchar(16384)", "decimal(65,38)", "money", "bfile"])
def test_what_is_too_much_or_unknown(words: str) -> None:
    with pytest.raises(RefusedTypeError):
        typed(facts(words), lenient=True)


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        ("bigint(20) unsigned", "`c` > 9223372036854775807"),
        ("datetime(6)", "MICROSECOND(`c`) <> 0"),
        ("date", "`c` < '0001-01-01'"),
        ("timestamp", "`c` < '1970-01-01 00:00:01'"),
        ("time", "`c` > '23:59:59'"),
        ("longblob", "OCTET_LENGTH(`c`) > 16777215"),
        ("longtext", "OCTET_LENGTH(CONVERT(`c` USING utf8mb4)) > 16777215"),
        ("varchar(10)", "USING utf8mb4"),
    ],
)
def test_rows_are_asked_for_what_the_type_does_not_tell(words: str, condition: str) -> None:
    assert any(condition in check.condition for check in typed(facts(words), lenient=True).checks)
    assert typed(facts(words), lenient=False).checks == ()


def test_a_float_is_read_with_all_its_digits() -> None:
    assert typed(facts("float"), lenient=True).read == "(`c` + 0e0)"
    assert typed(facts("double(10,2)"), lenient=True).read == "(`c` + 0e0)"
    assert typed(facts("double"), lenient=True).read == "`c`"
    assert typed(facts("double(10,2)"), lenient=False).read == "`c`"  # Drizzle has no CAST for it


class TestEnum:
    def test_its_values_are_kept(self) -> None:
        made = typed(facts("enum", members=("a", "it's")), lenient=True)
        assert made.column == Column("c", "enum", members=("a", "it's"), collation="bin")
        assert [check.condition for check in made.checks] == ["`c` + 0 = 0"]

    @pytest.mark.parametrize("members", [("a?", "b"), ("a", "A"), ("ß", "ss")])
    def test_values_that_could_be_others(self, members: tuple[str, ...]) -> None:
        with pytest.raises(RefusedTypeError):
            typed(facts("enum", members=members), lenient=True)


class TestText:
    @pytest.mark.parametrize(
        ("charset", "collation", "nearest", "same"),
        [
            ("utf8mb4", "utf8mb4_general_ci", "general_ci", True),
            ("utf8mb3", "utf8mb3_general_ci", "general_ci", True),
            ("ascii", "ascii_general_ci", "general_ci", True),
            ("utf8mb4", "utf8mb4_bin", "bin", True),
            ("latin1", "latin1_bin", "bin", True),
            (None, "utf8_general_ci", "general_ci", True),
            (None, "utf8_bin", "bin", True),
            ("utf8mb4", "utf8mb4_unicode_ci", "general_ci", False),
            ("utf8mb4", "utf8mb4_uca1400_ai_ci", "general_ci", False),
            ("utf8mb4", "utf8mb4_uca1400_as_cs", "bin", False),
            ("utf8mb4", "utf8mb4_nopad_bin", "bin", False),
            ("latin1", "latin1_swedish_ci", "general_ci", False),
        ],
    )
    def test_collations(self, charset: str | None, collation: str, nearest: str, same: bool) -> None:
        made = typed(facts("varchar(5)", charset=charset, collation=collation), lenient=True)
        assert made.column.collation == nearest
        assert made.other_collation == ("" if same else collation)

    def test_other_character_sets_are_refused(self) -> None:
        with pytest.raises(RefusedTypeError, match="latin2"):
            typed(facts("varchar(5)", charset="latin2", collation="latin2_general_ci"), lenient=True)

    def test_latin1_may_grow(self) -> None:
        made = typed(facts("text", charset="latin1", collation="latin1_bin"), lenient=True)
        assert made.column.length == 3 * 65535


def test_a_type_taken_apart() -> None:
    assert Type.of("decimal(6,2) unsigned zerofill") == Type("decimal", (6, 2), frozenset({"unsigned", "zerofill"}))
    assert Type.of("decimal(6,2) unsigned").title == "DECIMAL(6,2) UNSIGNED"
    assert Type.of("text").title == "TEXT"
