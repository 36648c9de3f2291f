"""A server without disks of its own, at the speed of the host, that carries all services: made once a session."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from stackctl import paths
from tests.lib import container
from tests.lib.applied import Server
from tests.lib.container import Container

NAME = "native-1"
DRIZZLE = "STACKCTL_DRIZZLE_ARCHIVE"
"""Names an archive of a real Drizzle; no distribution has one."""
NOT_SHOWN = (
    f"{DRIZZLE} names no archive, so nothing of a running Drizzle was shown: role, stack, kill -9, upgrade, roll-back"
)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once what was not shown."""
    skipped = terminalreporter.stats.get("skipped", [])
    if any(NOT_SHOWN in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(f"not shown: {NOT_SHOWN}", yellow=True)


@pytest.fixture(scope="session")
def drizzle_archive() -> Path:
    """The archive of a real Drizzle."""
    named = os.environ.get(DRIZZLE)
    if not named:
        pytest.skip(NOT_SHOWN)
    file = Path(named).resolve()
    assert file.is_file(), f"{DRIZZLE}: there is no file {file}"
    return file


@pytest.fixture(scope="session")
def private_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Records and passwords of the tests: nothing of the operator's is touched."""
    folder = tmp_path_factory.mktemp("private")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        yield paths.state()


@pytest.fixture(scope="session")
def machine(private_state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """A bare server that takes SSH."""
    if reason := container.why_not():
        pytest.skip(f"a server in namespaces cannot run here: {reason}")
    folder = tmp_path_factory.mktemp("server")
    machine = Container(folder, NAME)
    try:
        machine.start()
        yield machine
    finally:
        machine.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def bare(machine: Container, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """The same with a site around it: the lab's own settings, all services, no layout."""
    return site_of(machine, tmp_path_factory.mktemp("site"))


def site_of(machine: Container, folder: Path, **variables: object) -> Server:
    """A site of one server with all services and no layout; ``variables`` are the host's."""
    roles = ["database", "queue", "cache", "search"]
    host = {"address": "127.0.0.1", "port": machine.ssh_port, "roles": roles}
    site = {"plugin": "stackctl", "site": "native", "hosts": {machine.name: host}}
    (folder / "stack.yml").write_text(yaml.safe_dump(site))
    shutil.copytree(paths.data("inventories", "lab", "group_vars"), folder / "group_vars")
    reach = {"ansible_ssh_common_args": " ".join(machine.ssh_options)}
    (folder / "host_vars").mkdir()
    (folder / "host_vars" / f"{machine.name}.yml").write_text(yaml.safe_dump({**reach, **variables}))
    return Server(folder, machine.name, machine.ssh)


@pytest.fixture(scope="session")
def stack(bare: Server) -> Server:
    """The same after one apply."""
    bare.stackctl("apply", "--yes")
    return bare
