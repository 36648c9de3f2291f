"""What all suites share: the server under check, and one look at it."""

from pathlib import Path

import pytest
from testinfra.host import Host

from stackctl.validation import inventory
from stackctl.validation.connection import Node
from stackctl.validation.inventory import Target
from stackctl.validation.plugin import TARGETS
from stackctl.validation.probes import system as probe
from stackctl.validation.roles import SUITES, paths_of, units_of
from stackctl.validation.system import System


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every check runs on each server that its suite is for."""
    if "target" in metafunc.fixturenames:
        suite = Path(str(metafunc.module.__file__)).stem.removeprefix("test_")
        servers = [target for target in _targets(metafunc.config) if SUITES[suite].is_for(target)]
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
    roles = [role for role in SUITES if SUITES[role].is_for(node.target)]
    return System.from_json(node.ask(probe.look, units=units_of(roles), paths=paths_of(node.target, roles)))
