"""CREATE TABLE in either engine's words; a default always in the words of its column's type."""

import re

import pytest

from stackctl.database.ddl import create_table
from stackctl.database.drizzle import DIALECT as DRIZZLE
from stackctl.database.journal import TABLE as JOURNAL
from stackctl.database.kinds import KINDS
from stackctl.database.mariadb import DIALECT as MARIADB
from stackctl.database.schema import LARGEST_VALUE, Column, Default, ForeignKey, Key, KeyPart, Table

TABLE = Table(
    "order`s",
    (
        Column("id", "bigint", False, auto_increment=True),
        Column("name", "varchar", False, length=50, collation="bin", default=Default("value", b"it's")),
        Column("words", "text", length=LARGEST_VALUE, collation="general_ci", comment="what's said"),
        Column("seen", "timestamp", False, length=6, default=Default("now"), on_update_now=True),
        Column("gone", "timestamp"),
        Column("state", "enum", False, members=("new", "it's"), collation="general_ci"),
        Column("size", "blob", length=100),
    ),
    (
        Key("PRIMARY", "primary", (KeyPart("id"),)),
        Key("name", "unique", (KeyPart("name", 10), KeyPart("id"))),
        Key("state", "plain", (KeyPart("state"),)),
    ),
    (ForeignKey("up", ("id",), "order`s", ("id",), "CASCADE", "SET NULL"),),
    "general_ci",
    "all orders",
    42,
)


def test_for_drizzle() -> None:
    assert create_table(TABLE, DRIZZLE) == (
        "CREATE TABLE `order``s` (\n"
        "  `id` BIGINT NOT NULL AUTO_INCREMENT,\n"
        "  `name` VARCHAR(50) COLLATE utf8_bin NOT NULL DEFAULT 'it\\'s',\n"
        "  `words` TEXT COLLATE utf8_general_ci NULL COMMENT 'what\\'s said',\n"
        "  `seen` TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,\n"
        "  `gone` TIMESTAMP NULL DEFAULT NULL,\n"
        "  `state` ENUM('new','it\\'s') COLLATE utf8_general_ci NOT NULL,\n"
        "  `size` BLOB NULL,\n"
        "  PRIMARY KEY (`id`),\n"
        "  UNIQUE KEY `name` (`name`(10), `id`),\n"
        "  KEY `state` (`state`),\n"
        "  CONSTRAINT `up` FOREIGN KEY (`id`) REFERENCES `order``s` (`id`) ON UPDATE CASCADE ON DELETE SET NULL\n"
        ") ENGINE=InnoDB COLLATE utf8_general_ci AUTO_INCREMENT=42 COMMENT='all orders'"
    )


def test_for_mariadb() -> None:
    written = create_table(TABLE, MARIADB)
    for line in (
        "`name` VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'it\\'s'",
        "`words` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL COMMENT 'what\\'s said'",
        "`seen` TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)",
        "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci AUTO_INCREMENT=42",
    ):
        assert line in written


@pytest.mark.parametrize(
    ("column", "written"),
    [
        (Column("c", "int", default=Default("value", b"-7")), "DEFAULT -7"),
        (Column("c", "decimal", length=6, scale=2, default=Default("value", b"1.50")), "DEFAULT 1.50"),
        (Column("c", "double", default=Default("value", b"0.1")), "DEFAULT 0.1e+0"),
        (Column("c", "varchar", length=5, collation="bin", default=Default("value", b"5")), "DEFAULT '5'"),
        (Column("c", "varbinary", length=5, default=Default("value", b"\xff\x00")), "DEFAULT 0xFF00"),
        (Column("c", "varbinary", length=5, default=Default("value", b"")), "DEFAULT ''"),
        (Column("c", "boolean", default=Default("value", b"1")), "DEFAULT TRUE"),
        (Column("c", "date", default=Default("value", b"2020-01-02")), "DEFAULT '2020-01-02'"),
        (Column("c", "enum", members=("a",), collation="bin", default=Default("value", b"a")), "DEFAULT 'a'"),
    ],
)
def test_a_default_has_its_columns_type(column: Column, written: str) -> None:
    for dialect in (DRIZZLE, MARIADB):
        assert create_table(Table("t", (column,)), dialect).splitlines()[1].endswith(written)


def test_both_engines_write_every_kind() -> None:
    for dialect in (DRIZZLE, MARIADB):
        assert set(dialect.types) == set(KINDS)


def test_drizzle_is_given_nothing_that_it_lacks() -> None:
    """What FACTS tell of Drizzle 7.2: no small integers, no utf8mb4, no sized texts, no character sets."""
    columns = tuple(
        Column(
            f"c{number}",
            kind,
            length=10 if kind != "timestamp" else 6,
            scale=2 if kind == "decimal" else 0,
            members=("a",) if kind == "enum" else (),
            collation="bin" if kind in ("varchar", "text", "enum") else None,
        )
        for number, kind in enumerate(KINDS)
    )
    lacking = (
        r"(TINY|SMALL|MEDIUM)INT|\bBOOL\b|\bBIT\b|\bBINARY|YEAR|\bSET\b|JSON|DATETIME\(|utf8mb4|CHARACTER SET|"
        r"UNSIGNED|(TINY|MEDIUM|LONG)(TEXT|BLOB)|CURRENT_TIMESTAMP\("
    )
    for table in (Table("t", columns), JOURNAL, TABLE):
        assert re.search(lacking, create_table(table, DRIZZLE).replace("ON DELETE SET NULL", "")) is None
