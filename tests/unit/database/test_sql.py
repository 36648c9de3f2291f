"""Names and literals are written so that they are read as what they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.database.sql import name, read_literal, read_literals, read_name


@given(st.text())
def test_names(word: str) -> None:
    written = name(word)
    assert read_name(written) == (word, len(written))


def test_a_name_cannot_break_out() -> None:
    assert name("a`; DROP TABLE b; --") == "`a``; DROP TABLE b; --`"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        (r"'a\\b\nc\0d\Z'", "a\\b\nc\0d\x1a"),
        ("''", ""),
        ("''''", "'"),
        (r"'\q'", "q"),
    ],
)
def test_literals(written: str, meant: str) -> None:
    assert read_literal(written) == (meant, len(written))


def test_literals_in_a_row() -> None:
    assert read_literals("'a','b''c','d,e','f\\\\'") == ("a", "b'c", "d,e", "f\\")


@pytest.mark.parametrize("written", ["'a'b'", "a", "'a' 'b'", "'a"])
def test_no_literals(written: str) -> None:
    with pytest.raises(ValueError, match="no "):
        read_literals(written)
