"""Ties a process to a file: the process holds the file's lock from before it is started until it is gone.

A process identifier in a file can be stale or another's by now; the lock cannot, as the kernel lets go of it
with the last process that has the file open.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stackctl.lock import is_held

_PATIENCE = 2.0


@contextmanager
def hold(file: Path) -> Iterator[int | None]:
    """Take the lock and give its descriptor, to be passed on to the process; None when another one holds it."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor if _taken(descriptor) else None
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    """Lock, with patience for somebody who only looks whether it is held."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True


def holder(file: Path, program: str) -> int | None:
    """The process that runs ``program`` and has the file open, or None."""
    if not is_held(file):
        return None
    wanted = file.stat()
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid() and _runs(process, program):
            try:
                open_files = [entry.stat() for entry in (process / "fd").iterdir() if os.access(entry, os.F_OK)]
            except OSError:
                continue
            if any((found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino) for found in open_files):
                return int(process.name)
    return None


def _runs(process: Path, program: str) -> bool:
    try:
        return (process / "exe").readlink().name.startswith(program)
    except OSError:
        return False


def wait_free(file: Path, seconds: float) -> bool:
    """Wait until nobody holds the lock; False when somebody still does after ``seconds``."""
    deadline = time.monotonic() + seconds
    while is_held(file):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
