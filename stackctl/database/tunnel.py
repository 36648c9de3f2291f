"""Reaches a port of a server's own through SSH: a private Unix socket here that leads there, while it is held."""

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stackctl.apply.environment import CONNECT_TIMEOUT
from stackctl.apply.reach import ssh_argv
from stackctl.errors import StackctlError
from stackctl.process import PIPE, spawn
from stackctl.site.variables import LAB_IS_DOWN

_LONGEST_PATH = 100
"""Characters that a Unix socket's path may have everywhere."""
_PATIENCE = CONNECT_TIMEOUT + 15
_GRACE = 5.0


@contextlib.contextmanager
def tunnel(host: str, variables: Mapping[str, Any], address: str, port: int) -> Iterator[str]:
    """The path of a socket that leads to ``address`` and ``port`` as seen from the host of these Ansible variables.

    The folder of the socket is the user's alone. Raises StackctlError, which tells what ssh says.
    """
    if str(variables.get("ansible_host", "")).endswith(LAB_IS_DOWN):
        raise StackctlError(f"{host}: the lab machine is not up", hint="stackctl lab up")
    with tempfile.TemporaryDirectory(prefix="stackctl-") as folder:
        path, said = Path(folder) / "socket", Path(folder) / "said"
        if len(str(path)) > _LONGEST_PATH:
            raise StackctlError(f"{folder} is too long a path for a socket", hint="set TMPDIR to a short one")
        with said.open("wb") as log:
            process = spawn(argv(variables, path, address, port), stdin=PIPE, stderr=log, new_session=True)
        try:
            _wait(host, process, path, said)
            _greeted(host, path, said, port)
            yield str(path)
        finally:
            _end(process)


def argv(variables: Mapping[str, Any], path: Path, address: str, port: int) -> list[str]:
    """The ssh that leads there. It reads its standard input to the end, and so ends with us, however we end."""
    there = f"[{address}]" if ":" in address else address
    options = (
        *("-o", "ExitOnForwardFailure=yes", "-o", "StreamLocalBindMask=0177", "-o", "StreamLocalBindUnlink=yes"),
        *("-T", "-L", f"{path}:{there}:{port}"),
    )
    return ssh_argv(variables, *options, command=("cat", ">/dev/null"))


def _wait(host: str, process: "subprocess.Popen[bytes]", path: Path, said: Path) -> None:
    """Wait until the socket is there."""
    until = time.monotonic() + _PATIENCE
    while not path.exists():
        if process.poll() is not None:
            raise StackctlError(
                f"{host}: no way through SSH to its database: {_last_line(said)}",
                hint="check the address, the port and the key; `ssh` by hand shows more",
            )
        if time.monotonic() > until:
            raise StackctlError(f"{host}: SSH did not open a way to its database within {_PATIENCE} s")
        time.sleep(0.05)


def _greeted(host: str, path: Path, said: Path, port: int) -> None:
    """Whether somebody answers at the other end: a server of this protocol speaks first."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_PATIENCE)
        try:
            probe.connect(str(path))
            if probe.recv(1):
                return
        except OSError as failure:
            raise StackctlError(f"{host}: nothing answers at its port {port}: {failure}") from None
    raise StackctlError(
        f"{host}: nothing answers at its port {port}: {_last_line(said)}",
        hint="is the database running there, and is it this port?",
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the ssh, and wait until it is gone."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_line(said: Path) -> str:
    lines = [line.strip() for line in said.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "ssh says nothing"
