"""A job through gearmand on each of its protocols, with a worker of our own.

Source of the packets: gearmand's PROTOCOL document.
"""

import secrets
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

SECONDS = 10.0
"""How long each wait may take."""

_CAN_DO, _SUBMIT_JOB, _JOB_CREATED, _GRAB_JOB, _NO_JOB, _JOB_ASSIGN = 1, 7, 8, 9, 10, 11
_WORK_COMPLETE, _ERROR = 13, 19


class QueueError(Exception):
    """gearmand does not do what its protocol says."""


def round_trips(host: str, port: int, http_host: str, http_port: int) -> dict[str, Any]:
    """What went wrong with a job on each protocol, by its name; None where the job came back done."""
    return {
        "gearman": _attempt(lambda: _job(host, port)),
        "http": _attempt(lambda: _http_job(host, port, http_host, http_port)),
    }


def _attempt(job: Callable[[], None]) -> str | None:
    try:
        job()
    except (OSError, QueueError) as failure:
        return str(failure) or type(failure).__name__
    return None


def _names() -> tuple[bytes, bytes]:
    """A function that nobody else serves, and what is sent to it."""
    token = secrets.token_hex(12).encode()
    return b"stackctl-validate-" + token, "naïve 🦀 ".encode() + token


def _job(host: str, port: int) -> None:
    function, data = _names()
    with _connect(host, port) as worker, _connect(host, port) as client:
        _send(worker, _CAN_DO, function)
        _send(client, _SUBMIT_JOB, function, b"", data)
        _expect(client, _JOB_CREATED)
        _work(worker, function, data)
        answer = _expect(client, _WORK_COMPLETE)[-1]
        if answer != data[::-1]:
            raise QueueError(f"the job came back with {answer!r} instead of {data[::-1]!r}")
    _forget(host, port, function)


def _http_job(host: str, port: int, http_host: str, http_port: int) -> None:
    function, data = _names()
    request = b"POST /%b HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (function, len(data), data)
    with _connect(host, port) as worker, _connect(http_host, http_port) as client:
        _send(worker, _CAN_DO, function)
        client.sendall(request)
        _work(worker, function, data)
        reply = b""
        while not reply.endswith(data[::-1]):
            part = client.recv(65536)
            if not part:
                raise QueueError(f"the HTTP reply lacks the job's answer: {reply[:200]!r}")
            reply += part
        if b" 200 " not in reply.splitlines()[0]:
            raise QueueError(f"the HTTP reply is {reply.splitlines()[0].decode('latin-1')}")
    _forget(host, port, function)


def _work(worker: socket.socket, function: bytes, data: bytes) -> None:
    """Take the one job of ``function`` and answer it with its data reversed."""
    ends = time.monotonic() + SECONDS
    while True:
        _send(worker, _GRAB_JOB)
        kind, fields = _receive(worker)
        if kind == _JOB_ASSIGN:
            break
        if kind != _NO_JOB:
            raise QueueError(f"the worker was told packet {kind} instead of a job")
        if time.monotonic() > ends:
            raise QueueError(f"the worker was given no job within {SECONDS:g} s")
        time.sleep(0.02)
    handle, name, given = fields[0], fields[1], fields[2]
    if (name, given) != (function, data):
        raise QueueError(f"the worker was given {name!r} with {given!r}")
    _send(worker, _WORK_COMPLETE, handle, given[::-1])


def _forget(host: str, port: int, function: bytes) -> None:
    """Take the function off gearmand's list, which it allows once its worker's connection is gone."""
    with _connect(host, port) as connection:
        for _ in range(50):
            connection.sendall(b"drop function " + function + b"\n")
            if connection.recv(1024).startswith(b"OK"):
                return
            time.sleep(0.02)


def _connect(host: str, port: int) -> socket.socket:
    try:
        return socket.create_connection((host, port), timeout=SECONDS)
    except OSError as failure:
        raise QueueError(f"no connection to {host} port {port}: {failure.strerror or failure}") from None


def _send(connection: socket.socket, kind: int, *fields: bytes) -> None:
    body = b"\0".join(fields)
    connection.sendall(struct.pack(">4sII", b"\0REQ", kind, len(body)) + body)


def _receive(connection: socket.socket) -> tuple[int, list[bytes]]:
    magic, kind, size = struct.unpack(">4sII", _exactly(connection, 12))
    if magic != b"\0RES":
        raise QueueError(f"an answer begins with {magic!r}: this is no gearmand")
    body = _exactly(connection, size)
    if kind == _ERROR:
        raise QueueError(f"gearmand says {body.replace(bytes(1), b': ').decode('utf-8', 'replace')}")
    return kind, body.split(b"\0", 2)


def _expect(connection: socket.socket, wanted: int) -> list[bytes]:
    kind, fields = _receive(connection)
    if kind != wanted:
        raise QueueError(f"packet {kind} came instead of {wanted}")
    return fields


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise QueueError("gearmand closed the connection")
        data += part
    return data
