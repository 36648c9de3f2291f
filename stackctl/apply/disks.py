"""The storage cycle on one server: inspect, plan, refuse or apply, inspect again, read back."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stackctl.errors import InputError, RefusedError, StackctlError
from stackctl.hardware.machine import Machine
from stackctl.site.models import Layout
from stackctl.storage import readback, steps
from stackctl.storage.ownership import MissingToolError
from stackctl.storage.plan import Plan
from stackctl.storage.planner import plan as make_plan

Module = Callable[[str, Mapping[str, Any]], dict[str, Any]]
"""Runs an Ansible module on the server; raises ModuleError when it fails."""

_ROUNDS = 3
"""A plan may only bring to light what is there (an array to assemble, a group to activate) before the rest."""


class ModuleError(Exception):
    """A module has failed; ``result`` is what it said."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(result.get("msg", ""))
        self.result = result


class Cycle:
    """One run; ``arguments`` are the task's: ``layout``, ``wipe``, ``expected_digest``, ``survey``."""

    def __init__(self, host: str, arguments: Mapping[str, Any], module: Module) -> None:
        self._host = host
        self._arguments = arguments
        self._module = module
        self.warnings: list[str] = []
        self._done: list[dict[str, Any]] = []
        self._result: dict[str, Any] = {"changed": False, "complete": False, "missing": []}

    def run(self, *, change: bool) -> dict[str, Any]:
        """The task's result; failures stand in it, with hint and exit code."""
        try:
            self._run(change=change)
        except ModuleError as failure:
            self._result |= failure.result
            self._done += failure.result.get("steps", [])
            self._result |= {"steps": self._done, "changed": any(step["changed"] for step in self._done)}
        except StackctlError as failure:
            self._result |= {"failed": True, "msg": failure.message, "stackctl_exit": int(failure.code)}
            if failure.hint:
                self._result["stackctl_hint"] = failure.hint
        return self._result

    def _run(self, *, change: bool) -> None:
        layout = _layout(self._arguments["layout"])
        for number in range(_ROUNDS):
            machine = (None if change else self._surveyed()) or self._inspect(layout)
            try:
                plan = make_plan(self._host, layout, machine, frozenset(self._arguments.get("wipe") or ()))
            except MissingToolError:
                if change:
                    raise
                return
            self._check_digest(plan, first=number == 0)
            if number == 0:
                self._show(plan)
            if not plan.steps:
                self._read_back(layout, machine, plan)
                self._result["complete"] = True
                return
            if not change:
                self._result["changed"] = True
                return
            self._carry_out(plan)
        raise StackctlError(
            "there is still something left to do, and it should not be", hint="look at it: stackctl plan"
        )

    def _surveyed(self) -> Machine | None:
        """What the main job found on this server a moment ago; only for looking, never before a change."""
        folder = self._arguments.get("survey")
        file = Path(folder) / f"{self._host}.json" if folder else None
        if file is None or not file.is_file():
            return None
        machine = Machine.from_facts(json.loads(file.read_text(encoding="utf-8")))
        self._result["missing"] = list(machine.missing)
        return machine

    def _inspect(self, layout: Layout) -> Machine:
        paths = list(layout.mounts.values())
        machine = Machine.from_facts(self._module("stackctl_inspect", {"paths": paths})["facts"])
        self._result["missing"] = list(machine.missing)
        return machine

    def _check_digest(self, plan: Plan, *, first: bool) -> None:
        expected = self._arguments.get("expected_digest")
        if not expected:
            return
        if first and plan.digest != expected:
            raise RefusedError(
                f"what is to be done has changed since it was confirmed (plan {plan.digest}, confirmed {expected})",
                hint="plan again, and look at what is different",
            )
        if not first and plan.destroys:
            raise RefusedError("what came to light would have to be destroyed, which was not confirmed")

    def _show(self, plan: Plan) -> None:
        lines = [
            line for step in plan.steps for line in (step.title, *(f"  {steps.shown(c)}" for c in step.commands))
        ]
        self._result |= {"plan": plan.to_json(), "digest": plan.digest}
        if lines:
            self._result["diff"] = {"prepared": "".join(f"+ {line}\n" for line in lines)}

    def _carry_out(self, plan: Plan) -> None:
        said = self._module("stackctl_storage_apply", {"plan": plan.to_json()})
        self._done += said["steps"]
        self._result |= {"steps": self._done, "changed": any(step["changed"] for step in self._done)}

    def _read_back(self, layout: Layout, machine: Machine, plan: Plan) -> None:
        findings = readback.check(layout, machine)
        self._result["findings"] = [finding.to_json() for finding in findings]
        self.warnings += plan.notes
        if plan.notes:
            return
        if wrong := readback.faults(findings):
            raise StackctlError(
                "the layout was read back, and is not as it should be:\n"
                + "\n".join(f"  {found}" for found in wrong),
                hint="nothing is done about it by itself; stackctl validate shows it again",
            )


def _layout(plain: Mapping[str, Any]) -> Layout:
    """The layout in an Ansible variable; the inventory adds its ``name``."""
    try:
        return Layout.model_validate({key: value for key, value in plain.items() if key != "name"})
    except ValidationError as failure:
        wrong = "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in failure.errors())
        raise InputError(f"storage_layout: {wrong}", hint="write it as in stack.yml's `layouts`") from failure
