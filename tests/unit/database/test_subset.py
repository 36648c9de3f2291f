"""A whole schema in the subset: what is refused all at once, what changes, what keys and references become."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from stackctl.database.facts import (
    CheckFacts,
    ColumnFacts,
    DefaultFacts,
    ForeignKeyFacts,
    KeyFacts,
    KeyPartFacts,
    SchemaFacts,
    TableFacts,
    Thing,
)
from stackctl.database.schema import Default, ForeignKey, Key, KeyPart
from stackctl.database.subset import Movable, Translation, translate

NOW = DefaultFacts("now")
ID = ColumnFacts("id", "int(11)", False, auto_increment=True)
PRIMARY = KeyFacts("PRIMARY", True, (KeyPartFacts("id"),))


def text(name: str, words: str = "varchar(20)", collation: str = "utf8mb4_general_ci", **more: object) -> ColumnFacts:
    return ColumnFacts(name, words, charset=collation.partition("_")[0], collation=collation, **more)  # type: ignore[arg-type]


def table(*columns: ColumnFacts, keys: Sequence[KeyFacts] = (), **more: object) -> TableFacts:
    words: dict[str, object] = {"name": "t", "engine": "InnoDB", "collation": "utf8mb4_general_ci", **more}
    return TableFacts(columns=(ID, *columns), keys=(PRIMARY, *keys), **words)  # type: ignore[arg-type]


def moved(*tables: TableFacts, things: Sequence[Thing] = (), lenient: bool = True) -> Translation:
    return translate(SchemaFacts("app", lenient, tables, tuple(things)))


def refused(*tables: TableFacts, things: Sequence[Thing] = ()) -> list[tuple[str, str]]:
    return [(refusal.where, refusal.what) for refusal in moved(*tables, things=things).refusals]


def only(translation: Translation) -> Movable:
    assert translation.refusals == ()
    (movable,) = translation.tables
    return movable


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("more", "what"),
        [
            ({"engine": "MyISAM"}, "it is kept by MyISAM"),
            ({"engine": "Aria"}, "it is kept by Aria"),
            ({"partitioned": True}, "it is partitioned"),
            ({"periods": True}, "it keeps periods or versions of its rows"),
        ],
    )
    def test_tables_of_other_kinds(self, more: dict[str, object], what: str) -> None:
        assert refused(table(**more)) == [("t", what)]

    def test_a_check(self) -> None:
        found = refused(table(checks=(CheckFacts("small", "`id` < 10"),)))
        assert found == [("t", "the check small (`id` < 10); Drizzle checks nothing")]

    @pytest.mark.parametrize(
        "kind", ["view", "sequence", "procedure", "function", "package", "package body", "event", "journal"]
    )
    def test_things_that_are_no_tables(self, kind: str) -> None:
        ((where, _),) = refused(table(), things=[Thing(kind, "it")])
        assert where == "it"

    def test_a_trigger_is_told_at_its_table(self) -> None:
        assert refused(table(), things=[Thing("trigger", "bell", "t")]) == [
            ("t", "the trigger bell; Drizzle has none")
        ]

    @pytest.mark.parametrize(
        "column",
        [
            ColumnFacts("c", "int(11)", generated="`id` + 1"),
            ColumnFacts("c", "int(11)", invisible=True),
            ColumnFacts("c", "int(11)", default=DefaultFacts("expression", b"(1 + 2)")),
            ColumnFacts("c", "int(11)", default=DefaultFacts("literal", b"3000000000")),
            ColumnFacts("c", "int(11)", default=NOW),
            ColumnFacts("c", "datetime", default=NOW),
            ColumnFacts("c", "datetime", on_update_now=True),
            ColumnFacts("c", "date", default=DefaultFacts("literal", b"0000-00-00")),
            ColumnFacts("c", "timestamp", False),
            ColumnFacts("c", "timestamp", False, DefaultFacts("literal", b"0000-00-00 00:00:00")),
            ColumnFacts("c", "blob", default=DefaultFacts("literal", b"x")),
            ColumnFacts("c", "double", auto_increment=True),
            text("c", "text", default=DefaultFacts("literal", b"x")),
            text("c", "varchar(2)", default=DefaultFacts("literal", "üü".encode())),
            text("c", "varchar(9)", default=DefaultFacts("literal", b"a\x00b")),
            text("c", default=DefaultFacts("unreadable")),
        ],
        ids=lambda column: f"{column.type}-{column.default and column.default.kind}",
    )
    def test_columns(self, column: ColumnFacts) -> None:
        ((where, _),) = refused(table(column))
        assert where == "t.c"

    def test_two_columns_that_take_the_time(self) -> None:
        columns = (ColumnFacts("a", "timestamp", default=NOW), ColumnFacts("b", "timestamp", on_update_now=True))
        ((where, what),) = refused(table(*columns))
        assert where == "t"
        assert what.startswith("a, b take the time")

    @pytest.mark.parametrize(
        ("key", "where"),
        [
            (KeyFacts("k", False, (KeyPartFacts("c"),), "FULLTEXT"), "t"),
            (KeyFacts("k", False, (KeyPartFacts("c"),), "SPATIAL"), "t"),
            (KeyFacts("k", True, (KeyPartFacts("c"),), "HASH"), "t"),
            (KeyFacts("k", True, (KeyPartFacts("c"),)), "t.c"),
            (KeyFacts("k", False, (KeyPartFacts("c", 256),)), "t.c"),
        ],
    )
    def test_keys(self, key: KeyFacts, where: str) -> None:
        assert [at for at, _ in refused(table(text("c", "varchar(256)"), keys=[key]))] == [where]

    def test_a_key_that_is_too_long_as_a_whole(self) -> None:
        columns = [text(f"c{number}", "varchar(255)") for number in range(4)]
        key = KeyFacts("k", False, tuple(KeyPartFacts(column.name) for column in columns))
        assert refused(table(*columns, keys=[key])) == [("t", "the key k takes 4080 bytes; Drizzle takes 3500")]

    def test_a_row_that_is_too_long(self) -> None:
        columns = [text(f"c{number}", "varchar(6000)", "latin1_bin") for number in range(3)]
        ((where, what),) = refused(table(*columns))
        assert where == "t"
        assert "72010 bytes" in what

    @pytest.mark.parametrize(
        "foreign",
        [
            ForeignKeyFacts("f", ("id",), "other", "t", ("id",), "RESTRICT", "RESTRICT"),
            ForeignKeyFacts("f", ("id",), "app", "gone", ("id",), "RESTRICT", "RESTRICT"),
            ForeignKeyFacts("f", ("id",), "app", "t", ("id",), "RESTRICT", "SET DEFAULT"),
        ],
    )
    def test_foreign_keys(self, foreign: ForeignKeyFacts) -> None:
        assert [where for where, _ in refused(table(foreign_keys=(foreign,)))] == ["t"]

    def test_names_that_differ_in_case_only(self) -> None:
        assert [where for where, _ in refused(table(name="Order"), table(name="order"))] == ["Order", "order"]

    def test_an_unfinished_move_into_the_source(self) -> None:
        assert [where for where, _ in refused(table(name="stackctl_move"))] == ["stackctl_move"]

    def test_all_of_it_is_told_at_once(self) -> None:
        bad = table(
            ColumnFacts("a", "bit(1)"),
            ColumnFacts("b", "point"),
            text("c", "set"),
            keys=[KeyFacts("k", False, (KeyPartFacts("c"),), "FULLTEXT")],
            engine="MyISAM",
        )
        found = refused(bad, table(name="u", partitioned=True), things=[Thing("view", "v"), Thing("event", "e")])
        assert [where for where, _ in found] == ["e", "t", "t", "t.a", "t.b", "t.c", "u", "v"]


class TestWhatBecomesOfIt:
    def test_a_table(self) -> None:
        movable = only(moved(table(text("name"), comment="all of them", auto_increment=7)))
        assert [column.name for column in movable.table.columns] == ["id", "name"]
        assert movable.reads == ("`id`", "`name`")
        assert movable.table.comment == "all of them"
        assert movable.table.auto_increment == 7
        assert movable.table.keys == (Key("PRIMARY", "primary", (KeyPart("id"),)),)

    def test_json_is_text(self) -> None:
        column = text("j", "longtext", "utf8mb4_bin")
        translation = moved(table(column, checks=(CheckFacts("j", "json_valid(`j`)", of_column=True),)))
        assert translation.refusals == ()
        assert [(change.where, change.before, change.after) for change in translation.changes] == [
            ("t.j", "JSON", "TEXT")
        ]

    def test_keys(self) -> None:
        keys = [
            KeyFacts("u", True, (KeyPartFacts("name"), KeyPartFacts("id", descending=True))),
            KeyFacts("p", False, (KeyPartFacts("name", 5),), ignored=True),
            KeyFacts("w", False, (KeyPartFacts("name", 20),)),
        ]
        translation = moved(table(text("name"), keys=keys))
        assert only(translation).table.keys[1:] == (
            Key("u", "unique", (KeyPart("name"), KeyPart("id"))),
            Key("p", "plain", (KeyPart("name", 5),)),
            Key("w", "plain", (KeyPart("name"),)),
        )
        assert {change.before for change in translation.changes} == {"the key u (descending)", "the key p (ignored)"}

    def test_255_characters_are_a_key(self) -> None:
        only(moved(table(text("name", "varchar(255)"), keys=[KeyFacts("k", True, (KeyPartFacts("name"),))])))

    def test_foreign_keys(self) -> None:
        foreign = ForeignKeyFacts("f", ("id",), "app", "t", ("id",), "CASCADE", "SET NULL")
        movable = only(moved(table(foreign_keys=(foreign,))))
        assert movable.table.foreign_keys == (ForeignKey("f", ("id",), "t", ("id",), "CASCADE", "SET NULL"),)

    def test_defaults(self) -> None:
        columns = (
            ColumnFacts("a", "int(11)", default=DefaultFacts("literal", b"-7")),
            ColumnFacts("b", "decimal(6,2)", default=DefaultFacts("literal", b"1.5")),
            ColumnFacts("d", "timestamp(6)", False, NOW, on_update_now=True),
            ColumnFacts("e", "timestamp", default=DefaultFacts("null")),
            ColumnFacts("f", "varbinary(3)", default=DefaultFacts("literal", b"\xff\x00")),
            text("c", default=DefaultFacts("literal", "it's ü".encode())),
        )
        found = {column.name: column.default for column in only(moved(table(*columns))).table.columns}
        assert found == {
            "id": None,
            "a": Default("value", b"-7"),
            "b": Default("value", b"1.50"),
            "c": Default("value", "it's ü".encode()),
            "d": Default("now"),
            "e": None,
            "f": Default("value", b"\xff\x00"),
        }

    def test_another_collation_is_told_and_unique_keys_are_looked_at(self) -> None:
        column = text("name", collation="utf8mb4_uca1400_ai_ci")
        translation = moved(table(column, keys=[KeyFacts("u", True, (KeyPartFacts("name"),))]))
        assert [doubles.texts for doubles in only(translation).doubles] == [("name",)]
        (change,) = translation.changes
        assert change.before == "utf8mb4_uca1400_ai_ci"
        assert change.warning
        assert only(moved(table(text("name"), keys=[KeyFacts("u", True, (KeyPartFacts("name"),))]))).doubles == ()

    def test_what_encryption_there_was_is_told(self) -> None:
        (change,) = moved(table(options=("ENCRYPTED",))).changes
        assert "encrypted" in change.warning


class TestDigest:
    def test_another_definition_has_another(self) -> None:
        one = only(moved(table(text("name")))).table
        for other in (
            table(text("name", "varchar(21)")),
            table(text("name", nullable=False)),
            table(text("name", default=DefaultFacts("literal", b"x"))),
            table(text("name"), comment="x"),
        ):
            assert only(moved(other)).table.digest != one.digest

    def test_the_next_number_is_no_part_of_it(self) -> None:
        one = only(moved(table(auto_increment=5))).table
        assert replace(one, auto_increment=9).digest == one.digest
