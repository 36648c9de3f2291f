"""The main job's services: from nothing, again, through the other door, broken, killed, two at once."""

import contextlib
import json
import os
import signal
from pathlib import Path

from stackctl import paths
from stackctl.apply.records import find_run, read_tasks
from stackctl.errors import ExitCode
from stackctl.site.secrets import Secrets
from tests.lib.applied import PATIENCE, Server, counts
from tests.lib.waiting import wait_for


def _at_work() -> list[str]:
    """The command lines of all that works for a run: each names the run's private folder."""
    work = os.fsencode(paths.state("work"))
    lines = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and work in (words := (entry / "cmdline").read_bytes()):
                lines.append(words.replace(b"\0", b" ").decode())
    return lines


def test_the_first_apply_says_what_it_did(stack: Server) -> None:
    run = find_run("last")
    assert (run.kind, run.status) == ("apply", "done")
    assert {task.role for task in read_tasks(run)} >= {"database", "queue", "cache", "search"}
    listed = json.loads(stack.stackctl("runs", "--json").stdout)
    assert run.id in {entry["id"] for entry in listed}


def test_a_second_apply_changes_nothing_through_either_door(stack: Server) -> None:
    outcome = stack.apply()
    assert (outcome["changes"], outcome["failures"], outcome["status"]) == ([], [], "done")
    found = counts(stack.play("site.yml"))
    assert (found["changed"], found["failed"]) == (0, 0)
    assert stack.apply("--check")["changes"] == []


def test_check_mode_finds_a_broken_thing_and_leaves_it(stack: Server) -> None:
    stack.ssh("systemctl stop memcached")
    try:
        assert stack.apply("--check", "--tags", "cache")["changes"]
        assert not stack.answers("systemctl is-active memcached")
        assert stack.apply("--tags", "cache")["changes"]
        assert stack.answers("systemctl is-active memcached")
    finally:
        stack.ssh("systemctl start memcached")


def test_a_killed_apply_reads_as_died_and_the_next_goes_on(stack: Server) -> None:
    before = find_run("last").id
    process = stack.start("apply")

    def at_work() -> bool:
        run = find_run("last")
        return run.id != before and any(task.outcome == "ok" for task in read_tasks(run))

    wait_for(lambda: at_work() or process.poll() is not None, "the work", timeout=PATIENCE)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    died = find_run("last")
    assert died.status == "died"
    assert stack.apply()["failures"] == []
    assert _at_work() == []
    assert find_run("last").resumed_from == died.id


def test_ctrl_c_ends_an_apply_and_the_next_goes_on(stack: Server) -> None:
    before = find_run("last").id
    process = stack.start("apply")
    wait_for(
        lambda: (find_run("last").id != before and read_tasks(find_run("last"))) or process.poll() is not None,
        "the run",
        timeout=PATIENCE,
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == ExitCode.INTERRUPTED
    interrupted = find_run("last")
    assert interrupted.status == "interrupted"
    assert _at_work() == []
    assert stack.apply()["failures"] == []
    assert find_run("last").resumed_from == interrupted.id


def test_two_at_once_are_refused(stack: Server) -> None:
    before = find_run("last").id
    process = stack.start("apply")
    try:
        wait_for(lambda: find_run("last").id != before or process.poll() is not None, "the run", timeout=PATIENCE)
        second = stack.stackctl("apply", check=False)
        assert second.returncode == ExitCode.FAILED
        assert f"process {process.pid}" in second.stderr
    finally:
        assert process.wait(timeout=600) == 0


def test_the_password_is_in_no_record_no_output_and_no_command_line(stack: Server, private_state: Path) -> None:
    secret = Secrets(stack.inventory).get("database_stacksearch_password", create=False).reveal()
    said = stack.stackctl("apply", "--tags", "database", "--verbose")
    assert secret not in said.stdout + said.stderr
    files = [file for file in private_state.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if secret.encode() in file.read_bytes()]
    assert secret not in stack.ssh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; journalctl --boot --no-pager").stdout
