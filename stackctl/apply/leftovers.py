"""Processes that a run left behind: they are found by its private folder, which their command lines name."""

import contextlib
import os
import signal
import time
from pathlib import Path

from stackctl.apply.lock import ProcessId

_GRACE = 5.0
"""Seconds that such a process gets between SIGTERM and SIGKILL."""


def end_leftovers(folder: Path) -> None:
    """End what still works for the run of a private folder.

    ansible-playbook's children have sessions of their own (mitogen's multiplexer ignores Ctrl-C, too), so neither
    a signal to the group nor the end of ansible-playbook is sure to reach them. Waits until they are gone.
    """
    until = time.monotonic() + _GRACE
    told: set[ProcessId] = set()
    while left := _naming(folder):
        late = time.monotonic() > until
        for process in left if late else left - told:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL if late else signal.SIGTERM)
        told |= left
        if time.monotonic() > until + _GRACE:
            return  # asleep in the kernel: it ends when it wakes
        time.sleep(0.05)


def _naming(folder: Path) -> set[ProcessId]:
    """Our other processes with an argument that is the folder or lies in it."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if entry.stat().st_uid != os.geteuid():
                continue
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        if any(_lies_in(os.fsdecode(word), str(folder)) for word in words):
            process = ProcessId.of(int(entry.name))
            if process is not None:
                found.add(process)
    return found


def _lies_in(word: str, folder: str) -> bool:
    path = word.removeprefix("@")  # ansible-playbook's sign for a file of variables
    return path == folder or path.startswith(f"{folder}/")
