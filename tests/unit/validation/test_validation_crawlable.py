"""Where a page of ours may be served: the words are those of the application's own allow list."""

import pytest

from stackctl.validation import crawlable
from stacksearch.addresses import parse_allowed


@pytest.mark.parametrize(
    ("allow", "expected"),
    [
        ([], []),
        (["127.0.0.0/8"], [("127.0.0.1", 0)]),
        (["127.0.0.1"], [("127.0.0.1", 0)]),
        (["127.0.0.1:8081"], [("127.0.0.1", 8081)]),
        (["127.0.0.0/8:8080"], [("127.0.0.1", 8080)]),
        (["::1"], [("::1", 0)]),
        (["[::1]:80"], [("::1", 80)]),
        (["[::1/128]:80", "127.0.0.1:81", "::/0"], [("::1", 0), ("127.0.0.1", 81), ("::1", 80)]),
        (["10.0.0.0/8", "127.0.0.2", "fd00::/8"], []),
        (["0.0.0.0/0"], [("127.0.0.1", 0)]),
    ],
)
def test_loopback_as_far_as_it_is_allowed(allow: list[str], expected: list[tuple[str, int]]) -> None:
    for entry in allow:
        parse_allowed(entry)
    assert crawlable.places(allow) == expected


@pytest.mark.parametrize("entry", ["localhost", "127.0.0.1:", "127.0.0.1:x", "", "[::1", "127.0.0.1/8"])
def test_what_the_application_refuses_allows_nothing(entry: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_allowed(entry)
    assert crawlable.places([entry]) == []
