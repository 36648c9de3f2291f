"""The suites: whom they are for, and what has to run there."""

from typing import Any

import pytest

from stackctl.errors import InputError
from stackctl.validation import roles
from stackctl.validation.inventory import Target


def target(*groups: str, **variables: Any) -> Target:
    return Target("h", frozenset(groups), variables)


def test_every_suite_has_its_module() -> None:
    assert all(suite.file.is_file() for suite in roles.SUITES.values())


def test_a_host_is_checked_for_its_roles_and_for_what_all_hosts_have() -> None:
    mine = [suite.name for suite in roles.SUITES.values() if suite.is_for(target("cache", "storage"))]
    assert mine == ["storage", "cache", "listeners", "reboot"]


def test_units_and_paths_come_from_the_hosts_roles_and_variables() -> None:
    host = target("database", "cache", database_data_directory="/data")
    assert roles.units_of(host) == ["mariadb.service", "memcached.service"]
    assert roles.paths_of(host) == ["/data"]


@pytest.mark.parametrize(
    ("listen", "units"),
    [
        ("127.0.0.1", ["gearman-job-server.service"]),
        ("::1", ["gearman-job-server.service"]),
        ("10.0.0.1", ["gearman-job-server.service", "stackctl-queue.socket"]),
        ("0.0.0.0", ["gearman-job-server.service", "stackctl-queue.socket"]),
    ],
)
def test_a_queue_for_others_has_a_socket_before_it(listen: str, units: list[str]) -> None:
    assert roles.units_of(target("queue", queue_listen=listen)) == units


def test_every_worker_has_to_run() -> None:
    counts = {"search_fetch_workers": 3, "search_document_workers": 1, "search_search_workers": "2"}
    units = roles.units_of(target("search", **counts))
    assert {unit for unit in units if "@" in unit} == {
        "stacksearch-fetch@2.service",
        "stacksearch-fetch@3.service",
        "stacksearch-search@2.service",
    }
    plain = {f"stacksearch-{part}.service" for part in ("fetch", "document", "search", "sweeper", "web")}
    assert plain | {"sphinxsearch.service", "stacksearch.target", "apache2.service"} <= set(units)


def test_suites_are_chosen_by_name_in_their_own_order() -> None:
    assert [suite.name for suite in roles.chosen(["reboot", "cache"])] == ["cache", "reboot"]
    assert len(roles.chosen([])) == len(roles.SUITES)
    with pytest.raises(InputError, match="no suite for the role cash, web") as caught:
        roles.chosen(["cash", "cache", "web"])
    assert "storage, database" in str(caught.value.hint)
