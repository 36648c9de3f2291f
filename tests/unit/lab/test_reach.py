"""Waiting for SSH: servers that are silent, late, broken or not the one that was made."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackctl.errors import StackctlError
from stackctl.lab import reach
from stackctl.lab.state import Endpoint
from stackctl.process import RecordingRunner, Result

Answer = Callable[[int, socket.socket], None]


@pytest.fixture
def server() -> Iterator[Callable[[Answer], Endpoint]]:
    """Starts a server that treats its n-th connection (from 0) as told, and tells where it is."""
    listener = socket.create_server(("127.0.0.1", 0))
    kept: list[socket.socket] = []

    def start(answer: Answer) -> Endpoint:
        def serve() -> None:
            for number in range(1000):
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                kept.append(connection)
                answer(number, connection)

        threading.Thread(target=serve, daemon=True).start()
        port = listener.getsockname()[1]
        return Endpoint("127.0.0.1", port, "root", Path("/key"), Path("/known"), 0)

    yield start
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for connection in kept:
        connection.close()


def _alive() -> None:
    pass


def _ssh(code: int = 0, said: str = "") -> RecordingRunner:
    return RecordingRunner(lambda argv: Result(argv, code, stderr=said))


def test_a_swallowed_try_is_not_waited_for(server: Callable[[Answer], Endpoint]) -> None:
    """The first connection is never answered, as while the guest has no network yet."""
    at = server(lambda number, connection: connection.sendall(b"SSH-2.0-x\r\n") if number else None)
    assert reach.wait(at, _alive, 30, _ssh()) < 15


def test_a_late_greeting_is_waited_for(server: Callable[[Answer], Endpoint]) -> None:
    """The server greets, but slower than tries follow each other."""

    def greet(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.sendall(b"SSH-2.0-x\r\n")

    def late(number: int, connection: socket.socket) -> None:
        threading.Timer(3, greet, [connection]).start()

    assert 2.5 < reach.wait(server(late), _alive, 60, _ssh()) < 30


def test_refusals_are_tried_again(server: Callable[[Answer], Endpoint]) -> None:
    def third(number: int, connection: socket.socket) -> None:
        if number < 2:
            connection.close()
        else:
            connection.sendall(b"SSH-2.0-x\r\n")

    reach.wait(server(third), _alive, 30, _ssh())


def test_not_more_tries_than_a_busy_machine_bears(server: Callable[[Answer], Endpoint]) -> None:
    seen: list[int] = []
    at = server(lambda number, connection: seen.append(number))
    with pytest.raises(reach.TimeOverError):
        reach.wait(at, _alive, 6.5, _ssh())
    assert 2 <= len(seen) <= reach._AT_ONCE


def test_what_is_no_ssh_is_not_taken_for_it(server: Callable[[Answer], Endpoint]) -> None:
    at = server(lambda number, connection: connection.sendall(b"HTTP/1.0 400\r\n"))
    with pytest.raises(reach.TimeOverError):
        reach.wait(at, _alive, 2, _ssh())


@pytest.mark.parametrize("said", ["Host key verification failed.", "root@127.0.0.1: Permission denied (publickey)."])
def test_another_machine_is_refused_at_once(server: Callable[[Answer], Endpoint], said: str) -> None:
    at = server(lambda number, connection: connection.sendall(b"SSH-2.0-x\r\n"))
    began = time.monotonic()
    with pytest.raises(StackctlError, match="not the one that was made"):
        reach.wait(at, _alive, 60, _ssh(255, said))
    assert time.monotonic() - began < 30


def test_a_dead_machine_is_not_waited_for(server: Callable[[Answer], Endpoint]) -> None:
    def dead() -> None:
        raise StackctlError("QEMU has ended")

    with pytest.raises(StackctlError, match="has ended"):
        reach.wait(server(lambda number, connection: None), dead, 60, _ssh())


def test_the_command_line_takes_no_other_key() -> None:
    words = reach.ssh_argv(Endpoint("127.0.0.1", 40022, "root", Path("/key"), Path("/known"), 0), "true")
    assert "StrictHostKeyChecking=yes" in words
    assert "UserKnownHostsFile=/known" in words
    assert "IdentitiesOnly=yes" in words
    assert words[-2:] == ["root@127.0.0.1", "true"]
