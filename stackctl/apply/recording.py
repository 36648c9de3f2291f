"""A run from its beginning to its end: the site's lock is held, a record is kept, its status tells how it ended."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from stackctl import console
from stackctl.apply.lock import ProcessId, site_lock
from stackctl.apply.records import Recorder, read_runs
from stackctl.errors import ExitCode, StackctlError

_LEFTOVER_GRACE = 30.0
"""Seconds that an Ansible without its stackctl gets to end when it is told to."""


@contextmanager
def recorded(site: str, kind: str, *, options: Mapping[str, Any] | None = None) -> Iterator[Recorder]:
    """Hold the lock of a site and keep the record of a run while the block works.

    Raises StackctlError when another run holds the lock, or an Ansible of a dead run does not end.
    """
    with site_lock(site, kind):
        _end_leftover(site)
        recorder = Recorder.begin(site, kind, options=options)
        try:
            yield recorder
        except KeyboardInterrupt:
            recorder.finish("interrupted")
            raise
        except StackctlError as failure:
            recorder.finish("refused" if failure.code is ExitCode.REFUSED else "failed", [failure.message])
            raise
        except BaseException as failure:
            recorder.finish("failed", [repr(failure)])
            raise
        recorder.finish("failed" if recorder.run.errors else "done", recorder.run.errors)


def _end_leftover(site: str) -> None:
    """End the Ansible of a run that was killed: it may still be at work on the servers."""
    last = next(iter(read_runs(site)), None)
    if last is None or last.status != "died" or last.worker is None or not last.worker.alive():
        return
    console.note(
        f"the run {last.id} died and left its Ansible (process {last.worker.pid}) at work; ending that first"
    )
    _tell(last.worker, signal.SIGINT)
    until = time.monotonic() + _LEFTOVER_GRACE
    while last.worker.alive():
        if time.monotonic() > until:
            _tell(last.worker, signal.SIGKILL)
            if time.monotonic() > until + 5:
                raise StackctlError(
                    f"the process {last.worker.pid} of the dead run {last.id} does not end", hint="end it by hand"
                )
        time.sleep(0.1)


def _tell(process: ProcessId, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)
