"""The way to a server: testinfra's backends, with our SSH options and with programs on standard input."""

import shlex
from collections.abc import Callable
from typing import Any

from testinfra.backend.base import BaseBackend, CommandResult
from testinfra.backend.local import LocalBackend
from testinfra.backend.ssh import SshBackend
from testinfra.host import Host

from stackctl.apply.environment import ssh_arguments
from stackctl.errors import StackctlError
from stackctl.process import Result, Runner, SystemRunner
from stackctl.site.variables import LAB_IS_DOWN
from stackctl.validation import shipping
from stackctl.validation.inventory import Target

CONNECT_TIMEOUT = 15
"""Seconds until a server that does not answer counts as unreachable."""

COMMAND_TIMEOUT = 300.0
"""Seconds until a command that does not end is killed."""


class UnreachableError(StackctlError):
    """A server cannot be checked at all: no SSH, no root, no Python."""


class ProbeError(StackctlError):
    """A program of ours failed on the server."""


class _Launched(BaseBackend):
    """Has every process of testinfra started by our launcher, and asks no questions."""

    runner: Runner = SystemRunner()
    encoding = "utf-8"

    def run_local(self, command: str, *args: str) -> CommandResult:
        done = self.launch(self.quote(command, *args), None)
        return self.result(done.returncode, command.encode(), done.stdout, done.stderr)

    def launch(self, command: str, stdin: str | None) -> Result:
        """Run a command line of this machine: words, or shell text where testinfra is local."""
        return self.runner.run(self.words(command), check=False, input=stdin, timeout=COMMAND_TIMEOUT)

    def words(self, command: str) -> list[str]:
        return shlex.split(command)

    def get_sudo_command(self, command: str, sudo_user: str | None) -> str:
        return self.quote("sudo -n /bin/sh -c %s", command)


class SshConnection(_Launched, SshBackend):
    """testinfra's SSH backend: one kept connection, strict host keys."""

    def run_ssh(self, command: str) -> CommandResult:
        line, arguments = self._build_ssh_command(command)
        result = self.run_local(" ".join(line), *arguments)
        if result.rc == 255:
            raise UnreachableError(f"{self.hostname}: {_SSH}: {_last_line(result.stderr)}", hint=_HINTS[_SSH])
        return result

    def feed(self, command: str, stdin: str) -> Result:
        """Run a command on the server with ``stdin`` as its standard input."""
        line, arguments = self._build_ssh_command(self.get_command(command))
        return self.launch(self.quote(" ".join(line), *arguments), stdin)


class LocalConnection(_Launched, LocalBackend):
    """testinfra's local backend, for a server that validates itself (``ansible_connection: local``)."""

    def words(self, command: str) -> list[str]:
        return ["/bin/sh", "-c", command]

    def feed(self, command: str, stdin: str) -> Result:
        """Run a command with ``stdin`` as its standard input."""
        return self.launch(self.get_command(command), stdin)


class Node:
    """A server under check: a testinfra host that also runs programs of ours.

    ``host`` is testinfra's object; ``ask`` runs one of our functions there, as root.
    """

    def __init__(self, target: Target, runner: Runner | None = None) -> None:
        self.target = target
        self.backend = _backend(target)
        if runner is not None:
            self.backend.runner = runner
        self.host = Host(self.backend)
        self.backend.set_host(self.host)

    def ask(self, function: Callable[..., Any], **request: object) -> Any:
        """The answer of ``function(**request)``, run by the server's own Python.

        Raises UnreachableError when the server cannot run it at all, ProbeError when it fails there.
        """
        python = str(self.target.get("ansible_python_interpreter", "/usr/bin/python3"))
        result = self.backend.feed(f"{shlex.quote(python)} -IS -", shipping.program(function, request))
        if result.returncode == 0:
            return shipping.answer(result.stdout)
        name = self.target.name
        if (reason := _no_way_in(result)) is not None:
            raise _unreachable(self.target, reason, result.stderr)
        raise ProbeError(
            f"{name}: {function.__module__.rpartition('.')[2]} failed on the server: {_last_line(result.stderr)}"
        )


_SSH, _ROOT, _PYTHON = "cannot be reached by SSH", "root is not to be had there", "Python does not start there"

_HINTS = {
    _SSH: "check the address, the port and the key; `ssh` by hand with the same options shows more",
    _ROOT: "install sudo and let the user run it without a password, or set `user: root` in the site",
    _PYTHON: "install python3, or set ansible_python_interpreter",
}


def _unreachable(target: Target, reason: str, said: str) -> UnreachableError:
    if str(target.get("ansible_host", "")).endswith(LAB_IS_DOWN):
        return UnreachableError(f"{target.name}: the lab machine is not up", hint="stackctl lab up")
    hint = "stackctl lab status tells whether it is up" if "lab" in target.groups else _HINTS[reason]
    return UnreachableError(f"{target.name}: {reason}: {_last_line(said)}", hint=hint)


def _no_way_in(result: Result) -> str | None:
    said = result.stderr
    if result.returncode == 255:
        return _SSH
    if "sudo:" in said and result.returncode in {1, 127}:
        return _ROOT
    return _PYTHON if result.returncode in {126, 127} else None


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def _backend(target: Target) -> SshConnection | LocalConnection:
    sudo = bool(target.get("ansible_become", False))
    if target.get("ansible_connection", "ssh") == "local":
        return LocalConnection(sudo=sudo)
    address = str(target.get("ansible_host", target.name))
    user, port = target.get("ansible_user"), target.get("ansible_port")
    spec = f"[{address}]" if ":" in address else address
    if port:
        spec = f"{spec}:{port}"
    if user:
        spec = f"{user}@{spec}"
    return SshConnection(
        spec,
        sudo=sudo,
        ssh_identity_file=target.get("ansible_ssh_private_key_file") or target.get("ansible_private_key_file"),
        ssh_extra_args=" ".join(_ssh_options(target)),
    )


def _ssh_options(target: Target) -> list[str]:
    """Ours first, as ssh keeps the first word it is given: nothing later can loosen the check of host keys."""
    theirs = (target.get("ansible_ssh_common_args"), target.get("ansible_ssh_extra_args"))
    return [*ssh_arguments(), f"-o ConnectTimeout={CONNECT_TIMEOUT}", *(str(words) for words in theirs if words)]
