"""A server with the stack on it, and the doors to it: our own command line, plain Ansible, a shell."""

import json
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackctl import paths
from stackctl.apply.environment import ansible_environment
from stackctl.process import Result, SystemRunner

PATIENCE = 3600.0
"""Seconds that a whole apply may take on a slow, emulated machine."""


@dataclass(frozen=True)
class Server:
    """One server of a site."""

    inventory: Path
    """The site's folder."""
    name: str
    shell: Callable[[str, bool], Result]
    """Runs a command as root on the server; whether a failure is an error."""

    def ssh(self, command: str, *, check: bool = True) -> Result:
        """Run a shell command on the server, as root."""
        return self.shell(command, check)

    def answers(self, command: str) -> bool:
        """Whether a command on the server succeeds."""
        return bool(self.ssh(command, check=False).returncode == 0)

    def stackctl(self, *words: str, check: bool = True) -> Result:
        """Run our own command line on the site."""
        argv = [paths.program("stackctl"), *words, "-i", str(self.inventory)]
        return SystemRunner().run(argv, check=check, timeout=PATIENCE)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start our own command line on the site, as a terminal would, and go on beside it."""
        return subprocess.Popen(
            [paths.program("stackctl"), *words, "-i", str(self.inventory)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # a shell's background job, which pytest may be, hands on that it ignores Ctrl-C
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def apply(self, *words: str) -> dict[str, Any]:
        """What an apply says it has done."""
        outcome: dict[str, Any] = json.loads(self.stackctl("apply", "--json", *words).stdout)
        return outcome

    def play(self, *words: str, check: bool = True) -> Result:
        """Run playbooks by Ansible itself, with its default strategy, as a hoster would."""
        argv = [paths.program("ansible-playbook"), "-i", str(self.inventory / "stack.yml")]
        argv += [str(paths.data("playbooks", word)) if re.fullmatch(r"\w+[.]yml", word) else word for word in words]
        return SystemRunner().run(
            argv, check=check, env=ansible_environment(fast=False), cwd=paths.data(), timeout=PATIENCE
        )


def counts(result: Result) -> dict[str, int]:
    """The numbers of a play's recap, over all hosts."""
    assert "PLAY RECAP" in result.stdout, result.stdout + result.stderr
    found: dict[str, int] = {}
    for name, number in re.findall(r"(\w+)=(\d+)", result.stdout.rsplit("PLAY RECAP", 1)[1]):
        found[name] = found.get(name, 0) + int(number)
    return found
