"""A value through memcached, and whether it answers on UDP. Source: memcached's protocol.txt."""

import secrets
import socket
from typing import Any

SECONDS = 5.0
_EXPIRY = 60
"""Seconds after which memcached drops the value should the check die between writing and deleting."""


class CacheError(Exception):
    """memcached does not do what its protocol says."""


def value(host: str, port: int) -> dict[str, Any]:
    """What went wrong with writing, reading and deleting a value (None: nothing), and whether UDP answers."""
    try:
        _round_trip(host, port)
        wrong = None
    except (OSError, CacheError) as failure:
        wrong = str(failure) or type(failure).__name__
    return {"wrong": wrong, "udp": _answers_on_udp(host, port)}


def _round_trip(host: str, port: int) -> None:
    key = b"stackctl-validate-" + secrets.token_hex(12).encode()
    data = secrets.token_bytes(2048)
    try:
        connection = socket.create_connection((host, port), timeout=SECONDS)
    except OSError as failure:
        raise CacheError(f"no connection to {host} port {port}: {failure.strerror or failure}") from None
    with connection, connection.makefile("rwb") as stream:

        def ask(request: bytes, wanted: bytes) -> None:
            stream.write(request)
            stream.flush()
            answer = stream.read(len(wanted)) if len(wanted) > 64 else stream.readline()
            if answer != wanted:
                verb = request.split(b" ", 1)[0].decode()
                raise CacheError(f"to {verb} it answers {answer[:80]!r} instead of {wanted[:80]!r}")

        ask(b"set %b 0 %d %d\r\n%b\r\n" % (key, _EXPIRY, len(data), data), b"STORED\r\n")
        ask(b"get %b\r\n" % key, b"VALUE %b 0 %d\r\n%b\r\nEND\r\n" % (key, len(data), data))
        ask(b"delete %b\r\n" % key, b"DELETED\r\n")
        ask(b"get %b\r\n" % key, b"END\r\n")


def _answers_on_udp(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect((host, port))
            # the frame's header: request, sequence, count of datagrams, reserved
            connection.send(b"\0\x01\0\0\0\x01\0\0version\r\n")
            return bool(connection.recv(1500))
        except OSError:
            return False
