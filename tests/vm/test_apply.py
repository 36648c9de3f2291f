"""The main job on a server of the lab: once, twice, through the other door, interrupted, killed, over a reboot."""

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from stackctl import paths
from stackctl.apply.environment import ansible_environment
from stackctl.apply.records import find_run, read_runs, read_tasks
from stackctl.errors import ExitCode
from stackctl.process import SystemRunner

pytestmark = [pytest.mark.vm, pytest.mark.xdist_group("stack")]

Stack = Any
"""The class of the fixture, which conftest.py holds."""
PATIENCE = 3600.0
"""Seconds that a whole apply may take on a slow, emulated machine."""

UNITS = "mariadb gearman-job-server memcached apache2"
MOUNTS = ("/srv/database", "/srv/documents", "/srv/guests")


def applied(stack: Stack, *words: str) -> dict[str, Any]:
    """What an apply says it has done."""
    outcome: dict[str, Any] = json.loads(stack.stackctl("apply", "--json", *words).stdout)
    return outcome


def through_the_other_door(stack: Stack) -> list[tuple[str, str]]:
    """The counts of changed and failed tasks of plain ansible-playbook."""
    argv = [paths.program("ansible-playbook"), "-i", str(stack.inventory / "stack.yml")]
    argv.append(str(paths.data("playbooks", "site.yml")))
    environment = {
        name: value for name, value in ansible_environment(fast=False).items() if name != "ANSIBLE_STRATEGY"
    }
    said = SystemRunner().run(argv, env=environment, check=False, timeout=PATIENCE).stdout
    recap = [line for line in said.splitlines() if " : ok=" in line.replace("  ", " ")]
    assert recap, said
    words = [dict(word.split("=") for word in line.split(":")[1].split()) for line in recap]
    return [(word["changed"], word["failed"]) for word in words]


def wait_until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.2)


def everything_is_up(stack: Stack) -> None:
    for mount in MOUNTS:
        assert stack.ssh(f"findmnt -no FSTYPE {mount}").stdout.strip() == "xfs"
    states = stack.ssh(f"systemctl is-active {UNITS}", check=False).stdout.split()
    assert states == ["active"] * len(UNITS.split())


def test_ctrl_c_in_the_middle_of_the_first_apply_is_gone_on_with(stack: Stack) -> None:
    if stack.interrupted is None:
        pytest.skip("this stack was given, not made")
    assert stack.interrupted == ExitCode.INTERRUPTED
    second, first = (run for run in read_runs("lab") if run.kind == "apply")
    assert (first.status, second.status, second.resumed_from) == ("interrupted", "done", first.id)
    assert any(task.outcome is None for task in read_tasks(first))
    everything_is_up(stack)


def test_a_second_apply_changes_nothing_through_either_door(stack: Stack) -> None:
    assert applied(stack)["changes"] == []
    assert through_the_other_door(stack) == [("0", "0")]
    outcome = applied(stack)
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


def test_check_mode_finds_a_broken_thing_and_leaves_it(stack: Stack) -> None:
    stack.ssh("systemctl stop memcached")
    try:
        assert applied(stack, "--check", "--tags", "cache")["changes"]
        assert stack.ssh("systemctl is-active memcached", check=False).stdout.strip() == "inactive"
        assert applied(stack, "--tags", "cache")["changes"]
        assert stack.ssh("systemctl is-active memcached").stdout.strip() == "active"
    finally:
        stack.ssh("systemctl start memcached")


def test_a_killed_apply_reads_as_died_and_the_next_goes_on(stack: Stack) -> None:
    process = stack.start("apply")
    wait_until(
        lambda: any(task.outcome == "ok" for task in read_tasks(find_run("last"))) or process.poll() is not None
    )
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    died = find_run("last")
    assert died.status == "died"
    assert applied(stack)["failures"] == []
    assert find_run("last").resumed_from == died.id


def test_two_at_once_are_refused(stack: Stack) -> None:
    process = stack.start("apply")
    try:
        wait_until(lambda: find_run("last").status == "running" or process.poll() is not None)
        second = stack.stackctl("apply", check=False)
        assert second.returncode == ExitCode.FAILED
        assert f"process {process.pid}" in second.stderr
    finally:
        assert process.wait(timeout=PATIENCE) == 0


def test_everything_is_up_again_after_a_power_cut(stack: Stack) -> None:
    stack.machine.power_off()
    down = stack.stackctl("apply", check=False)
    assert down.returncode == ExitCode.FAILED
    assert "metal-1" in down.stderr
    assert "hint" in down.stderr
    stack.stackctl("lab", "up")
    wait_until(lambda: stack.ssh("systemctl is-system-running --wait", check=False).stdout.strip() != "starting", 600)
    everything_is_up(stack)
    assert applied(stack)["changes"] == []
