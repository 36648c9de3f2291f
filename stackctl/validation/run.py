"""Runs the suites against the hosts of an inventory, several hosts at a time, and makes the report."""

import queue
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackctl import console
from stackctl.errors import InputError, StackctlError
from stackctl.units import format_seconds
from stackctl.validation import inventory, results, roles
from stackctl.validation.child import PytestProcess
from stackctl.validation.inventory import Target
from stackctl.validation.results import Check, Outcome, Report
from stackctl.validation.roles import Suite

AT_ONCE = 8
"""Hosts that are checked at the same time."""

_DONE, _FAULTS, _INTERRUPTED, _USAGE, _NO_MATCH = 0, 1, 2, 4, 5
"""pytest's exit codes; it counts as interrupted, too, when the plugin stops it."""


def validate(
    inventory_file: Path,
    site: str,
    *,
    hosts: Sequence[str] = (),
    suites: Sequence[str] = (),
    keyword: str | None = None,
    crash: bool = False,
) -> Report:
    """Run the suites against the hosts, all of both unless some are named; tells its progress on stderr.

    ``keyword`` is an expression of pytest's ``-k``; with ``crash`` services are killed to see them come back.
    Raises InputError when the selection leaves nothing to check.
    """
    began = time.monotonic()
    selected = roles.chosen(suites)
    runs = [
        HostRun(target, mine, narrowed=keyword is not None)
        for target in inventory.select(inventory.read(inventory_file), hosts)
        if (mine := tuple(suite for suite in selected if suite.is_for(target)))
    ]
    if not runs:
        raise InputError("there is nothing to check: no selected host carries a selected role")
    with console.step(f"validate {site}: {len(runs)} {'host' if len(runs) == 1 else 'hosts'}"):
        _run_all(runs, keyword, crash)
    if all(run.nothing_matched for run in runs):
        raise InputError(f"no check matches -k {keyword!r}")
    return Report(
        site,
        tuple(check for run in runs for check in run.all_checks()),
        {run.target.name: run.unreachable for run in runs if run.unreachable is not None},
        time.monotonic() - began,
    )


@dataclass
class HostRun:
    """The course of one host's checks."""

    target: Target
    suites: tuple[Suite, ...]
    narrowed: bool
    checks: list[Check] = field(default_factory=list)
    collected: Mapping[str, int] = field(default_factory=dict)
    unreachable: str | None = None
    broken: str | None = None
    nothing_matched: bool = False

    def take(self, event: Mapping[str, Any]) -> None:
        """Take in one event; InputError or StackctlError where pytest could not do its work."""
        match event["event"]:
            case "collected":
                self.collected = event["roles"]
            case "result":
                self.checks.append(Check.from_json(event["check"]))
            case "unreachable":
                self.unreachable = event["why"]
            case "broken":
                self.broken = event["text"]
            case "ended" if event["code"] is not None:
                self._end(event["code"], event["said"])

    def _end(self, code: int, said: str) -> None:
        """How pytest ended; InputError or StackctlError where that is no result of checks."""
        if code == _USAGE:
            raise InputError(f"pytest does not understand the selection: {_error_of(said)}")
        if self.broken is not None:
            raise StackctlError(f"a suite cannot be loaded: {self.broken}")
        self.nothing_matched = code == _NO_MATCH
        stopped = code == _INTERRUPTED and self.unreachable is not None
        if code not in {_DONE, _FAULTS, _NO_MATCH} and not stopped:
            raise StackctlError(f"{self.target.name}: pytest ended with {code}: {_error_of(said)}")

    def all_checks(self) -> tuple[Check, ...]:
        """The checks, and a fault for every suite that made none; with ``-k`` only what it selects is due."""
        if self.unreachable is not None:
            return tuple(self.checks)
        due = [suite.name for suite in self.suites if not self.narrowed or self.collected.get(suite.name)]
        return (*self.checks, *results.empty_suites(self.target.name, due, self.checks))


def _run_all(runs: Sequence[HostRun], keyword: str | None, crash: bool) -> None:
    told: queue.SimpleQueue[tuple[HostRun, Mapping[str, Any]]] = queue.SimpleQueue()
    children: list[PytestProcess] = []

    def go(run: HostRun) -> None:
        ended: dict[str, Any] = {"event": "ended", "code": None, "said": ""}
        try:
            child = PytestProcess(run.target, run.suites, keyword, crash)
            children.append(child)
            for event in child.events():
                told.put((run, event))
            ended["code"], ended["said"] = child.end()
        finally:
            told.put((run, ended))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(go, run) for run in runs]
        try:
            left = len(runs)
            while left:
                run, event = told.get()
                run.take(event)
                _narrate(run, event)
                left -= event["event"] == "ended"
            for future in futures:
                future.result()
        finally:
            for future in futures:
                future.cancel()
            for child in children:
                child.stop()


def _narrate(run: HostRun, event: Mapping[str, Any]) -> None:
    """A line for each fault when it is found, and one for each suite when it ends."""
    host = run.target.name
    if event["event"] == "unreachable":
        console.note(f"✗ {event['why'].splitlines()[0]}", style="red")
    if event["event"] != "result":
        return
    check = Check.from_json(event["check"])
    if check.outcome is Outcome.FAILED:
        console.note(f"✗ {host} {check.role}: {check.title}", style="red")
    mine = [one for one in run.checks if one.role == check.role]
    if len(mine) != run.collected.get(check.role):
        return
    failed = sum(1 for one in mine if one.outcome is Outcome.FAILED)
    counted = f"{failed} of {len(mine)} checks failed" if failed else f"{len(mine)} checks"
    took = format_seconds(sum(one.seconds for one in mine))
    console.note(
        f"{'✗' if failed else '✓'} {host} {check.role}: {counted}, {took}", style="red" if failed else "green"
    )


def _error_of(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith(("ERROR", "INTERNALERROR"))]
    return (errors or lines or ["it said nothing"])[-1]
