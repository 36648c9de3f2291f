"""Who holds a lock file (POSIX record locks, as apt and dpkg take them), and waiting for it."""

import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .errors import NodeError

_FLOCK = "@hhqqi4x"
"""struct flock of Linux on 64-bit machines: type, whence, start, length, pid."""


@dataclass(frozen=True)
class Holder:
    """A process that holds a lock."""

    path: Path
    pid: int
    """0 where the kernel does not tell (a process of another namespace)."""
    command: str
    unit: str | None = None
    """The systemd unit that the process runs in."""

    def __str__(self) -> str:
        if not self.pid:
            return f"a process outside this system's view ({self.path})"
        unit = f", unit {self.unit}" if self.unit else ""
        return f"process {self.pid} ({self.command}{unit})"


def holder(path: Path) -> Holder | None:
    """Who keeps others from locking ``path``; None when nobody does. Takes no lock itself."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        question = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, question)
    finally:
        os.close(descriptor)
    kind, _, _, _, pid = struct.unpack(_FLOCK, answer)
    if kind == fcntl.F_UNLCK:
        return None
    pid = max(pid, 0)
    return Holder(path, pid, _command(pid), _unit(pid))


def wait_free(
    paths: Sequence[Path],
    what: str,
    timeout: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Wait until nobody holds any of ``paths``; return the seconds waited.

    Raises NodeError of kind ``locked`` after ``timeout`` seconds; it names ``what`` and who holds it.
    """
    began = clock()
    while busy := next(filter(None, map(holder, paths)), None):
        waited = clock() - began
        if waited >= timeout:
            raise locked(what, busy, waited)
        sleep(min(1.0, max(timeout - waited, 0.05)))
    return clock() - began


def locked(what: str, busy: Holder, waited: float) -> NodeError:
    """The error that says who kept ``what`` locked."""
    stop = f" or stop it (systemctl stop {busy.unit})" if busy.unit else ""
    return NodeError(
        f"{what} is locked by {busy}; waited {waited:.0f} s for it",
        kind="locked",
        hint=f"wait until that process has ended{stop}, then run the same command again",
    )


@contextmanager
def held(path: Path, what: str, timeout: float) -> Iterator[None]:
    """Hold the lock ``path`` (made when missing), waiting for it like ``wait_free``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with path.open("a") as file:
        while True:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                wait_free([path], what, timeout - (time.monotonic() - began))
        yield


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        return b" ".join(words).decode(errors="replace")[:120] or "a kernel thread"
    except OSError:
        return "already gone"


def _unit(pid: int) -> str | None:
    try:
        group = Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return None
    leaves = (leaf for line in group.splitlines() for leaf in line.split("/"))
    return next((leaf for leaf in leaves if leaf.endswith((".service", ".scope"))), None)
