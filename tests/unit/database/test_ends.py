"""The ends of a move on a site: which host, which engine, which port, whose account."""

from pathlib import Path
from typing import Any

import pytest

from stackctl.database.ends import End, OnSite, ends_of
from stackctl.errors import InputError, StackctlError
from stackctl.site.secrets import Secret, Secrets
from stackctl.validation.inventory import Target


class Known(Secrets):
    """Secrets of a site without a file."""

    def __init__(self, **known: str) -> None:
        super().__init__(Path("/nowhere"))
        self._known = known

    def find(self, name: str) -> Secret | None:
        return Secret(self._known[name]) if name in self._known else None


SECRETS = Known(database_stacksearch_password="one", database_shop_password="two")


def host(name: str, **variables: Any) -> Target:
    return Target(name, frozenset({"database"}), {"database_listen": "127.0.0.1", "database_port": 3306, **variables})


ONE = {"a": host("a")}
TWO = {"a": host("a"), "b": host("b", database_engine="drizzle", database_port=3310, database_listen="0.0.0.0")}


def addresses(ends: tuple[End, End]) -> list[tuple[str, str, str, int]]:
    return [(end.host.name, end.server.engine, end.server.host, end.server.port) for end in ends]


def test_on_one_host_the_other_engine_listens_beside() -> None:
    ends = ends_of(ONE, OnSite("drizzle"), SECRETS)
    assert addresses(ends) == [("a", "mariadb", "127.0.0.1", 3306), ("a", "drizzle", "127.0.0.1", 3307)]
    for end in ends:
        assert (end.server.user, end.server.database) == ("stacksearch", "stacksearch")
        assert end.server.password.reveal() == "one"
    assert ends[1].server.title == "stacksearch on drizzle at a:3307"


def test_the_port_beside_is_the_operators_to_say() -> None:
    assert addresses(ends_of(ONE, OnSite("drizzle", target_port=4000), SECRETS))[1][3] == 4000


def test_on_another_host_it_listens_where_that_one_says() -> None:
    ends = ends_of(TWO, OnSite("drizzle", host="a", target_host="b"), SECRETS)
    assert addresses(ends) == [("a", "mariadb", "127.0.0.1", 3306), ("b", "drizzle", "127.0.0.1", 3310)]


def test_the_account_that_owns_the_database() -> None:
    accounts = [{"name": "stacksearch", "database": "stacksearch"}, {"name": "shop", "database": "store"}]
    hosts = {"a": host("a", database_accounts=accounts)}
    ends = ends_of(hosts, OnSite("drizzle", database="store"), SECRETS)
    assert (ends[0].server.user, ends[0].server.database, ends[0].server.password.reveal()) == (
        "shop",
        "store",
        "two",
    )
    with pytest.raises(InputError, match="several databases: stacksearch, store"):
        ends_of(hosts, OnSite("drizzle"), SECRETS)
    with pytest.raises(InputError, match="did you mean store"):
        ends_of(hosts, OnSite("drizzle", database="stor"), SECRETS)


@pytest.mark.parametrize(
    ("hosts", "wanted", "said"),
    [
        ({}, OnSite("drizzle"), "no host of this site carries a database"),
        (TWO, OnSite("drizzle"), "several hosts carry a database: a, b"),
        (ONE, OnSite("drizzle", host="x"), "--host x: no such host"),
        (ONE, OnSite("drizzle", target_host="x"), "--target-host x: no such host"),
        (ONE, OnSite("mariadb"), "the database on a is mariadb already"),
        (TWO, OnSite("mariadb", host="a", target_host="b"), "b carries drizzle, not mariadb"),
        (ONE, OnSite("postgres"), "postgres is none"),
        (ONE, OnSite("drizzle", target_port=3306), "cannot listen on port 3306"),
        ({"a": host("a", database_accounts=[])}, OnSite("drizzle"), "no database_accounts"),
    ],
)
def test_what_is_wrong(hosts: dict[str, Target], wanted: OnSite, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ends_of(hosts, wanted, SECRETS)


def test_a_password_that_is_not_known_here() -> None:
    with pytest.raises(StackctlError, match="no password of the database account stacksearch"):
        ends_of(ONE, OnSite("drizzle"), Known())
