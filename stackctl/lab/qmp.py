"""QEMU's machine protocol: a small synchronous client for a socket in a machine's directory."""

import json
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from stackctl.errors import StackctlError


class QmpError(StackctlError):
    """QEMU refused a command, or does not answer."""


class Qmp:
    """A session with one QEMU; a context manager. QEMU serves one session at a time, so keep it short."""

    def __init__(self, directory: Path, name: str, *, timeout: float = 10) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        # A socket's path has 107 characters at most; a directory can be deeper, its descriptor cannot.
        handle = os.open(directory, os.O_PATH | os.O_DIRECTORY)
        try:
            self._socket.connect(f"/proc/self/fd/{handle}/{name}")
        except OSError as failure:
            self._socket.close()
            raise QmpError(f"QEMU does not listen on {directory / name}: {failure.strerror}") from None
        finally:
            os.close(handle)
        self._timeout = timeout
        self._received = b""
        self.events: list[dict[str, Any]] = []
        """What QEMU said unasked, oldest first."""
        try:
            self._read()
            self.execute("qmp_capabilities")
        except StackctlError:
            self.close()
            raise

    def execute(self, command: str, **arguments: Any) -> Any:
        """Run a command and return its value; underscores in argument names are dashes. Raises QmpError."""
        named = {name.replace("_", "-"): value for name, value in arguments.items()}
        try:
            self._socket.sendall(json.dumps({"execute": command, "arguments": named}).encode() + b"\n")
        except OSError as failure:
            raise QmpError(f"QEMU is gone: {failure.strerror}") from None
        while True:
            answer = self._read()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise QmpError(f"QEMU refused {command}: {answer['error']['desc']}")

    def wait_event(self, name: str, seconds: float) -> dict[str, Any]:
        """The next event of that name, also one that came already. Raises QmpError when time is over."""
        deadline = time.monotonic() + seconds
        while True:
            for index, event in enumerate(self.events):
                if event["event"] == name:
                    return self.events.pop(index)
            left = deadline - time.monotonic()
            message = self._message(left) if left > 0 else None
            if message is None:
                raise QmpError(f"QEMU did not report {name} within {seconds:g} s")

    def _read(self) -> dict[str, Any]:
        message = self._message(self._timeout)
        if message is None:
            raise QmpError("QEMU does not answer; another session may be open")
        return message

    def _message(self, seconds: float) -> dict[str, Any] | None:
        """The next message, kept too when it is an event; None when none came in time."""
        self._socket.settimeout(seconds)
        while b"\n" not in self._received:
            try:
                piece = self._socket.recv(65536)
            except TimeoutError:
                return None
            except OSError as failure:
                raise QmpError(f"QEMU is gone: {failure.strerror}") from None
            if not piece:
                raise QmpError("QEMU is gone: it closed the session")
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "event" in message:
            self.events.append(message)
        return message

    def close(self) -> None:
        """End the session; QEMU goes on."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
