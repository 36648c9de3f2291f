"""One start of ansible-playbook, by ansible-runner: its events as they come, a clean end on Ctrl-C."""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from stackctl import paths
from stackctl.apply.environment import ansible_environment
from stackctl.apply.events import Event, EventReader
from stackctl.apply.leftovers import end_leftovers
from stackctl.apply.lock import ProcessId

GRACE = 60.0
"""Seconds that Ansible gets to end after Ctrl-C before it is killed."""

_LARGEST_RESULT = 64 << 20
"""Bytes of a module's result that an event may carry; a machine's facts are larger than ansible-runner's default."""


@dataclass(frozen=True)
class Play:
    """What to run, where: a playbook on an inventory."""

    playbook: Path
    inventory: Path
    extra_vars: Mapping[str, Any]
    check: bool = False
    limit: str | None = None
    tags: str | None = None
    verbosity: int = 0

    def flags(self) -> str:
        """The command line's words that ansible-runner has no argument for."""
        return "--check --diff" if self.check else ""


@dataclass(frozen=True)
class Ending:
    """How Ansible ended: its exit code, and whether it was told to stop."""

    code: int
    interrupted: bool


class Interrupts:
    """Passes Ctrl-C, a hang-up and SIGTERM on to Ansible, once politely; the second time, or late, it is killed."""

    def __init__(self, on_first: Callable[[], None]) -> None:
        self._on_first = on_first
        self._since: float | None = None
        self._again = False
        self.worker: int | None = None
        """The process id of ansible-playbook, once known."""

    @property
    def happened(self) -> bool:
        """True once a signal has come."""
        return self._since is not None

    def must_kill(self) -> bool:
        """True when politeness is over, or when Ansible had not even begun."""
        if self._since is None:
            return False
        return self._again or self.worker is None or time.monotonic() - self._since > GRACE

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals; outside of the main thread they stay as they are."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self._come) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _come(self, number: int, frame: FrameType | None) -> None:
        if self._since is not None:
            self._again = True
            return
        self._since = time.monotonic()
        if self.worker is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.worker, signal.SIGINT)
        self._on_first()


def run(
    play: Play,
    *,
    fast: bool,
    see: Callable[[Event], None],
    on_start: Callable[[int], None] = lambda pid: None,
    on_text: Callable[[str], None] = lambda text: None,
    on_interrupt: Callable[[], None] = lambda: None,
) -> Ending:
    """Run a playbook to its end.

    ``see`` gets every event, ``on_text`` what Ansible prints, ``on_start`` the process id of ansible-playbook.
    ``fast`` as in ``ansible_environment``. What ansible-runner writes lies in a private folder and goes with it.
    """
    import ansible_runner  # slow to import, and most commands need none

    interrupts = Interrupts(on_interrupt)
    reader = EventReader()

    def handle(raw: dict[str, Any]) -> bool:
        if interrupts.worker is None and raw.get("pid"):
            interrupts.worker = int(raw["pid"])
            on_start(interrupts.worker)
        event = reader.read(raw)
        if event is not None:
            see(event)
        if raw.get("stdout"):
            on_text(str(raw["stdout"]).replace("\r", ""))
        return False  # no copy of the event on disk

    with private_folder() as private, interrupts.caught():
        ended = ansible_runner.run(
            private_data_dir=str(private),
            playbook=str(play.playbook.resolve()),
            inventory=str(play.inventory.resolve()),
            extravars=dict(play.extra_vars),
            envvars={
                **ansible_environment(fast=fast),
                "MAX_EVENT_RES": str(_LARGEST_RESULT),
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            },
            limit=play.limit,
            tags=play.tags,
            cmdline=play.flags(),
            verbosity=play.verbosity or None,
            settings={"suppress_ansible_output": True, "suppress_output_file": True, "pexpect_timeout": 1},
            fact_cache_type="memory",
            event_handler=handle,
            cancel_callback=interrupts.must_kill,
        )
    return Ending(code=int(ended.rc), interrupted=interrupts.happened)


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for what a run hands to Ansible, which may hold secrets; those that killed runs left are removed.

    What was started with it in its command line ends with it.
    """
    work = paths.state("work")
    sweep(work)
    with tempfile.TemporaryDirectory(prefix=f"{os.getpid()}-", dir=work) as folder:
        try:
            yield Path(folder)
        finally:
            end_leftovers(Path(folder))


def sweep(work: Path) -> None:
    """Remove the folders of processes that are gone, and end what still works for them.

    A folder's name begins with the number of its process.
    """
    for folder in work.iterdir():
        pid = folder.name.partition("-")[0]
        if pid.isdigit() and ProcessId.of(int(pid)) is None:
            end_leftovers(folder)
            shutil.rmtree(folder, ignore_errors=True)
