"""What people type becomes a query that searchd reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacksearch.errors import InputError
from stacksearch.index import OPERATORS, escape, user_query
from stacksearch.search import Answer, Hit, Question


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ("access control", "access control"),
        ('"access control" list', '"access control" list'),
        ("apache -php", "apache -php"),
        ("-php", "\\-php"),  # nothing but exclusions would be an error
        ("a | b", "a | b"),
        ("a OR b", "a | b"),
        ("mod_rewrite", "mod_rewrite"),
        ("user@example.org", "user\\@example.org"),
        ("@title x", "\\@title x"),
        ("AND/OR", "AND\\/OR"),
        ("a ! ~ & (", "a"),
        ('"unclosed phrase', '"unclosed phrase"'),
        ('""', ""),
        ("C++ (lang)", "C++ \\(lang\\)"),
        ("--- ", ""),
    ],
)
def test_only_what_people_know_is_an_operator(typed: str, query: str) -> None:
    assert user_query(typed) == query


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=80))
def test_every_other_operator_is_escaped(typed: str) -> None:
    query = user_query(typed)
    rest = query.replace("\\\\", "")
    for operator in OPERATORS - set('"-|\\'):
        assert rest.count(operator) == rest.count("\\" + operator)
    assert query.count('"') % 2 == 0


@given(st.text(max_size=50))
def test_escaping_loses_nothing(words: str) -> None:
    escaped = escape(words)
    unescaped, skip = [], False
    for character in escaped:
        if character == "\\" and not skip:
            skip = True
            continue
        unescaped.append(character)
        skip = False
    assert "".join(unescaped) == words


@pytest.mark.parametrize(
    ("query", "page", "size"),
    [("", 1, 10), ("  ", 1, 10), ("x" * 501, 1, 10), ("x", 0, 10), ("x", 101, 10), ("x", 1, 0)],
)
def test_what_cannot_be_asked_is_refused(query: str, page: int, size: int) -> None:
    with pytest.raises(InputError):
        Question(query, page, size)


def test_an_answer_travels_as_json() -> None:
    answer = Answer("q", 2, 10, 95, 0.01, (Hit(7, "http://example.org/", "T", "<mark>q</mark>", 1),))
    assert answer.pages == 10
    assert Answer.from_json(answer.to_json()) == answer
    assert Answer("q", 1, 10, 5000, 0.0, ()).pages == 100
    assert Answer("q", 1, 10, 0, 0.0, ()).pages == 0
