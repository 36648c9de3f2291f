"""The main job on a lab server: blank disks, an apply that is interrupted, again, unplugged, validated, broken."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackctl import paths
from stackctl.apply.records import find_run, read_runs, read_tasks
from stackctl.errors import ExitCode
from stackctl.lab.machine import Machine
from stackctl.process import Result
from stackctl.site.load import open_site
from tests.breakages import BREAKAGES, Breakage, ended, is_caught
from tests.conftest import draw
from tests.lib.applied import PATIENCE, Server, counts
from tests.lib.waiting import wait_for

pytestmark = pytest.mark.vm

UNITS = {
    "database": ["mariadb"],
    "queue": ["gearman-job-server"],
    "cache": ["memcached"],
    "search": ["sphinxsearch", "apache2", "stacksearch-web"],
}
MOUNTS = ("/srv/database", "/srv/documents", "/srv/guests")
ALWAYS = {"storage", "listeners", "reboot"}
"""What validation looks at on every server."""
BESIDE = (("queue",), ("cache",), ("queue", "cache", "search"))
"""What a server may carry beside the database."""


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


def lab_machine(inventory: Path, interrupted: int | None = None) -> Stack:
    machine = Machine("lab", "metal-1")
    return Stack(inventory, "metal-1", lambda command, check: machine.ssh(command, check=check), machine, interrupted)


@pytest.fixture(scope="module")
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
        yield lab_machine(Path(given))
        return
    folder = tmp_path_factory.mktemp("site") / "lab"
    shutil.copytree(paths.data("inventories", "lab"), folder, ignore=shutil.ignore_patterns("secrets.yml"))
    roles = ["database", *draw(pytestconfig, "roles", BESIDE, 1)[-1]]
    site = (folder / "stack.yml").read_text()
    # one processor: another machine has its tests beside this one, and two that wait for each other stall a guest
    site = site.replace("cpus: 2", "cpus: 1").replace("[database, queue, cache, search]", f"[{', '.join(roles)}]")
    (folder / "stack.yml").write_text(site)
    stack = lab_machine(folder)
    stack.stackctl("lab", "up")
    try:
        code = interrupted_apply(stack)
        stack.stackctl("apply", "--yes")
        yield lab_machine(folder, code)
    finally:
        stack.stackctl("lab", "down", "--yes")


def interrupted_apply(stack: Stack) -> int:
    """The exit code of an apply that gets Ctrl-C once the database is being set up."""
    process = stack.start("apply", "--yes")

    def at_the_database() -> bool:
        tasks = (task for run in read_runs("lab")[:1] for task in read_tasks(run))
        return process.poll() is not None or any(task.role.startswith("database") for task in tasks)

    wait_for(at_the_database, "the first apply to come as far as the database", timeout=PATIENCE)
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=300)


def everything_is_up(stack: Stack) -> None:
    for mount in MOUNTS:
        assert stack.ssh(f"findmnt -no FSTYPE {mount}").stdout.strip() == "xfs"
    units = [unit for role in stack.roles for unit in UNITS[role]]
    states = stack.ssh(f"systemctl is-active {' '.join(units)}", check=False).stdout.split()
    assert states == ["active"] * len(units)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "door" in metafunc.fixturenames:
        metafunc.parametrize("door", draw(metafunc.config, "doors", ["stackctl", "ansible-playbook"], 1))
    if "breakage" in metafunc.fixturenames:
        # those of services are made on a server that needs no emulation: tests/native
        candidates = [breakage for breakage in BREAKAGES if breakage.on_disks]
        chosen = draw(metafunc.config, "breakages", candidates, 1)
        metafunc.parametrize("breakage", chosen, ids=[breakage.name.replace(" ", "-") for breakage in chosen])


def test_ctrl_c_in_the_middle_of_the_first_apply_is_gone_on_with(stack: Stack) -> None:
    if stack.interrupted is None:
        pytest.skip("this stack was given, not made")
    assert stack.interrupted == ExitCode.INTERRUPTED
    second, first = (run for run in read_runs("lab") if run.kind == "apply")
    assert (first.status, second.status, second.resumed_from) == ("interrupted", "done", first.id)
    assert any(task.outcome is None for task in read_tasks(first))
    everything_is_up(stack)


def test_a_second_apply_changes_nothing(stack: Stack, door: str, pytestconfig: pytest.Config) -> None:
    if door == "ansible-playbook":
        # tests/native goes through this door for the services: emulated, each task starts Python for seconds
        tags = () if pytestconfig.getoption("exhaustive") else ("--tags", "storage")
        found = counts(stack.play("site.yml", *tags))
        assert (found["changed"], found["failed"]) == (0, 0)
        return
    outcome = stack.apply()
    assert (outcome["changes"], outcome["failures"], outcome["status"]) == ([], [], "done")
    run = find_run("last")
    assert run.status == "done"
    assert read_tasks(run)


def test_there_is_nothing_left_to_plan(stack: Stack) -> None:
    found = stack.stackctl("plan", "--json")
    plan = json.loads(found.stdout)["hosts"]["metal-1"]
    assert plan["steps"] == []
    assert plan["alignment"]
    assert all(link["off"] == 0 for link in plan["alignment"])
    assert "nothing to do" in stack.stackctl("plan").stderr


def test_inspect_names_the_disks(stack: Stack) -> None:
    machine = json.loads(stack.stackctl("inspect", "--json").stdout)["metal-1"]
    serials = {disk["serial"] for disk in machine["disks"]}
    assert {f"LAB-METAL-1-{number}" for number in range(1, 5)} <= serials


def test_everything_is_up_again_after_a_power_cut(stack: Stack) -> None:
    stack.machine.power_off()
    down = stack.stackctl("apply", check=False)
    assert down.returncode == ExitCode.FAILED
    assert "metal-1" in down.stderr
    assert "hint" in down.stderr
    stack.stackctl("lab", "up")
    running = "systemctl is-system-running --wait"
    wait_for(lambda: stack.ssh(running, check=False).stdout.strip() != "starting", "the boot", timeout=600)
    everything_is_up(stack)
    assert stack.apply()["changes"] == []


def test_validation_is_green(stack: Stack, tmp_path: Path) -> None:
    done = stack.stackctl("validate", "--json", "--junit", str(tmp_path / "report.xml"), check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert ended(report, "failed") == {}
    assert ended(report, "not shown") == {}
    assert done.returncode == 0
    assert {check["role"] for check in report["checks"]} == ALWAYS | set(stack.roles)
    assert (tmp_path / "report.xml").read_text().count("<testcase ") == len(report["checks"])


def test_what_is_broken_is_caught_and_nothing_else(stack: Stack, breakage: Breakage) -> None:
    def validate(*words: str) -> Result:
        return stack.stackctl("validate", "--json", *words, check=False)

    is_caught(breakage, stack.ssh, validate, frozenset())
