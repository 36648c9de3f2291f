"""Runs a playbook on a site under the site's lock, with progress, a record, and faults in plain words."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stackctl import console as terminal
from stackctl.apply import playbook as ansible
from stackctl.apply import reach
from stackctl.apply.environment import mitogen_strategies, shipped_playbook
from stackctl.apply.events import Ended, Event, Said, TaskEnded
from stackctl.apply.faults import Fault, exit_code, fault_of_task, fault_of_text, is_known
from stackctl.apply.lock import ProcessId
from stackctl.apply.playbook import Ending, Play
from stackctl.apply.progress import Progress
from stackctl.apply.recording import recorded
from stackctl.apply.records import Recorder
from stackctl.apply.totals import Totals
from stackctl.errors import ExitCode, StackctlError
from stackctl.site.load import OpenSite
from stackctl.site.overrides import unreadable

_STOPPING = (
    "stopping; what a server is in the middle of may still come to its end there (Ctrl-C again: stop without care)"
)


class RunError(StackctlError):
    """A run that failed; ``faults`` says on which hosts and why."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)
        self.code = exit_code(faults)


@dataclass(frozen=True)
class RunOutcome:
    """What a run of a playbook came to."""

    run_id: str | None
    seconds: float
    totals: Totals
    faults: tuple[Fault, ...]

    @property
    def code(self) -> ExitCode:
        """The exit code of a command that did this run."""
        return exit_code(self.faults)

    @property
    def changed(self) -> bool:
        """True when anything was changed on any host."""
        return bool(self.totals.changes)

    def check(self) -> None:
        """Raise RunError when anything failed."""
        if self.faults:
            raise RunError(self.faults)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "run": self.run_id,
            "seconds": round(self.seconds, 3),
            "status": "failed" if self.faults else "done",
            **self.totals.to_json(),
            "failures": [fault.to_json() for fault in self.faults],
        }


def run_playbook(
    open_site: OpenSite,
    playbook: str = "site.yml",
    *,
    extra_vars: Mapping[str, Any] | None = None,
    check: bool = False,
    limit: str | None = None,
    tags: str | None = None,
    console: bool = True,
    quiet: bool = False,
    verbosity: int = 0,
    recorder: Recorder | None = None,
) -> RunOutcome:
    """Run a playbook that ships on the hosts of a site; faults are in the outcome, not raised.

    ``console`` shows progress on stderr, ``quiet`` less of it; with ``verbosity`` Ansible's own output is shown
    instead. Without a ``recorder`` the run takes the site's lock and keeps a record of its own.
    Raises KeyboardInterrupt when it was told to stop, after Ansible has come to its end.
    """
    path = shipped_playbook(playbook)
    play = Play(path, open_site.file, extra_vars or {}, check=check, limit=limit, tags=tags, verbosity=verbosity)
    if recorder is not None:
        return run(open_site, play, recorder=recorder, show=console, quiet=quiet)
    options = {"check": check, "limit": limit, "tags": tags}
    with recorded(open_site.site.site, path.stem, options=options) as own:
        return run(open_site, play, recorder=own, show=console, quiet=quiet)


def run(
    open_site: OpenSite,
    play: Play,
    *,
    recorder: Recorder | None = None,
    show: bool = True,
    quiet: bool = False,
    watch: Callable[[Event], None] | None = None,
) -> RunOutcome:
    """Run a play; ``recorder`` keeps what happens, ``watch`` sees it. Raises as ``run_playbook`` does."""
    began = time.monotonic()
    seen = _Seen()
    progress = Progress(quiet=quiet)
    watchers: list[Callable[[Event], None]] = [seen.see]
    watchers += [recorder.see] if recorder else []
    watchers += [progress.see] if show and not play.verbosity else []
    watchers += [watch] if watch else []

    def see(event: Event) -> None:
        for watcher in watchers:
            watcher(event)

    def begun(pid: int) -> None:
        if recorder:
            recorder.works(ProcessId.of(pid))

    def once(fast: bool) -> Ending:
        return ansible.run(
            play,
            fast=fast,
            see=see,
            on_start=begun,
            on_text=terminal.note if show and play.verbosity else lambda text: None,
            on_interrupt=lambda: terminal.note(_STOPPING),
        )

    with progress.shown() if show and not play.verbosity else contextlib.nullcontext():
        fast = mitogen_strategies() is not None
        ending = once(fast)
        if fast and not ending.interrupted and seen.mitogen_failed():
            terminal.note("mitogen cannot be used here; going on without it, which takes longer")
            seen.forget()
            ending = once(False)
    if recorder:
        recorder.works(None)
    if ending.interrupted:
        raise KeyboardInterrupt
    faults = seen.faults(ending, open_site)
    if recorder:
        recorder.fail([str(fault) for fault in faults])
    return RunOutcome(recorder.run.id if recorder else None, time.monotonic() - began, seen.totals, faults)


class _Seen:
    """What one run showed, as far as its outcome depends on it."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.totals = Totals()
        self._bad: dict[str, TaskEnded] = {}
        self._ended: Ended | None = None
        self._text: list[str] = []

    def see(self, event: Event) -> None:
        """Keep an event."""
        self.totals.see(event)
        if isinstance(event, TaskEnded) and event.bad:
            self._bad[event.host] = event
        elif isinstance(event, Ended):
            self._ended = event
        elif isinstance(event, Said):
            self._text.append(event.text)

    def mitogen_failed(self) -> bool:
        """True when mitogen itself did not work and nothing has been done yet."""
        if any(count["ok"] + count["changed"] for count in self.totals.hosts.values()):
            return False
        text = "\n".join(self._text)
        if not self.totals.hosts:
            return "ERROR" in text and "mitogen" in text.lower()
        return any("mitogen" in str(event.result).lower() and not is_known(event) for event in self._bad.values())

    def faults(self, ending: Ending, open_site: OpenSite) -> tuple[Fault, ...]:
        """Every fault of the run; a failure that a playbook rescued is none."""
        if ending.code == 0:
            return ()
        broken = self._ended.broken if self._ended else frozenset(self._bad)
        bad = [event for host, event in self._bad.items() if host in broken]
        if not bad:
            return (_located(fault_of_text("\n".join(self._text)), open_site),)
        return tuple(fault_of_task(_explained(event, open_site)) for event in bad)


def _explained(event: TaskEnded, open_site: OpenSite) -> TaskEnded:
    """The same event, with ssh's own words where Ansible's are vague."""
    if not reach.is_vague(event):
        return event
    variables = reach.variables_of(event.host, open_site.file)
    if "ansible_host" not in variables:
        return event
    said = reach.reason(variables)
    return replace(event, result={**event.result, "msg": said}) if said else event


def _located(fault: Fault, open_site: OpenSite) -> Fault:
    """The same fault, with the file and the line where Ansible names none: it does not for files of variables."""
    if fault.code is not ExitCode.USAGE or "YAML" not in fault.message or "(" in fault.message:
        return fault
    problems = unreadable(open_site)
    return replace(fault, message="\n".join(map(str, problems))) if problems else fault
