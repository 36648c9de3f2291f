"""Carries out a plan on this server: a last look at every disk, then step by step, each only where it is needed."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import locks
from .collect import collect
from .devices import Devices
from .errors import NodeError
from .kinds import KINDS, Context, Step
from .process import ProcessError
from .system import System

LOCK = "/run/stackctl/storage.lock"
PROGRESS = "/run/stackctl/storage.progress"
"""A line of JSON for every beginning and end of a step of the last run; for whoever watches or comes after."""

_ALONE = ("blockdev", "sfdisk")
"""Programs that fail while udev is still looking at what was written before; so does stopping an array."""

_AGAIN = "run the same command again: it goes on from what is there"


@dataclass
class Outcome:
    """What was done, step by step; ``changed`` and ``seconds`` each."""

    steps: list[dict[str, Any]] = field(default_factory=list)

    def to_result(self) -> dict[str, Any]:
        """The keyword arguments of an Ansible module's ``exit_json``."""
        return {"changed": any(step["changed"] for step in self.steps), "steps": self.steps}


def execute(plan: Mapping[str, Any], system: System | None = None, outcome: Outcome | None = None) -> Outcome:
    """Carry out ``plan`` (its JSON); ``outcome`` fills as it goes, also where it ends with an error.

    Raises NodeError: of kind ``refused`` before anything is written, when a disk is not what the plan saw.
    """
    system = system or System()
    outcome = outcome or Outcome()
    lock = system.path(LOCK)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with locks.held(lock, "the storage of this server", 0):
        context = Context(system, recognise(plan["disks"], system))
        for step in plan["steps"]:
            _kind(step)
        for step in plan["steps"]:
            KINDS[step["kind"]].check(step, context)
        progress = _Progress(system.path(PROGRESS))
        for step in plan["steps"]:
            outcome.steps.append(_run(step, context, progress))
    return outcome


def recognise(disks: Sequence[Mapping[str, Any]], system: System) -> Devices:
    """Find the plan's disks by serial number or WWN, and make sure that nothing on them has changed.

    Raises NodeError of kind ``refused`` that names every disk that is gone or different.
    """
    facts = collect(system, ask_controllers=False)
    found: dict[str, str] = {}
    problems = []
    for disk in disks:
        key = disk["key"]
        names = [
            described["kname"]
            for described in facts["lsblk"]
            if described["kname"] in facts["fingerprints"] and key in (described.get("serial"), described.get("wwn"))
        ]
        if len(names) != 1:
            problems.append(f"disk {key} is gone" if not names else f"disk {key} is there {len(names)} times")
        elif facts["fingerprints"][names[0]] != disk["fingerprint"]:
            problems.append(f"disk {key} (now {names[0]}) is not what it was when the plan was made")
        else:
            found[key] = names[0]
    if problems:
        raise NodeError(
            "; ".join(problems) + "; nothing was written",
            kind="refused",
            hint="look at the disks (stackctl inspect), then plan again",
        )
    return Devices(system, found, facts["blocks"])


def _kind(step: Step) -> None:
    if step["kind"] not in KINDS:
        raise NodeError(f"step {step['id']}: this server's code knows no step of kind {step['kind']}")


def _run(step: Step, context: Context, progress: "_Progress") -> dict[str, Any]:
    kind = KINDS[step["kind"]]
    began = time.monotonic()
    progress.say(step, "begins")
    try:
        changed = not kind.done(step, context)
        if changed:
            kind.before(step, context)
            if not kind.half_done(step, context):
                _commands(step, context)
            kind.after(step, context)
            if not kind.done(step, context):
                raise NodeError("its commands succeeded, and yet it is not done")
    except (NodeError, ProcessError, OSError) as failure:
        progress.say(step, "failed")
        told = failure.message if isinstance(failure, NodeError) else str(failure)
        kind_of = failure.kind if isinstance(failure, NodeError) else "failed"
        hint = failure.hint if isinstance(failure, NodeError) and failure.hint else _AGAIN
        raise NodeError(f"{step['title']}: {told}", kind=kind_of, hint=hint) from failure
    progress.say(step, "changed" if changed else "ok")
    seconds = round(time.monotonic() - began, 3)
    return {"id": step["id"], "title": step["title"], "changed": changed, "seconds": seconds}


def _commands(step: Step, context: Context) -> None:
    for command in step["commands"]:
        argv = context.devices.argv(command["argv"])
        if argv is not None:
            if argv[0] in _ALONE or "--stop" in argv:
                context.system.settle()
            context.system.runner.run(argv, input=command["input"] or None)


class _Progress:
    """The progress file of one run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.write_text("")

    def say(self, step: Step, event: str) -> None:
        line = {"time": round(time.time(), 3), "step": step["id"], "title": step["title"], "event": event}
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def main() -> int:
    """Carry out the plan on stdin, for use without Ansible; the outcome as JSON on stdout."""
    outcome = Outcome()
    try:
        execute(json.load(sys.stdin), outcome=outcome)
    except NodeError as failure:
        json.dump({**failure.to_result(), "failed": True, **outcome.to_result()}, sys.stdout)
        return 1
    json.dump(outcome.to_result(), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
