"""Tables are read from what Drizzle 7.2's SHOW CREATE TABLE shows; its forms are those of Drizzle's own tests."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.database.drizzle_facts import read_create, with_defaults
from stackctl.database.facts import ColumnFacts, DefaultFacts, ForeignKeyFacts, KeyFacts, KeyPartFacts, SchemaFacts
from stackctl.database.kinds import codec
from stackctl.database.schema import LARGEST_VALUE, Column, Default, ForeignKey, Key, KeyPart, Table
from stackctl.database.subset import translate
from stackctl.errors import StackctlError

ORDER = """CREATE TABLE `product_order` (
  `no` INT NOT NULL AUTO_INCREMENT,
  `product_category` INT NOT NULL,
  `product_id` INT NOT NULL,
  `customer_id` INT NOT NULL,
  PRIMARY KEY (`no`) USING BTREE,
  KEY `product_category` (`product_category`,`product_id`) USING BTREE,
  KEY `customer_id` (`customer_id`) USING BTREE,
  CONSTRAINT `product_order_ibfk_1` FOREIGN KEY (`product_category`, `product_id`) REFERENCES `product` (`category`, `id`) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT `product_order_ibfk_2` FOREIGN KEY (`customer_id`) REFERENCES `customer` (`id`)
) ENGINE=InnoDB COLLATE = utf8_general_ci"""  # noqa: E501


def test_keys_and_foreign_keys() -> None:
    facts = read_create(ORDER, "shop")
    assert facts.name == "product_order"
    assert facts.engine == "InnoDB"
    assert facts.collation == "utf8_general_ci"
    assert facts.columns[0] == ColumnFacts("no", "int", False, auto_increment=True)
    assert facts.keys == (
        KeyFacts("PRIMARY", True, (KeyPartFacts("no"),)),
        KeyFacts("product_category", False, (KeyPartFacts("product_category"), KeyPartFacts("product_id"))),
        KeyFacts("customer_id", False, (KeyPartFacts("customer_id"),)),
    )
    assert facts.foreign_keys == (
        ForeignKeyFacts(
            "product_order_ibfk_1", ("product_category", "product_id"), "shop", "product", ("category", "id"),
            "CASCADE", "RESTRICT",
        ),
        ForeignKeyFacts(
            "product_order_ibfk_2", ("customer_id",), "shop", "customer", ("id",), "RESTRICT", "RESTRICT"
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("`a` BIGINT UNSIGNED NOT NULL", ColumnFacts("a", "bigint unsigned", False)),
        ("`a` DECIMAL(64,20) DEFAULT NULL", ColumnFacts("a", "decimal(64,20)", default=DefaultFacts("null"))),
        ("`a` DOUBLE(10,2) DEFAULT NULL", ColumnFacts("a", "double(10,2)", default=DefaultFacts("null"))),
        ("`a` INT DEFAULT '5'", ColumnFacts("a", "int", default=DefaultFacts("literal", b"5"))),
        (
            "`a` VARCHAR(32) COLLATE utf8_bin NOT NULL DEFAULT 'it''s \\\\ \\n'",
            ColumnFacts(
                "a", "varchar(32)", False, DefaultFacts("literal", b"it's \\ \n"), collation="utf8_bin"
            ),
        ),
        ("`a` TEXT COLLATE utf8_general_ci", ColumnFacts("a", "mediumtext", collation="utf8_general_ci")),
        ("`a` BLOB NOT NULL", ColumnFacts("a", "mediumblob", False)),
        ("`a` VARBINARY(4) DEFAULT ''", ColumnFacts("a", "varbinary(4)", default=DefaultFacts("literal"))),
        (
            "`a` VARBINARY(4) DEFAULT 0x666F6F",
            ColumnFacts("a", "varbinary(4)", default=DefaultFacts("literal", b"foo")),
        ),
        ("`a` TIMESTAMP NULL DEFAULT NULL", ColumnFacts("a", "timestamp", default=DefaultFacts("null"))),
        (
            "`a` TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP",
            ColumnFacts("a", "timestamp(6)", False, DefaultFacts("now"), on_update_now=True),
        ),
        (
            "`a` TIMESTAMP NULL DEFAULT '2003-01-01 00:00:00'",
            ColumnFacts("a", "timestamp", default=DefaultFacts("literal", b"2003-01-01 00:00:00")),
        ),
        ("`a` BOOLEAN DEFAULT 'TRUE'", ColumnFacts("a", "boolean", default=DefaultFacts("literal", b"TRUE"))),
        ("`a` UUID NOT NULL", ColumnFacts("a", "uuid", False)),
        ("`a` INT NOT NULL COMMENT 'it''s, (odd)'", ColumnFacts("a", "int", False, comment="it's, (odd)")),
        (
            "`a` ENUM('aaaa','킱') DEFAULT NULL",
            ColumnFacts(
                "a", "enum", default=DefaultFacts("null"), collation="utf8_general_ci", members=("aaaa", "킱")
            ),
        ),
        (
            "`a` ENUM('it's','b)',' c') NOT NULL DEFAULT 'b)'",
            ColumnFacts(
                "a", "enum", False, DefaultFacts("literal", b"b)"),
                collation="utf8_general_ci", members=("it's", "b)", " c"),
            ),
        ),
    ],
)  # fmt: skip
def test_columns(line: str, column: ColumnFacts) -> None:
    shown = f"CREATE TABLE `t` (\n  {line},\n  `z` INT DEFAULT NULL\n) ENGINE=InnoDB COLLATE = utf8_general_ci"
    facts = read_create(shown, "app")
    assert facts.columns == (column, ColumnFacts("z", "int", default=DefaultFacts("null")))


def test_the_end_of_a_table() -> None:
    shown = (
        "CREATE TABLE ```a` (\n  `i` INT DEFAULT NULL\n) ENGINE=InnoDB ROW_FORMAT='DYNAMIC' "
        "COMMENT='it''s one' COLLATE = utf8_bin AUTO_INCREMENT=100"
    )
    facts = read_create(shown, "app")
    assert (facts.name, facts.comment, facts.collation, facts.auto_increment) == ("`a", "it's one", "utf8_bin", 100)


def test_a_key_with_a_prefix_and_a_comment() -> None:
    shown = (
        "CREATE TABLE `t` (\n  `a` VARCHAR(1024) COLLATE utf8_general_ci NOT NULL,\n"
        "  UNIQUE KEY `k` (`a`(255)) USING BTREE COMMENT 'i1 comment'\n) ENGINE=InnoDB COLLATE = utf8_general_ci"
    )
    assert read_create(shown, "app").keys == (KeyFacts("k", True, (KeyPartFacts("a", 255),), comment="i1 comment"),)


def test_a_key_with_odd_names() -> None:
    """As a Drizzle 7.2 has shown it: names of columns and foreign keys are escaped, those of keys are not."""
    shown = (
        "CREATE TABLE `c1` (\n  `a``b` INT DEFAULT NULL,\n  `y``z` INT DEFAULT NULL,\n"
        "  PRIMARY KEY (`a`b`) USING BTREE,\n  KEY `to`up` (`y`z`,`a`b`) USING BTREE,\n"
        "  CONSTRAINT `to``up` FOREIGN KEY (`y``z`) REFERENCES `p1` (`i``d`) ON DELETE CASCADE"
        "\n) ENGINE=InnoDB COLLATE = utf8_general_ci"
    )
    facts = read_create(shown, "app")
    assert [column.name for column in facts.columns] == ["a`b", "y`z"]
    assert [(key.name, [part.column for part in key.parts]) for key in facts.keys] == [
        ("PRIMARY", ["a`b"]),
        ("to`up", ["y`z", "a`b"]),
    ]
    (foreign,) = facts.foreign_keys
    assert (foreign.name, foreign.columns, foreign.references) == ("to`up", ("y`z",), ("i`d",))


@pytest.mark.parametrize("shown", ["", "CREATE TABLE `t`", "CREATE TABLE `t` (\n  `a` INT", "CREATE VIEW `v`"])
def test_what_is_of_another_form(shown: str) -> None:
    with pytest.raises(StackctlError, match="not understood"):
        read_create(shown, "app")


def test_bytes_of_a_default_come_from_the_dictionary() -> None:
    """SHOW CREATE TABLE shows every byte above 0x7F as FF."""
    shown = "CREATE TABLE `t` (\n  `a` VARBINARY(4) DEFAULT 0xFF41\n) ENGINE=InnoDB COLLATE = utf8_general_ci"
    facts = with_defaults(read_create(shown, "app"), {"a": b"\x80A"})
    assert facts.columns[0].default == DefaultFacts("literal", b"\x80A")


# What Drizzle shows of a table of the subset is read as that table.

NAMES = st.text(string.ascii_lowercase + "`ü ", min_size=1, max_size=8)
TEXTS = st.text(string.printable + "ü🦀", max_size=8)
COLLATIONS = st.sampled_from(["general_ci", "bin"])


@st.composite
def columns(draw: st.DrawFn) -> Column:
    kind = draw(st.sampled_from(["int", "bigint", "double", "decimal", "varchar", "text", "varbinary", "blob", "enum",
                                 "date", "time", "datetime", "timestamp", "boolean", "uuid"]))  # fmt: skip
    length = {"decimal": 10, "varchar": 40, "varbinary": 40, "timestamp": draw(st.sampled_from([0, 6]))}.get(kind, 0)
    values = {
        "int": b"-5", "bigint": b"12345678901", "double": b"0.5", "decimal": b"1.500", "date": b"2020-01-02",
        "time": b"10:00:00", "datetime": b"2020-01-02 10:00:00", "boolean": b"1", "varbinary": b"\x01a",
        "varchar": draw(st.text(string.ascii_letters + "'\\\n", max_size=9)).encode(),
    }  # fmt: skip
    default = Default("value", values[kind]) if kind in values and draw(st.booleans()) else None
    return Column(
        "",
        kind,
        draw(st.booleans()) if kind != "timestamp" else True,
        length=LARGEST_VALUE if kind in ("text", "blob") else length,
        scale=3 if kind == "decimal" else 0,
        members=("a", "it's", "c)") if kind == "enum" else (),
        collation=draw(COLLATIONS) if kind in ("varchar", "text") else "general_ci" if kind == "enum" else None,
        default=default,
        comment=draw(TEXTS.filter(lambda text: "\x00" not in text)),
    )


@st.composite
def tables(draw: st.DrawFn) -> Table:
    found = draw(st.lists(columns(), min_size=1, max_size=6))
    titles = draw(st.lists(NAMES, min_size=len(found), max_size=len(found), unique=True))
    named = tuple(Column(**{**column.__dict__, "name": title}) for column, title in zip(found, titles, strict=True))
    first = named[0]
    prefix = 5 if first.kind in ("text", "blob") else None
    keys = (Key("k`ey", draw(st.sampled_from(["unique", "plain"])), (KeyPart(first.name, prefix),)),)
    foreign = (ForeignKey("f", (first.name,), "t", (first.name,), "CASCADE", "SET NULL"),)
    return Table("t", named, keys, draw(st.sampled_from([(), foreign])), comment=draw(TEXTS))


_TYPES = {
    "int": "INT", "bigint": "BIGINT", "double": "DOUBLE", "text": "TEXT", "blob": "BLOB", "date": "DATE",
    "time": "TIME", "datetime": "DATETIME", "boolean": "BOOLEAN", "uuid": "UUID",
}  # fmt: skip


def quoted(text: str, quote: str = "'") -> str:
    """As Drizzle writes: backslashes before some signs, quotes twice."""
    for sign, written in (("\\", "\\\\"), ("\0", "\\0"), ("\n", "\\n"), ("\r", "\\r"), ("\x1a", "\\Z")):
        text = text.replace(sign, written)
    return quote + text.replace(quote, quote * 2) + quote


def named(title: str) -> str:
    return quoted(title, "`")


def shown_column(column: Column) -> str:
    words = [named(column.name)]
    match column.kind:
        case "enum":
            words.append("ENUM(" + ",".join(f"'{member}'" for member in column.members) + ")")
        case "decimal":
            words.append(f"DECIMAL({column.length},{column.scale})")
        case "varchar" | "varbinary":
            words.append(f"{column.kind.upper()}({column.length})")
        case "timestamp":
            words.append("TIMESTAMP(6)" if column.length else "TIMESTAMP")
        case _:
            words.append(_TYPES[column.kind])
    if column.kind in ("varchar", "text"):
        words.append(f"COLLATE utf8_{column.collation}")
    if not column.nullable:
        words.append("NOT NULL")
    elif column.kind == "timestamp":
        words.append("NULL")
    if column.default is not None:
        value = codec(column).canonical(column.default.value)
        if column.kind == "varbinary":
            words.append(f"DEFAULT 0x{value.hex().upper()}")
        else:
            words.append("DEFAULT " + quoted("TRUE" if column.kind == "boolean" else value.decode()))
    elif column.nullable and column.kind not in ("text", "blob"):
        words.append("DEFAULT NULL")
    if column.comment:
        words.append(f"COMMENT {quoted(column.comment)}")
    return "  " + " ".join(words)


def as_drizzle_shows(table: Table) -> str:
    lines = [shown_column(column) for column in table.columns]
    for key in table.keys:
        # a key's names are those that Drizzle does not escape
        parts = ",".join(f"`{part.column}`{f'({part.prefix})' if part.prefix else ''}" for part in key.parts)
        lines.append(f"  {'UNIQUE ' if key.kind == 'unique' else ''}KEY `{key.name}` ({parts}) USING BTREE")
    for foreign in table.foreign_keys:
        here, there = (", ".join(map(named, titles)) for titles in (foreign.columns, foreign.references))
        lines.append(
            f"  CONSTRAINT {named(foreign.name)} FOREIGN KEY ({here}) REFERENCES {named(foreign.table)} ({there})"
            f" ON UPDATE {foreign.on_update} ON DELETE {foreign.on_delete}"
        )
    comment = f" COMMENT={quoted(table.comment)}" if table.comment else ""
    return (
        f"CREATE TABLE {named(table.name)} (\n"
        + ",\n".join(lines)
        + (f"\n) ENGINE=InnoDB{comment} COLLATE = utf8_general_ci")
    )


@given(tables())
def test_what_drizzle_shows_is_read_as_the_table(table: Table) -> None:
    facts = read_create(as_drizzle_shows(table), "app")
    translation = translate(SchemaFacts("app", False, (facts,)))
    assert [refusal for refusal in translation.refusals if "default" not in refusal.what] == []
    assert translation.tables[0].table == table
