"""`stackctl lab up` that is killed on the way, refused, run twice at once, or run for someone who is not root."""

import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl import paths
from stackctl.errors import ExitCode
from stackctl.lab import accelerator, rack, state
from stackctl.lab.machine import Machine
from stackctl.lock import is_held
from stackctl.process import SystemRunner
from stackctl.site.load import open_site
from stackctl.site.models import Site
from tests.conftest import draw
from tests.lib.lab import block_devices, stackctl
from tests.lib.waiting import wait_for

pytestmark = pytest.mark.vm

MOMENTS = (0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.2, 2.6, 3.0, 4.0, 6.0, 9.0)
"""Seconds after which a `lab up` is killed."""


def test_the_accelerator_is_found_within_seconds() -> None:
    began = time.monotonic()
    found = accelerator.probe(SystemRunner())
    assert time.monotonic() - began < 60
    assert found.name in accelerator.ACCELERATORS
    assert found.reason


@pytest.fixture
def other(tmp_path: Path) -> Iterator[tuple[Path, Site]]:
    """The folder and model of a site of its own; whatever is left of its lab is removed."""
    (tmp_path / "stack.yml").write_text(
        "plugin: stackctl\nsite: other\nhosts:\n"
        "  one-1: {lab: {memory: 512 MiB, cpus: 1, disks: {count: 2, size: 1 GiB}}}\n"
        "  two-1: {lab: {memory: 512 MiB, cpus: 1, disks: {count: 1, size: 1 GiB, sectors: 4Kn}}}\n"
    )
    site = open_site(tmp_path).site
    yield tmp_path, site
    rack.down(site.site, agree=lambda _: True)


def start_up(inventory: Path) -> subprocess.Popen[bytes]:
    """Start `lab up`; Ctrl-C reaches it also where the tests run in the background of a shell, which ignores it."""
    return subprocess.Popen(
        ["env", "--default-signal=INT", paths.program("stackctl"), "lab", "up", "-i", str(inventory)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def qemus_in(folder: Path) -> list[int]:
    """The processes whose working directory is, or was, under ``folder``."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                where = (process / "cwd").readlink()
            except OSError:
                continue
            if str(where).startswith(str(folder)):
                found.append(int(process.name))
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "moment" in metafunc.fixturenames:
        metafunc.parametrize("moment", draw(metafunc.config, "moments", MOMENTS, 4))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_up_leaves_nothing_that_down_cannot_clean(
    other: tuple[Path, Site], moment: float, how: signal.Signals
) -> None:
    inventory, site = other
    process = start_up(inventory)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(how)
    process.wait(60)
    done = stackctl(inventory, "down")
    assert done.returncode == 0
    folder = state.site_directory(site.site)
    assert not folder.exists()
    assert qemus_in(folder) == []


def test_an_interrupted_up_goes_on(other: tuple[Path, Site]) -> None:
    inventory, site = other
    machines = rack.machines(site)
    process = start_up(inventory)
    wait_for(lambda: all(machine.pid() is not None for machine in machines), "the machines", timeout=600)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == ExitCode.INTERRUPTED
    pids = [machine.pid() for machine in machines]
    process = start_up(inventory)
    try:
        wait_for(
            lambda: is_held(state.site_directory(site.site) / "lock") or process.poll() is not None,
            "the lock",
            timeout=600,
        )
        wait_for(lambda: not is_held(state.site_directory(site.site) / "lock"), "the end of the lock", timeout=600)
        assert [machine.pid() for machine in machines] == pids, "running machines are not started anew"
    finally:
        process.kill()
        process.wait()


def test_two_ups_at_once_make_one_machine(other: tuple[Path, Site]) -> None:
    inventory, site = other
    first, second = start_up(inventory), start_up(inventory)
    try:
        machines = rack.machines(site)
        wait_for(
            lambda: all(state.endpoint(site.site, machine.host) for machine in machines), "the machines", timeout=600
        )
        wait_for(lambda: not is_held(state.site_directory(site.site) / "lock"), "the end of the lock", timeout=600)
        assert len(qemus_in(state.site_directory(site.site))) == 2
        assert first.poll() is None
        assert second.poll() is None
    finally:
        for process in (first, second):
            process.kill()
            process.wait()


def test_too_little_memory_is_told(other: tuple[Path, Site]) -> None:
    inventory, _ = other
    file = inventory / "stack.yml"
    file.write_text(file.read_text().replace("memory: 512 MiB", "memory: 100 TiB", 1))
    failed = stackctl(inventory, "up", check=False)
    assert failed.returncode == ExitCode.FAILED
    assert "one-1, two-1 need 100" in failed.stderr
    assert "hint" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_missing_qemu_is_told(other: tuple[Path, Site], tmp_path: Path) -> None:
    inventory, _ = other
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("apt-get", "apt-config", "setpriv"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    argv = [paths.program("stackctl"), "lab", "up", "-i", str(inventory)]
    failed = SystemRunner().run(argv, check=False, env={"PATH": str(tools)})
    assert failed.returncode == ExitCode.FAILED
    assert "qemu-system-x86_64 is not installed" in failed.stderr
    assert "scripts/bootstrap" in failed.stderr


def test_a_name_that_is_no_machine(other: tuple[Path, Site]) -> None:
    inventory, _ = other
    failed = stackctl(inventory, "up", "three-1", check=False)
    assert failed.returncode == ExitCode.USAGE
    assert "one-1, two-1" in failed.stderr


def test_an_operator_who_is_not_root(tmp_path: Path, private_state: Path) -> None:
    """A user with sudo, disks with large sectors, and more than one wait at once."""
    (tmp_path / "stack.yml").write_text(
        "plugin: stackctl\nsite: people\nhosts:\n"
        "  ops-1: {user: deploy, lab: {memory: 1 GiB, cpus: 1, disks: {count: 2, size: 1 GiB, sectors: 512e}}}\n"
    )
    site = open_site(tmp_path).site
    machine = Machine(site.site, "ops-1")
    try:
        rack.up(site)
        waits = [threading.Thread(target=machine.wait_ssh) for _ in range(2)]
        for wait in waits:
            wait.start()
        for wait in waits:
            wait.join()
        assert machine.ssh("id -un; sudo -n id -un").stdout == "deploy\nroot\n"
        sectors = {
            (disk["log-sec"], disk["phy-sec"]) for disk in block_devices(machine) if disk["name"].startswith("sd")
        }
        assert sectors == {(512, 4096)}
    finally:
        rack.down(site.site, agree=lambda _: True)
    assert not state.site_directory(site.site).exists()
