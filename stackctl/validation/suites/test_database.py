"""The database: it runs, listens where the site says, keeps its data on its volume, and keeps a row."""

from pathlib import Path
from typing import Any

import pytest

from stackctl.site.engines import Engine, database_engine
from stackctl.site.listeners import own_address
from stackctl.site.secrets import Secrets
from stackctl.validation import expect, listening, volumes
from stackctl.validation.connection import Node
from stackctl.validation.inventory import Target
from stackctl.validation.probes import database as probe
from stackctl.validation.system import System


@pytest.fixture(scope="module")
def database(node: Node, system: System, target: Target, units: tuple[str, ...]) -> Any:
    """What became of a row, and of wrong passwords."""
    expect.running(system, units)
    return node.ask(probe.examine, **_door(target), process=_engine(target).process)


def _engine(target: Target) -> Engine:
    return database_engine(str(target["database_engine"]))


def _door(target: Target) -> dict[str, Any]:
    """Where the database is, and the first account of the site."""
    account = target["database_accounts"][0]
    password = Secrets(Path(target["stackctl_site_directory"])).find(f"database_{account['name']}_password")
    return {
        "engine": str(target["database_engine"]),
        "host": own_address(target["database_listen"]),
        "port": target["database_port"],
        "user": account["name"],
        "database": account["database"],
        "password": None if password is None else password.reveal(),
    }


def test_runs(system: System, units: tuple[str, ...]) -> None:
    """The database runs."""
    expect.nothing(system.wrong_now(units))


def test_listens(system: System, target: Target, units: tuple[str, ...]) -> None:
    """The database listens where the site says."""
    expect.running(system, units)
    expect.nothing(listening.missing("database", target, system))


def test_listens_nowhere_else(system: System, target: Target, units: tuple[str, ...]) -> None:
    """The database listens nowhere else."""
    expect.running(system, units)
    expect.nothing(listening.astray("database", target, system))


def test_data_on_its_volume(system: System, target: Target) -> None:
    """The data lies on a volume of the layout."""
    expect.nothing([volumes.wrong_place(target, system, target["database_data_directory"])])


def test_data_directory(database: Any, target: Target) -> None:
    """The database uses that directory."""
    _needs_password(database)
    if database["row"] is not None:
        pytest.skip("the database does not answer us")
    wanted, used = target["database_data_directory"], database["directory"]
    expect.nothing([] if used == wanted else [f"it uses {used} instead of {wanted}"])


def test_wrong_password(database: Any) -> None:
    """Wrong and empty passwords are turned away."""
    expect.nothing([database["refusal"]])


def test_row(database: Any) -> None:
    """A row with text of all kinds is written, read and deleted over TCP."""
    _needs_password(database)
    expect.nothing([database["row"]])


def test_allocator(database: Any) -> None:
    """The database does not run with tcmalloc, which takes half of its throughput."""
    expect.nothing([database["allocator"]])


@pytest.mark.crash
def test_comes_back_from_a_kill(node: Node, database: Any, target: Target) -> None:
    """Killed, the database comes back by itself with what was committed."""
    _needs_password(database)
    if database["row"] is not None:
        pytest.skip("the database does not answer us")
    expect.nothing([node.ask(probe.recovery, **_door(target), unit=_engine(target).unit)])


def _needs_password(database: Any) -> None:
    if not database["asked"]:
        pytest.skip("the site's secrets.yml holds no password of the database; run this where apply was run")
