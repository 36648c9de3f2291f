"""The suites by name: which servers each is for, and what a look at a server has to take in for it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from stackctl import paths
from stackctl.errors import InputError
from stackctl.site.engines import database_engine
from stackctl.site.listeners import is_loopback
from stackctl.validation.inventory import Target

Units = Callable[[Target], tuple[str, ...]]


def _none(target: Target) -> tuple[str, ...]:
    return ()


def _always(*names: str) -> Units:
    return lambda target: names


def _database(target: Target) -> tuple[str, ...]:
    return (database_engine(str(target["database_engine"])).unit,)


def _queue(target: Target) -> tuple[str, ...]:
    """gearmand has one address for both protocols; where only HTTP may be on loopback, a socket stands before it."""
    names: tuple[str, ...] = ("gearman-job-server.service",)
    return names if is_loopback(str(target["queue_listen"])) else (*names, "stackctl-queue.socket")


def _search(target: Target) -> tuple[str, ...]:
    """The first worker of a kind has the plain name, the others have a number."""
    kinds = ("fetch", "document", "search")
    more = [f"{kind}@{number}" for kind in kinds for number in range(2, int(target[f"search_{kind}_workers"]) + 1)]
    parts = [f"stacksearch-{part}.service" for part in (*kinds, *more, "sweeper", "web")]
    return ("sphinxsearch.service", "stacksearch.target", *parts, "apache2.service")


@dataclass(frozen=True)
class Suite:
    """One suite. ``group`` is the inventory group it is for, None for every server.

    ``units`` have to run now and after a reboot; ``paths`` name variables that hold paths to look at.
    """

    name: str
    group: str | None
    units: Units = _none
    paths: tuple[str, ...] = ()

    def is_for(self, target: Target) -> bool:
        """Whether the server is to be checked by this suite."""
        return self.group is None or self.group in target.groups

    @property
    def file(self) -> Path:
        """The suite's module."""
        return paths.package() / "validation" / "suites" / f"test_{self.name}.py"


SUITES = {
    suite.name: suite
    for suite in (
        Suite("storage", "storage"),
        Suite("database", "database", _database, ("database_data_directory",)),
        Suite("queue", "queue", _queue),
        Suite("cache", "cache", _always("memcached.service")),
        Suite("search", "search", _search, ("search_index_directory",)),
        Suite("listeners", None),
        Suite("reboot", None),
    )
}
"""In the order in which they run: what the others stand on comes first."""


def chosen(names: Iterable[str]) -> tuple[Suite, ...]:
    """The named suites, all without names; InputError on a name that no suite has."""
    wanted = tuple(names)
    if unknown := [name for name in wanted if name not in SUITES]:
        raise InputError(
            f"there is no suite for the role {', '.join(unknown)}", hint=f"the suites are {', '.join(SUITES)}"
        )
    return tuple(suite for suite in SUITES.values() if not wanted or suite.name in wanted)


def units_of(target: Target) -> list[str]:
    """The units that have to run on the server."""
    return list(
        dict.fromkeys(unit for suite in SUITES.values() if suite.is_for(target) for unit in suite.units(target))
    )


def paths_of(target: Target) -> list[str]:
    """The paths on the server that its suites look at."""
    suites = [suite for suite in SUITES.values() if suite.is_for(target)]
    return [str(target[variable]) for suite in suites for variable in suite.paths]
