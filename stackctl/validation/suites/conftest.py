"""What all suites share: the server under check, and one look at it."""

from pathlib import Path

import pytest
from testinfra.host import Host

from stackctl.validation import inventory
from stackctl.validation.connection import Node
from stackctl.validation.inventory import Target
from stackctl.validation.plugin import TARGETS, suite_of
from stackctl.validation.probes import system as probe
from stackctl.validation.roles import SUITES, paths_of, units_of
from stackctl.validation.system import System


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--crash", action="store_true", help="also kill the database, to see it come back by itself")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What disturbs a service is only done on request."""
    if not config.getoption("--crash"):
        items[:] = [item for item in items if item.get_closest_marker("crash") is None]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every check runs on each server that its suite is for."""
    if "target" in metafunc.fixturenames:
        suite = SUITES[suite_of(metafunc.definition.path)]
        servers = [target for target in _targets(metafunc.config) if suite.is_for(target)]
        metafunc.parametrize("target", servers, ids=[target.name for target in servers], scope="session")


def _targets(config: pytest.Config) -> tuple[Target, ...]:
    """The servers: handed over by `stackctl validate`, else from testinfra's own options."""
    if TARGETS not in config.stash:
        source = config.getoption("ansible_inventory", None)
        names = config.getoption("hosts", None)
        config.stash[TARGETS] = inventory.select(
            inventory.read(None if source is None else Path(source)), names.split(",") if names else ()
        )
    return config.stash[TARGETS]


@pytest.fixture(scope="session")
def node(target: Target) -> Node:
    """The server under check, which runs programs of ours."""
    return Node(target)


@pytest.fixture(scope="session")
def host(node: Node) -> Host:
    """The server under check, as testinfra knows it."""
    return node.host


@pytest.fixture(scope="session")
def system(node: Node) -> System:
    """Its units, sockets, mounts and paths, from one command."""
    return System.from_json(node.ask(probe.look, units=units_of(node.target), paths=paths_of(node.target)))


@pytest.fixture(scope="module")
def units(request: pytest.FixtureRequest, target: Target) -> tuple[str, ...]:
    """The units of the suite's role."""
    return SUITES[suite_of(request.path)].units(target)
