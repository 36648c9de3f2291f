"""A server of the lab that carries the stack on real disks, shared by all tests of a session."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackctl import paths
from stackctl.apply.records import read_runs, read_tasks
from stackctl.lab import rack
from stackctl.lab.machine import Machine
from stackctl.site.load import open_site
from stackctl.site.models import Site
from tests.conftest import draw
from tests.lib.applied import PATIENCE, Server


@dataclass(frozen=True)
class Stack(Server):
    """A lab machine and its site, a copy of the one that ships."""

    machine: Machine
    interrupted: int | None = None
    """The exit code of the first apply, which was stopped by Ctrl-C in the middle; None where a stack was given."""

    @property
    def roles(self) -> tuple[str, ...]:
        """The services that it carries."""
        return open_site(self.inventory).site.hosts[self.name].roles


def _lab_machine(inventory: Path, interrupted: int | None = None) -> Stack:
    machine = Machine("lab", "metal-1")
    return Stack(inventory, "metal-1", lambda command, check: machine.ssh(command, check=check), machine, interrupted)


@pytest.fixture(scope="session", autouse=True)
def private_state() -> Iterator[Path]:
    """Machines, records and passwords of the tests: nothing of the operator's is touched. The path is short."""
    if "STACKCTL_TEST_STACK" in os.environ:
        yield paths.state()
        return
    with tempfile.TemporaryDirectory(prefix="vm-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", f"{folder}/state")
        patch.setenv("XDG_CONFIG_HOME", f"{folder}/config")
        yield paths.state()


_BESIDE = (("queue",), ("cache",), ("queue", "cache", "search"))
"""What a server may carry beside the database."""


@pytest.fixture(scope="session")
def stack(
    private_state: Path, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """A server from blank disks to services on them; its first apply was stopped in the middle and gone on with.

    It carries all services with --exhaustive, else a part: an emulated machine takes minutes for each, and
    tests/native has them all. ``STACKCTL_TEST_STACK=FOLDER`` takes the lab of that site, which is up and applied,
    and leaves it so.
    """
    given = os.environ.get("STACKCTL_TEST_STACK")
    if given:
        yield _lab_machine(Path(given))
        return
    folder = tmp_path_factory.mktemp("site") / "lab"
    shutil.copytree(paths.data("inventories", "lab"), folder, ignore=shutil.ignore_patterns("secrets.yml"))
    roles = ["database", *draw(pytestconfig, "roles", _BESIDE, 1)[-1]]
    site = (folder / "stack.yml").read_text()
    (folder / "stack.yml").write_text(site.replace("[database, queue, cache, search]", f"[{', '.join(roles)}]"))
    stack = _lab_machine(folder)
    stack.stackctl("lab", "up")
    try:
        code = _interrupted_apply(stack)
        stack.stackctl("apply", "--yes")
        yield _lab_machine(folder, code)
    finally:
        stack.stackctl("lab", "down", "--yes")


def _interrupted_apply(stack: Stack) -> int:
    """The exit code of an apply that gets Ctrl-C once the database is being set up."""
    process = stack.start("apply", "--yes")
    end = time.monotonic() + PATIENCE
    while process.poll() is None and not any(
        task.role.startswith("database") for run in read_runs("lab")[:1] for task in read_tasks(run)
    ):
        assert time.monotonic() < end, "the first apply did not come as far as the database"
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=300)


BARE = """
plugin: stackctl
site: bare
hosts:
  bare-1:
    lab: {memory: 1 GiB, cpus: 1, disks: {count: 4, size: 2 GiB}}
"""


@pytest.fixture(scope="session")
def lab_inventory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a site of one bare lab machine, bare-1, that carries nothing."""
    folder = tmp_path_factory.mktemp("bare-site")
    (folder / "stack.yml").write_text(BARE)
    return folder


@pytest.fixture(scope="session")
def lab_site(lab_inventory: Path) -> Site:
    """The site of `lab_inventory`."""
    return open_site(lab_inventory).site


@pytest.fixture(scope="session")
def machine(private_state: Path, lab_site: Site) -> Iterator[Machine]:
    """A running bare machine, shared by the tests of a session, which leave its four disks as they found them."""
    try:
        rack.up(lab_site)
        yield Machine(lab_site.site, "bare-1")
    finally:
        rack.down(lab_site.site, agree=lambda _: True)
