"""One run at a time on a site: a lock that tells who holds it and that a dead holder cannot keep."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackctl import paths
from stackctl.errors import StackctlError
from stackctl.units import format_seconds


@dataclass(frozen=True)
class ProcessId:
    """A process, told apart from a later one that has the same number."""

    pid: int
    birth: str
    """The boot of the machine and the clock tick at which the process began."""

    @classmethod
    def of(cls, pid: int) -> "ProcessId | None":
        """The process that has this number now; None when there is none, or only its corpse."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        except OSError:
            return None
        return None if fields[0] in "ZX" else cls(pid, f"{boot}:{fields[19]}")

    @classmethod
    def mine(cls) -> "ProcessId":
        """This process."""
        return cls.of(os.getpid()) or cls(os.getpid(), "")

    @classmethod
    def from_json(cls, value: Any) -> "ProcessId | None":
        """Read back what ``to_json`` gave; None for anything else."""
        try:
            return cls(int(value["pid"]), str(value["birth"]))
        except (KeyError, TypeError, ValueError):
            return None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"pid": self.pid, "birth": self.birth}

    def alive(self) -> bool:
        """True while this very process runs."""
        return ProcessId.of(self.pid) == self


@contextmanager
def site_lock(site: str, what: str) -> Iterator[None]:
    """Hold the lock of a site while ``what`` (a run's id) is done.

    The kernel drops the lock with its holder, so none is ever stale; the file only says who holds it.
    Raises StackctlError when another process holds it, naming the process and since when.
    """
    path = paths.state("runs", site) / "lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StackctlError(
                f"another run is working on the site {site}: {_holder(path)}",
                hint="wait until it ends, or stop it with Ctrl-C where it runs; `stackctl runs` lists it",
            ) from None
        says = {**ProcessId.mine().to_json(), "since": time.time(), "what": what}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(says).encode(), 0)
        yield
    finally:
        os.close(handle)


def _holder(path: Path) -> str:
    try:
        says = json.loads(path.read_text(encoding="utf-8"))
        return f"{says['what']}, process {says['pid']}, for {format_seconds(time.time() - says['since'])}"
    except (OSError, ValueError, KeyError, TypeError):
        return "a process that has only just begun"
