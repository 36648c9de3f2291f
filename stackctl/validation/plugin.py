"""The pytest plugin behind `stackctl validate`: the server to check comes in on stdin, events go out on stdout.

Each line of stdout is one JSON object whose key ``event`` is collected, result, unreachable or broken.
Whatever else is printed goes to stderr.
"""

import json
import os
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pytest

from stackctl.validation.connection import UnreachableError
from stackctl.validation.inventory import Target
from stackctl.validation.results import Check, Outcome

TARGETS = pytest.StashKey[tuple[Target, ...]]()
"""The servers that the suites run against; the suites' own conftest fills it in a plain run of pytest."""


def pytest_configure(config: pytest.Config) -> None:
    order = json.load(sys.stdin)
    config.stash[TARGETS] = (Target.from_json(order["target"]),)
    sys.stdout.flush()
    events = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    config.pluginmanager.register(Reporter(order["target"]["name"], events), "stackctl-events")


@dataclass
class _Course:
    """How one check goes: its phases' time and its outcome so far."""

    outcome: Outcome = Outcome.PASSED
    seconds: float = 0.0
    detail: str = ""


@dataclass
class Reporter:
    """Turns pytest's reports into events."""

    host: str
    events: TextIO
    courses: dict[str, _Course] = field(default_factory=dict)

    def emit(self, event: str, **values: Any) -> None:
        self.events.write(json.dumps({"event": event, **values}) + "\n")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.emit("broken", text=f"{report.nodeid}: {report.longreprtext}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        counts: dict[str, int] = {}
        for item in session.items:
            counts[suite_of(item.path)] = counts.get(suite_of(item.path), 0) + 1
        self.emit("collected", roles=counts)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        course = self.courses.setdefault(item.nodeid, _Course())
        course.seconds += report.duration
        failure = call.excinfo.value if call.excinfo else None
        if failure is not None:
            if isinstance(failure, UnreachableError):
                self.emit("unreachable", why=str(failure))
                item.session.shouldstop = "unreachable"
                return report
            course.detail = in_plain_words(failure, setup=report.when == "setup")
            course.outcome = Outcome.NOT_SHOWN if report.skipped else Outcome.FAILED
        if report.when == "teardown":
            del self.courses[item.nodeid]
            if not item.session.shouldstop:
                self.emit("result", check=self.check(item, course).to_json())
        return report

    def check(self, item: pytest.Item, course: _Course) -> Check:
        name = getattr(item, "originalname", item.name).removeprefix("test_")
        return Check(
            self.host,
            suite_of(item.path),
            name,
            title_of(item),
            course.outcome,
            round(course.seconds, 3),
            course.detail,
        )


def suite_of(module: Path) -> str:
    """The name of the suite that a module holds."""
    return module.stem.removeprefix("test_")


def title_of(item: pytest.Item) -> str:
    """The check in plain words: the first line of its docstring."""
    said = (getattr(getattr(item, "function", None), "__doc__", None) or "").strip()
    return said.splitlines()[0].rstrip(".") if said else item.name


def in_plain_words(failure: BaseException, *, setup: bool) -> str:
    """What a failed or skipped check says, without a traceback."""
    if isinstance(failure, pytest.skip.Exception | pytest.fail.Exception):
        return str(failure.msg)
    if isinstance(failure, AssertionError):
        return str(failure) or "an assertion without words failed"
    said = f"{type(failure).__name__}: {failure}"
    return f"the check could not be made: {failure or said}" if setup else said
