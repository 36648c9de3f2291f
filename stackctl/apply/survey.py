"""What is left to do on the disks of a site: every server is looked at and planned before the first is changed."""

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackctl.apply.facts import Facts, collect
from stackctl.apply.records import Recorder
from stackctl.errors import ExitCode, InputError, StackctlError
from stackctl.hardware.machine import Machine
from stackctl.site.load import OpenSite
from stackctl.storage.ownership import MissingToolError
from stackctl.storage.plan import Plan
from stackctl.storage.planner import plan


class PlanError(StackctlError):
    """Servers whose disks cannot be planned, or must not be touched."""

    def __init__(self, problems: Mapping[str, StackctlError]) -> None:
        super().__init__("\n".join(f"{host}: {problem}" for host, problem in problems.items()))
        codes = {problem.code for problem in problems.values()}
        self.code = codes.pop() if len(codes) == 1 else ExitCode.FAILED


@dataclass(frozen=True)
class Survey:
    """The plans of the servers with a layout, and why some have none."""

    plans: Mapping[str, Plan]
    problems: Mapping[str, StackctlError]
    facts: Mapping[str, Facts] = field(default_factory=dict, repr=False)
    """What was found, by host, as the node's collector gives it."""

    @property
    def pending(self) -> tuple[Plan, ...]:
        """The plans that have steps left."""
        return tuple(plan for plan in self.plans.values() if plan.steps)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The servers that lack a program without which nobody can tell what is on their disks."""
        return tuple(host for host, problem in self.problems.items() if isinstance(problem, MissingToolError))

    @property
    def digests(self) -> dict[str, str]:
        """What the operator agrees to, by host."""
        return {host: plan.digest for host, plan in self.plans.items()}

    def write(self, folder: Path) -> None:
        """Write the facts of every server to HOST.json in a folder, for its owner's eyes only."""
        for host, facts in self.facts.items():
            with os.fdopen(os.open(folder / f"{host}.json", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                json.dump(facts, file)

    def check(self) -> None:
        """Raise PlanError when any server cannot be planned."""
        if self.problems:
            raise PlanError(self.problems)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "hosts": {host: {"digest": plan.digest, **plan.to_json()} for host, plan in self.plans.items()},
            "refused": {
                host: {"message": problem.message, "hint": problem.hint, "code": int(problem.code)}
                for host, problem in self.problems.items()
            },
        }


def survey(
    open_site: OpenSite,
    *,
    wipe: Collection[str] = (),
    limit: str | None = None,
    recorder: Recorder | None = None,
    verbosity: int = 0,
) -> Survey:
    """Look at the servers that have a layout and plan what is left to do on each.

    ``wipe`` holds the serial numbers of disks that may lose what they hold. Raises RunError when a server cannot
    be looked at, InputError when no server has a disk that ``wipe`` names; what a planner refuses is in the survey.
    """
    if not any(host.layout for host in open_site.site.hosts.values()):
        facts: dict[str, Facts] = {}
    else:
        facts = collect(open_site, limit, hosts="storage", recorder=recorder, verbosity=verbosity)
    machines = {host: Machine.from_facts(found) for host, found in facts.items()}
    _check_serials(wipe, machines)
    plans, problems = {}, {}
    for host, machine in machines.items():
        layout = open_site.site.layout_of(host)
        if layout is None:
            continue
        try:
            plans[host] = plan(host, layout, machine, frozenset(wipe))
        except StackctlError as problem:
            problems[host] = problem
    return Survey(plans, problems, facts)


def _check_serials(wipe: Collection[str], machines: Mapping[str, Machine]) -> None:
    for serial in wipe:
        if not any(machine.disk(serial) for machine in machines.values()):
            known = ", ".join(disk.key for machine in machines.values() for disk in machine.disks if disk.key)
            raise InputError(
                f"--wipe {serial}: no server looked at has a disk with this serial number", hint=f"there are {known}"
            )
