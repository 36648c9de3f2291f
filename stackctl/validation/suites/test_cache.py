"""The cache: memcached runs, listens where the site says and not on UDP, and keeps a value."""

from typing import Any

import pytest

from stackctl.site.listeners import own_address
from stackctl.validation import expect, listening
from stackctl.validation.connection import Node
from stackctl.validation.inventory import Target
from stackctl.validation.probes import cache as probe
from stackctl.validation.system import System


@pytest.fixture(scope="module")
def value(node: Node, system: System, target: Target, units: tuple[str, ...]) -> Any:
    """What became of a value that was written, read and deleted."""
    expect.running(system, units)
    return node.ask(probe.value, host=own_address(target["cache_listen"]), port=target["cache_port"])


def test_runs(system: System, units: tuple[str, ...]) -> None:
    """memcached runs."""
    expect.nothing(system.wrong_now(units))


def test_listens(system: System, target: Target, units: tuple[str, ...]) -> None:
    """memcached listens where the site says."""
    expect.running(system, units)
    expect.nothing(listening.missing("cache", target, system))


def test_listens_nowhere_else(system: System, target: Target, units: tuple[str, ...]) -> None:
    """memcached listens nowhere else."""
    expect.running(system, units)
    expect.nothing(listening.astray("cache", target, system))


def test_value(value: Any) -> None:
    """A value is written, read and deleted."""
    expect.nothing([value["wrong"]])


def test_udp(value: Any) -> None:
    """memcached does not answer on UDP."""
    expect.nothing(["memcached answers on UDP, which lets strangers amplify attacks"] if value["udp"] else [])
