"""Asks ssh itself why a server cannot be reached, where Ansible's words do not tell."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stackctl import paths
from stackctl.apply.environment import CONNECT_TIMEOUT, ansible_environment, ssh_arguments
from stackctl.apply.events import TaskEnded
from stackctl.errors import StackctlError
from stackctl.process import Runner, SystemRunner

_VAGUE = re.compile(
    r"SSH password was requested|SSH authentication is incorrect|"
    r"unrecognized or mismatching host key|Broken pipe|EOF on stream[^\n]*\s*$",
    re.IGNORECASE,
)


def is_vague(event: TaskEnded) -> bool:
    """True for a server that was not reached for a reason that could be several."""
    return event.outcome == "unreachable" and bool(_VAGUE.search(str(event.result.get("msg", ""))))


def variables_of(host: str, inventory: Path, runner: Runner | None = None) -> Mapping[str, Any]:
    """The variables of a host as Ansible itself sees them, with what host_vars and group_vars say."""
    argv = [paths.program("ansible-inventory"), "-i", str(inventory), "--host", host]
    result = (runner or SystemRunner()).run(argv, check=False, env=ansible_environment(fast=False))
    try:
        variables: Mapping[str, Any] = json.loads(result.stdout)
    except ValueError:
        return {}
    return variables


def ssh_argv(variables: Mapping[str, Any], *options: str, command: Sequence[str] = ("true",)) -> list[str]:
    """The ssh that runs a command on a host, from its Ansible variables; no kept connection is used.

    ``options`` are ssh's own; the words of ``command`` are put together by the host's shell.
    """
    # of an option that is given twice, ssh takes the first
    argv = ["ssh", "-o", "ControlMaster=no", "-o", "ControlPath=none"]
    argv += shlex.split(" ".join(ssh_arguments()))
    argv += shlex.split(str(variables.get("ansible_ssh_common_args") or ""))
    if key := variables.get("ansible_ssh_private_key_file"):
        argv += ["-i", str(key)]
    argv += ["-p", str(variables.get("ansible_port") or 22)]
    if user := variables.get("ansible_user"):
        argv += ["-l", str(user)]
    return [*argv, *options, str(variables["ansible_host"]), *command]


def reason(variables: Mapping[str, Any], runner: Runner | None = None) -> str:
    """What ssh says when it logs in to the host of these variables; empty when it gets in after all."""
    try:
        result = (runner or SystemRunner()).run(ssh_argv(variables), check=False, timeout=CONNECT_TIMEOUT + 10)
    except StackctlError as failure:
        return failure.message
    return result.stderr if result.returncode else ""
