"""Run records: what was done to a site, by whom, when, with what end; written as it goes, so that nothing is lost."""

import getpass
import json
import os
import secrets
import shutil
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from stackctl import paths
from stackctl.apply.events import Event, Outcome, TaskBegan, TaskEnded
from stackctl.apply.lock import ProcessId
from stackctl.errors import InputError

Status = Literal["running", "done", "failed", "refused", "interrupted", "died"]
"""``died``: the process that wrote the record ended without a word (killed, or the machine lost power)."""

KEEP = 100
"""How many runs of a site are kept when a new one begins."""

_HEAD, _TASKS = "run.json", "tasks.jsonl"


@dataclass(frozen=True)
class TaskLine:
    """One task on one host, as a record keeps it; ``outcome`` is None for a task that had not ended."""

    at: float
    host: str
    play: str
    role: str
    task: str
    outcome: Outcome | None
    seconds: float
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Run:
    """The head of a run record. Times are seconds since the epoch."""

    id: str
    site: str
    kind: str
    who: str
    began: float
    status: Status
    ended: float | None = None
    resumed_from: str | None = None
    """The id of the run that did not come to its end and that this one goes on with."""
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    plans: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The digest of the storage plan, by host."""
    errors: tuple[str, ...] = ()
    process: ProcessId | None = None
    worker: ProcessId | None = None
    """The Ansible that works for this run."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, as they lie in the record."""
        return {
            "id": self.id,
            "site": self.site,
            "kind": self.kind,
            "who": self.who,
            "began": self.began,
            "status": self.status,
            "ended": self.ended,
            "resumed_from": self.resumed_from,
            "options": dict(self.options),
            "plans": dict(self.plans),
            "errors": list(self.errors),
            "process": self.process.to_json() if self.process else None,
            "worker": self.worker.to_json() if self.worker else None,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Run":
        """Read a head; the status of a run whose process is gone becomes ``died``. Raises KeyError, ValueError."""
        status = value["status"]
        if status not in get_args(Status):
            raise ValueError(f"unknown status {status!r}")
        process = ProcessId.from_json(value.get("process"))
        if status == "running" and not (process and process.alive()):
            status = "died"
        return cls(
            id=value["id"],
            site=value["site"],
            kind=value["kind"],
            who=value["who"],
            began=float(value["began"]),
            status=status,
            ended=value.get("ended"),
            resumed_from=value.get("resumed_from"),
            options=value.get("options") or {},
            plans=value.get("plans") or {},
            errors=tuple(value.get("errors") or ()),
            process=process,
            worker=ProcessId.from_json(value.get("worker")),
        )


class Recorder:
    """Writes the record of the run that is under way. ``finish`` ends it; without that it reads as died."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._folder = paths.state("runs", run.site, run.id)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._tasks = os.fdopen(os.open(self._folder / _TASKS, flags, 0o600), "w", encoding="utf-8")
        self._save()

    @classmethod
    def begin(cls, site: str, kind: str, *, options: Mapping[str, Any] | None = None) -> "Recorder":
        """Begin a record; old ones beyond ``KEEP`` are removed, and an unfinished one before it is linked."""
        runs = read_runs(site)
        before = next((run for run in runs if run.kind == kind), None)
        resumed = before.id if before and before.status in ("interrupted", "failed", "died") else None
        prune(KEEP - 1, site)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        return cls(
            Run(
                id=f"{stamp}-{secrets.token_hex(2)}",
                site=site,
                kind=kind,
                who=_who(),
                began=time.time(),
                status="running",
                resumed_from=resumed,
                options=options or {},
                process=ProcessId.mine(),
            )
        )

    def see(self, event: Event) -> None:
        """Keep a task's beginning or end; other events are not kept."""
        if isinstance(event, TaskBegan):
            self._line(event, None, 0.0)
        elif isinstance(event, TaskEnded):
            message = str(event.result.get("msg", "")) if event.bad else ""
            self._line(event, event.outcome, event.seconds, message=message)

    def planned(self, digests: Mapping[str, str]) -> None:
        """Keep the digest of each host's storage plan."""
        self._change(plans=dict(digests))

    def works(self, worker: ProcessId | None) -> None:
        """Keep which process works for this run."""
        self._change(worker=worker)

    def fail(self, errors: Sequence[str]) -> None:
        """Keep what went wrong; the run goes on to its end."""
        if errors:
            self._change(errors=(*self.run.errors, *errors))

    def finish(self, status: Status, errors: Sequence[str] = ()) -> Run:
        """End the record."""
        self._tasks.close()
        self._change(status=status, errors=tuple(errors), ended=time.time())
        return self.run

    def _line(self, event: TaskBegan | TaskEnded, outcome: Outcome | None, seconds: float, message: str = "") -> None:
        line = {
            "at": event.at,
            "id": event.task.id,
            "host": event.host,
            "play": event.task.play,
            "role": event.task.role,
            "task": event.task.name,
            "outcome": outcome,
            "seconds": round(seconds, 3),
            "message": message,
        }
        self._tasks.write(json.dumps(line) + "\n")
        self._tasks.flush()

    def _change(self, **values: Any) -> None:
        self.run = replace(self.run, **values)
        self._save()

    def _save(self) -> None:
        temporary = self._folder / f".{_HEAD}"
        with os.fdopen(
            os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as head:
            json.dump(self.run.to_json(), head, indent=2)
            head.flush()
            os.fsync(head.fileno())
        temporary.replace(self._folder / _HEAD)


def read_runs(site: str | None = None) -> list[Run]:
    """The heads of all runs of a site, or of all sites, the newest first; what cannot be read is left out."""
    runs = list(_heads(site))
    return sorted(runs, key=lambda run: (run.began, run.id), reverse=True)


def find_run(name: str, site: str | None = None) -> Run:
    """The run with this id, or with an id that only it begins with; ``last`` is the newest.

    Raises InputError when there is none, or more than one.
    """
    runs = read_runs(site)
    found = runs[:1] if name == "last" else [run for run in runs if run.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    what = f"{name}: {len(found)} runs begin with it" if found else f"there is no run {name}"
    raise InputError(what, hint="`stackctl runs` lists the runs and their ids")


def read_tasks(run: Run) -> list[TaskLine]:
    """The tasks of a run in the order of their ends; those that never ended come last."""
    ended: list[TaskLine] = []
    open_tasks: dict[tuple[str, str], TaskLine] = {}
    for value in _lines(paths.state("runs", run.site) / run.id / _TASKS):
        key = (value["id"], value["host"])
        line = TaskLine(
            at=value["at"],
            host=value["host"],
            play=value["play"],
            role=value["role"],
            task=value["task"],
            outcome=value["outcome"],
            seconds=value["seconds"],
            message=value.get("message", ""),
        )
        if line.outcome is None:
            open_tasks[key] = line
        else:
            open_tasks.pop(key, None)
            ended.append(line)
    return ended + list(open_tasks.values())


def counts(tasks: Sequence[TaskLine]) -> Counter[str]:
    """How many tasks had each outcome; those that never ended count as ``unfinished``."""
    return Counter(task.outcome or "unfinished" for task in tasks)


def prune(keep: int, site: str | None = None) -> list[Run]:
    """Remove all but the newest ``keep`` runs of a site, or of each site; a run under way stays."""
    removed = []
    by_site: dict[str, list[Run]] = {}
    for run in read_runs(site):
        by_site.setdefault(run.site, []).append(run)
    for runs in by_site.values():
        for run in runs[max(keep, 0) :]:
            if run.status != "running":
                shutil.rmtree(paths.state("runs", run.site) / run.id)
                removed.append(run)
    return removed


def _heads(site: str | None) -> Iterator[Run]:
    for head in paths.state("runs").glob(f"{site or '*'}/*/{_HEAD}"):
        try:
            yield Run.from_json(json.loads(head.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The lines of a record; a last line that a power cut tore is left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _who() -> str:
    try:
        user = os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
