"""Locks between processes: a file that one process holds, let go of by the kernel when the process ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stackctl import console


@contextmanager
def exclusive(file: Path, *, waiting: str) -> Iterator[int]:
    """Hold the lock; where another process has it, say ``waiting`` on the console and wait.

    Gives the lock's descriptor: a process that gets it passed on holds the lock too, until it ends.
    The holder may delete the file: who waited for it then takes the lock of the file that is there next.
    """
    descriptor = _taken(file, waiting)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_held(file: Path) -> bool:
    """Whether a process holds the lock."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def _taken(file: Path, waiting: str) -> int:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                console.note(waiting)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is(descriptor, file):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
