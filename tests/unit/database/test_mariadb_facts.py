"""Defaults as MariaDB's information_schema shows them: SQL."""

import pytest

from stackctl.database.facts import DefaultFacts
from stackctl.database.mariadb_facts import read_default


@pytest.mark.parametrize(
    ("shown", "default"),
    [
        (None, None),
        ("NULL", DefaultFacts("null")),
        ("'NULL'", DefaultFacts("literal", b"NULL")),
        ("5", DefaultFacts("literal", b"5")),
        ("-7", DefaultFacts("literal", b"-7")),
        ("1.50", DefaultFacts("literal", b"1.50")),
        ("1e-7", DefaultFacts("literal", b"1e-7")),
        ("00042", DefaultFacts("literal", b"00042")),
        ("''", DefaultFacts("literal", b"")),
        ("'it''s \"q\" \\\\ \\n'", DefaultFacts("literal", b'it\'s "q" \\ \n')),
        ("'ab\\0\\0'", DefaultFacts("literal", b"ab\0\0")),
        ("current_timestamp()", DefaultFacts("now")),
        ("current_timestamp(6)", DefaultFacts("now")),
        ("b'101'", DefaultFacts("expression", b"b'101'")),
        ("uuid()", DefaultFacts("expression", b"uuid()")),
        ("(1 + 2)", DefaultFacts("expression", b"(1 + 2)")),
        ("concat('a','b')", DefaultFacts("expression", b"concat('a','b')")),
        ("'a' + 'b'", DefaultFacts("expression", b"'a' + 'b'")),
        ("nextval(`app`.`s`)", DefaultFacts("expression", b"nextval(`app`.`s`)")),
    ],
)
def test_defaults(shown: str | None, default: DefaultFacts | None) -> None:
    assert read_default(shown) == default
