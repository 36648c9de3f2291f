"""The main job on a server of the lab: from blank disks, interrupted, again, through the other door, unplugged."""

import json

import pytest

from stackctl.apply.records import find_run, read_runs, read_tasks
from stackctl.errors import ExitCode
from tests.conftest import draw
from tests.lib.applied import counts, wait_until
from tests.vm.conftest import Stack

pytestmark = [pytest.mark.vm, pytest.mark.xdist_group("stack")]

UNITS = {
    "database": ["mariadb"],
    "queue": ["gearman-job-server"],
    "cache": ["memcached"],
    "search": ["sphinxsearch", "apache2", "stacksearch-web"],
}
MOUNTS = ("/srv/database", "/srv/documents", "/srv/guests")


def everything_is_up(stack: Stack) -> None:
    for mount in MOUNTS:
        assert stack.ssh(f"findmnt -no FSTYPE {mount}").stdout.strip() == "xfs"
    units = [unit for role in stack.roles for unit in UNITS[role]]
    states = stack.ssh(f"systemctl is-active {' '.join(units)}", check=False).stdout.split()
    assert states == ["active"] * len(units)


def test_ctrl_c_in_the_middle_of_the_first_apply_is_gone_on_with(stack: Stack) -> None:
    if stack.interrupted is None:
        pytest.skip("this stack was given, not made")
    assert stack.interrupted == ExitCode.INTERRUPTED
    second, first = (run for run in read_runs("lab") if run.kind == "apply")
    assert (first.status, second.status, second.resumed_from) == ("interrupted", "done", first.id)
    assert any(task.outcome is None for task in read_tasks(first))
    everything_is_up(stack)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "door" in metafunc.fixturenames:
        metafunc.parametrize("door", draw(metafunc.config, "doors", ["stackctl", "ansible-playbook"], 1))


def test_a_second_apply_changes_nothing(stack: Stack, door: str) -> None:
    if door == "ansible-playbook":
        found = counts(stack.play("site.yml"))
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
    wait_until(lambda: stack.ssh("systemctl is-system-running --wait", check=False).stdout.strip() != "starting", 600)
    everything_is_up(stack)
    assert stack.apply()["changes"] == []
