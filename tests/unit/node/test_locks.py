"""Locks held by real processes."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from stackctl.node import locks
from stackctl.node.errors import NodeError

HoldLock = Callable[[Path], AbstractContextManager[subprocess.Popen[str]]]


def test_a_file_that_is_not_there_is_held_by_nobody(tmp_path: Path) -> None:
    assert locks.holder(tmp_path / "lock") is None


def test_a_free_file_is_held_by_nobody(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    assert locks.holder(tmp_path / "lock") is None


def test_the_holder_is_named_with_its_command(tmp_path: Path, hold_lock: HoldLock) -> None:
    path = tmp_path / "lock"
    with hold_lock(path) as process:
        found = locks.holder(path)
        assert found is not None
        assert found.pid == process.pid
        assert found.command.startswith(sys.executable)
        assert str(process.pid) in str(found)
    assert locks.holder(path) is None


def test_waiting_ends_with_an_error_that_says_who_holds_the_lock(tmp_path: Path, hold_lock: HoldLock) -> None:
    path = tmp_path / "lock"
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    with hold_lock(path) as process, pytest.raises(NodeError) as caught:
        locks.wait_free([path], "the package manager", 600, clock=lambda: now, sleep=sleep)
    assert caught.value.kind == "locked"
    assert "the package manager is locked by process " in caught.value.message
    assert f"process {process.pid} " in caught.value.message
    assert "waited 600 s" in caught.value.message
    assert caught.value.hint is not None


def test_waiting_ends_when_the_holder_does(tmp_path: Path, hold_lock: HoldLock) -> None:
    path = tmp_path / "lock"
    with ExitStack() as stack:
        stack.enter_context(hold_lock(path))
        close: list[Callable[[], None]] = [stack.close]

        def sleep(_: float) -> None:
            close.pop()()

        locks.wait_free([path], "the package manager", 600, sleep=sleep)
    assert close == []


def test_a_held_lock_is_held_for_others(tmp_path: Path) -> None:
    path = tmp_path / "run" / "lock"
    ask = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from stackctl.node import locks;"
        "found = locks.holder(Path(sys.argv[2])); print(found.pid if found else None)"
    )
    root = Path(locks.__file__).parents[2]
    argv = [sys.executable, "-c", ask, str(root), str(path)]
    with locks.held(path, "the package manager", 5):
        inside = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    outside = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    assert inside.isdigit()
    assert outside == "None"


def test_a_lock_held_by_another_is_not_taken(tmp_path: Path, hold_lock: HoldLock) -> None:
    path = tmp_path / "lock"
    with hold_lock(path), pytest.raises(NodeError, match="is locked by process"):  # noqa: SIM117
        with locks.held(path, "the package manager", 0.0):
            pytest.fail("the lock was taken")
