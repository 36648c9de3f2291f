"""One run at a time; a dead holder holds nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stackctl.apply.lock import ProcessId, site_lock
from stackctl.errors import StackctlError

HOLD = "import sys, time; from stackctl.apply.lock import site_lock\nwith site_lock('lab', 'apply'):\n print('held', flush=True)\n time.sleep(600)"  # noqa: E501


@pytest.fixture
def holder(state: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"held\n"
    return process


def test_a_second_run_is_told_who_holds_the_lock(holder: subprocess.Popen[bytes]) -> None:
    try:
        with (
            pytest.raises(StackctlError, match=rf"site lab: apply, process {holder.pid}, for") as caught,
            site_lock("lab", "x"),
        ):
            pass
        assert caught.value.hint
    finally:
        holder.kill()
        holder.wait()


def test_another_site_is_free(holder: subprocess.Popen[bytes]) -> None:
    try:
        with site_lock("other", "apply"):
            pass
    finally:
        holder.kill()
        holder.wait()


def test_a_killed_holder_leaves_the_lock_free(holder: subprocess.Popen[bytes]) -> None:
    holder.kill()
    holder.wait()
    with site_lock("lab", "apply"):
        pass


def test_the_lock_can_be_taken_again_and_is_private(state: Path) -> None:
    for _ in range(2):
        with site_lock("lab", "apply"):
            pass
    assert (state / "runs" / "lab" / "lock").stat().st_mode & 0o777 == 0o600


def test_a_process_is_told_apart_from_its_number() -> None:
    mine = ProcessId.mine()
    assert mine.alive()
    assert ProcessId.from_json(mine.to_json()) == mine
    assert not ProcessId(mine.pid, "another birth").alive()


def test_an_ended_process_is_not_alive() -> None:
    process = subprocess.Popen(["true"])
    identity = ProcessId.of(process.pid)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert ProcessId.of(process.pid) is None  # a corpse that nobody has collected
    process.wait()
    assert identity is None or not identity.alive()


@pytest.mark.parametrize("value", [None, {}, {"pid": "x", "birth": 1}, 3, {"pid": None, "birth": "b"}])
def test_nonsense_is_no_process(value: object) -> None:
    assert ProcessId.from_json(value) is None
