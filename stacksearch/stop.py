"""Being told to stop."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator


class Stop:
    """Set by a signal handler. No lock is taken: a second signal may come while the first one is handled."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Say that the process is to end."""
        self._set = True

    def is_set(self) -> bool:
        """Whether the process is to end."""
        return self._set

    def wait(self, seconds: float) -> None:
        """Rest for so long, or until the process is to end."""
        end = time.monotonic() + seconds
        while not self._set and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))


@contextlib.contextmanager
def stopping() -> Iterator[Stop]:
    """What SIGTERM and SIGINT set; the first asks for an orderly end, a second one ends at once."""
    stop = Stop()

    def handle(number: int, _: object) -> None:
        if stop.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stop.set()
        notify("STOPPING=1")

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def notify(text: str) -> None:
    """Tell systemd (``READY=1``, ``STOPPING=1``, ``STATUS=…``); nothing where no systemd listens."""
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(text.encode(), "\0" + path[1:] if path.startswith("@") else path)
