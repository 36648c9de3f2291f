"""The queue: gearmand runs, listens where the site says, and brings jobs back on both protocols."""

from typing import Any

import pytest

from stackctl.site.listeners import own_address
from stackctl.validation import expect, listening
from stackctl.validation.connection import Node
from stackctl.validation.inventory import Target
from stackctl.validation.probes import queue as probe
from stackctl.validation.system import System


@pytest.fixture(scope="module")
def jobs(node: Node, system: System, target: Target, units: tuple[str, ...]) -> Any:
    """What became of a job on each protocol; our own worker does it."""
    expect.running(system, units)
    return node.ask(
        probe.round_trips,
        host=own_address(target["queue_listen"]),
        port=target["queue_port"],
        http_host="127.0.0.1",
        http_port=target["queue_http_port"],
    )


def test_runs(system: System, units: tuple[str, ...]) -> None:
    """gearmand runs."""
    expect.nothing(system.wrong_now(units))


def test_listens(system: System, target: Target, units: tuple[str, ...]) -> None:
    """gearmand listens where the site says, its HTTP protocol on loopback."""
    expect.running(system, units)
    expect.nothing(listening.missing("queue", target, system))


def test_listens_nowhere_else(system: System, target: Target, units: tuple[str, ...]) -> None:
    """gearmand listens nowhere else."""
    expect.running(system, units)
    expect.nothing(listening.astray("queue", target, system))


def test_job(jobs: Any) -> None:
    """A job through gearmand comes back done."""
    expect.nothing([jobs["gearman"]])


def test_http_job(jobs: Any) -> None:
    """A job over gearmand's HTTP protocol comes back done."""
    expect.nothing([jobs["http"]])
