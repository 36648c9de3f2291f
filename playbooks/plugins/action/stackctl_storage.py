"""Inspect, plan, apply, read back: the action that runs on the controller and calls the two modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from stackctl.apply.disks import Cycle, ModuleError


class ActionModule(ActionBase):
    """A thin door to ``stackctl.apply.disks``."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the cycle; its result is the task's."""
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        _, arguments = self.validate_argument_spec(
            argument_spec={
                "layout": {"type": "dict", "required": True},
                "wipe": {"type": "list", "elements": "str", "default": []},
                "expected_digest": {"type": "str"},
                "survey": {"type": "path"},
                "state": {"type": "str", "choices": ["planned", "applied"], "default": "applied"},
            }
        )

        def module(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
            said: dict[str, Any] = self._execute_module(module_name=name, module_args=values, task_vars=task_vars)
            if said.get("failed") or said.get("unreachable"):
                raise ModuleError(said)
            return said

        host = task_vars.get("inventory_hostname")
        if not host:
            raise AnsibleActionFail("the host has no inventory_hostname")
        cycle = Cycle(str(host), arguments, module)
        result = cycle.run(change=arguments["state"] == "applied" and not self._task.check_mode)
        for warning in cycle.warnings:
            Display().warning(f"{host}: {warning}")
        return result
