"""Locks between processes: held, waited for, passed on, let go of by the dead."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stackctl.lock import exclusive, is_held
from stackctl.process import spawn


def test_held_and_free(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    assert not is_held(file)
    with exclusive(file, waiting=""):
        assert is_held(file)
    assert not is_held(file)


def test_the_second_says_that_it_waits_and_then_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, order = tmp_path / "lock", []
    entered = threading.Event()

    def second() -> None:
        with exclusive(file, waiting="waiting for the first"):
            order.append("second")
        entered.set()

    thread = threading.Thread(target=second)
    with exclusive(file, waiting=""):
        thread.start()
        thread.join(0.3)
        order.append("first")
    assert entered.wait(30)
    assert order == ["first", "second"]
    assert "waiting for the first" in capsys.readouterr().err


def test_a_deleted_lock_does_not_let_two_in(tmp_path: Path) -> None:
    """Who waited on the deleted file takes the new one, and is kept out by its holder."""
    file, inside = tmp_path / "lock", []
    thread = threading.Thread(target=lambda: _enter(file, inside))
    with exclusive(file, waiting=""):
        thread.start()
        thread.join(0.3)
        file.unlink()
        file.touch()
        with exclusive(file, waiting="never"):
            thread.join(0.3)
            assert inside == []
    thread.join(30)
    assert inside == [True]


def _enter(file: Path, inside: list[bool]) -> None:
    with exclusive(file, waiting="waits"):
        inside.append(True)


def test_a_process_that_got_it_holds_it_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with exclusive(file, waiting="") as descriptor:
        process = spawn(["sleep", "60"], pass_fds=(descriptor,))
    try:
        assert is_held(file)
    finally:
        process.kill()
        process.wait()
    assert not is_held(file)


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    code = (
        "import sys, time, pathlib; from stackctl.lock import exclusive\n"
        "with exclusive(pathlib.Path(sys.argv[1]), waiting=''): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, file], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert is_held(file)
        process.kill()
    assert not is_held(file)


def test_a_process_started_beside_does_not_hold_it(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with exclusive(file, waiting=""):
        process = spawn(["sleep", "60"])
    try:
        assert not is_held(file)
    finally:
        process.kill()
        process.wait()
