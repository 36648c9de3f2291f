"""Processes that stand in a test's way on purpose."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

_HOLD = (
    "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.lockf(f, fcntl.LOCK_EX);"
    "print('held', flush=True); sys.stdin.read()"
)


@contextmanager
def _hold(path: Path) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-c", _HOLD, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait()


@pytest.fixture
def hold_lock() -> Callable[[Path], AbstractContextManager[subprocess.Popen[str]]]:
    """``with hold_lock(PATH) as process``: a process of its own holds the lock until the block is left."""
    return _hold
