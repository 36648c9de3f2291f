"""Reaching a lab machine by SSH: the command line, and the wait until the machine lets us in."""

import contextlib
import select
import socket
import time
from collections.abc import Callable

from stackctl.errors import StackctlError
from stackctl.lab.state import Endpoint
from stackctl.process import Runner

_APART = 1.0
"""Seconds between two tries; while the guest's network is down, QEMU swallows a try and does not mend it later."""
_AT_ONCE = 4
"""Tries kept open: a busy machine greets late, and every try costs it a process."""
_OLDEST = 60.0
_CONNECT = 60
_ALIVE = (15, 8)
"""Seconds between signs of life, and how many may be missing: a guest that was reset leaves its connections open."""


class TimeOverError(StackctlError):
    """The machine did not let us in in time."""


def ssh_argv(at: Endpoint, *command: str) -> list[str]:
    """The ssh command line: the machine's own key, and nothing but the host key that was made for it."""
    return [
        *("ssh", "-F", "/dev/null", "-p", str(at.port), "-i", str(at.identity_file)),
        *("-o", f"UserKnownHostsFile={at.known_hosts}", "-o", "StrictHostKeyChecking=yes"),
        *("-o", "IdentitiesOnly=yes", "-o", "PasswordAuthentication=no", "-o", f"ConnectTimeout={_CONNECT}"),
        *("-o", f"ServerAliveInterval={_ALIVE[0]}", "-o", f"ServerAliveCountMax={_ALIVE[1]}"),
        *(f"{at.user}@{at.address}", *command),
    ]


def wait(at: Endpoint, still_there: Callable[[], None], patience: float, runner: Runner) -> float:
    """Wait until SSH lets us in, and return the seconds it took; ``still_there`` raises when waiting is in vain.

    Raises TimeOverError when ``patience`` seconds are over, StackctlError when it is not the machine we made.
    """
    began = time.monotonic()
    _wait_greeting(at, still_there, began + patience)
    while True:
        result = runner.run(ssh_argv(at, "true"), check=False, timeout=_CONNECT * 3)
        if result.returncode == 0:
            return time.monotonic() - began
        said = result.stderr.strip()
        if "Host key verification failed" in said or "Permission denied" in said:
            raise StackctlError(
                f"the machine at {at.address} port {at.port} is not the one that was made: {said.splitlines()[-1]}",
                hint="stackctl lab down, then stackctl lab up",
            )
        still_there()
        if time.monotonic() - began > patience:
            raise TimeOverError(f"SSH does not let us in: {said}")
        time.sleep(0.5)


def _wait_greeting(at: Endpoint, still_there: Callable[[], None], deadline: float) -> None:
    """Wait until an SSH server says its first word. Tries overlap: a lost one is not waited for, a slow one is."""
    tries: dict[socket.socket, float] = {}
    last = 0.0
    with contextlib.ExitStack() as stack:
        while (now := time.monotonic()) < deadline:
            still_there()
            for stale in [attempt for attempt, born in tries.items() if now - born > _OLDEST]:
                del tries[stale]
                stale.close()
            if len(tries) < _AT_ONCE and now - last >= _APART:
                last = now
                with contextlib.suppress(OSError):
                    tries[stack.enter_context(socket.create_connection((at.address, at.port), timeout=5))] = now
            for attempt in select.select(list(tries), [], [], 0.2)[0]:
                if _greets(attempt):
                    return
                del tries[attempt]
                attempt.close()
    raise TimeOverError("no SSH server answers")


def _greets(attempt: socket.socket) -> bool:
    try:
        return attempt.recv(4) == b"SSH-"
    except OSError:
        return False
