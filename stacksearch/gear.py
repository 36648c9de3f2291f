"""Gearman by pygearman, with its edges filed off: a client that wakes and asks, a worker that does not die.

- A unique of more than 64 bytes would leave the call pending for ever: refused here.
- The server drops a submission whose unique is that of a running job: uniques carry what makes them new.
- Function names are bytes in the worker.
- ``ServerUnavailable`` ends pygearman's loop when every server is down: here it is gone on with after a rest.
"""

import json
import logging
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

import gearman
from gearman.connection import GearmanConnection
from gearman.constants import JOB_COMPLETE
from gearman.errors import GearmanError

from stacksearch.config import QueueConfig, Server
from stacksearch.errors import StacksearchError, UnavailableError
from stacksearch.stop import Stop

log = logging.getLogger(__name__)

FETCH, DOCUMENT, SEARCH = "fetch", "document", "search"
UNIQUE_LIMIT = 64


class _Connection(GearmanConnection):  # type: ignore[misc]
    """A connection by IPv4 or IPv6, with a limit of time."""

    def _create_client_socket(self) -> None:
        try:
            made = socket.create_connection((self.gearman_host, self.gearman_port), timeout=5)
        except OSError as failure:
            self.throw_exception(exception=failure)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        self.set_socket(made)


def _addresses(servers: Sequence[Server]) -> list[tuple[str, int]]:
    return [(server.host, server.port) for server in servers]


class Client:
    """Submits jobs. Not for several threads at once."""

    def __init__(self, config: QueueConfig) -> None:
        self._config = config
        self._client: Any = None

    def wake(self, function: str, unique: str, data: object = None, *, timeout: float = 3.0) -> bool:
        """Submit a background job; False when no gearmand took it (the sweeper will wake again)."""
        try:
            self._submit(function, unique, data, background=True, timeout=timeout)
        except UnavailableError as failure:
            log.warning("not woken: %s", failure.message)
            return False
        return True

    def ask(self, function: str, unique: str, data: object, *, timeout: float) -> Any:
        """Submit a foreground job and wait for its answer. Raises UnavailableError."""
        request = self._submit(function, unique, data, background=False, timeout=timeout)
        if request.timed_out or request.state != JOB_COMPLETE:
            self.close()
            what = f"no answer within {timeout:g} s" if request.timed_out else "the worker failed"
            raise UnavailableError(f"{self.name(function)}: {what}", hint="see the journal of the worker")
        return json.loads(request.result)

    def _submit(self, function: str, unique: str, data: object, *, background: bool, timeout: float) -> Any:
        if not 0 < len(unique.encode()) <= UNIQUE_LIMIT:
            raise ValueError(f"the unique {unique!r} is not of 1 to {UNIQUE_LIMIT} bytes")
        payload = json.dumps(data, separators=(",", ":")).encode()
        kept = self._client is not None
        try:
            request = self._send(function, unique, payload, background=background, timeout=timeout)
        except (GearmanError, OSError) as failure:
            self.close()
            if kept:  # a connection of earlier is found broken at its next use: once more, with a fresh one
                return self._submit(function, unique, data, background=background, timeout=timeout)
            raise UnavailableError(f"gearmand at {self._where()}: {failure}") from None
        if request.timed_out and background:
            self.close()
            raise UnavailableError(f"gearmand at {self._where()} took no job within {timeout:g} s")
        return request

    def _send(self, function: str, unique: str, payload: bytes, *, background: bool, timeout: float) -> Any:
        if self._client is None:
            self._client = gearman.GearmanClient()
            self._client.connection_class = _Connection
            for address in _addresses(self._config.servers):
                self._client.add_connection(address)
        return self._client.submit_job(
            self.name(function),
            payload,
            unique=unique,
            background=background,
            wait_until_complete=not background,
            max_retries=1,
            poll_timeout=timeout,
        )

    def name(self, function: str) -> str:
        """What a function is called at the gearmands."""
        return f"{self._config.prefix}_{function}"

    def _where(self) -> str:
        return ", ".join(str(server) for server in self._config.servers)

    def close(self) -> None:
        """Close the connections; the next job makes them anew."""
        if self._client is not None:
            self._client.shutdown()
            self._client = None


class _Worker(gearman.GearmanWorker):  # type: ignore[misc]
    connection_class = _Connection

    def __init__(self, stop: Stop) -> None:
        super().__init__()
        self._stop = stop

    def after_poll(self, any_activity: bool) -> bool:
        return not self._stop.is_set()

    def on_job_exception(self, current_job: Any, exc_info: Any) -> bool:
        failure = exc_info[1]
        if isinstance(failure, StacksearchError):
            log.warning("job %s failed: %s", current_job.unique, failure.message)
        else:
            log.error("job %s failed", current_job.unique, exc_info=exc_info)
        return bool(super().on_job_exception(current_job, exc_info))


def serve(
    config: QueueConfig,
    function: str,
    work: Callable[[Any], object],
    *,
    stop: Stop,
    ready: Callable[[], None] = lambda: None,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Do the jobs of a function until ``stop``; ``work`` takes and gives plain data.

    While no gearmand answers, ``meanwhile`` is called before each new attempt, so that what needs no waking goes on.
    """
    name = f"{config.prefix}_{function}".encode()

    def call(_: object, job: Any) -> bytes:
        return json.dumps(work(json.loads(job.data or b"null")), separators=(",", ":")).encode()

    rest = 0.5
    while not stop.is_set():
        worker = _Worker(stop)
        for address in _addresses(config.servers):
            worker.add_connection(address)
        worker.register_task(name, call)
        began = time.monotonic()
        try:
            ready()
            worker.work(poll_timeout=1.0)
        except Exception as failure:  # a connection that breaks under a job shows as almost anything
            if time.monotonic() - began > 10:
                rest = 0.5
            log.warning("gearmand: %s: %s; again in %.1f s", type(failure).__name__, failure, rest)
            meanwhile()
            stop.wait(rest)
            rest = min(rest * 2, 10.0)
        finally:
            worker.shutdown()


def functions(server: Server, *, timeout: float = 3.0) -> dict[str, tuple[int, int, int]]:
    """A gearmand's functions: jobs queued, jobs running, workers able. Raises OSError.

    By its text protocol: pygearman's client of it cannot bear a limit of time.
    """
    with socket.create_connection((server.host, server.port), timeout=timeout) as connection:
        connection.sendall(b"status\n")
        with connection.makefile("rb") as lines:
            found = {}
            for line in lines:
                if line.strip() == b".":
                    break
                name, queued, running, able = line.decode("utf-8", "replace").rstrip("\n").split("\t")
                found[name] = (int(queued), int(running), int(able))
            return found
