"""Listening sockets, from recorded tables and from this system."""

import os
import socket
import sys
from pathlib import Path

import pytest

from stackctl.node import sockets
from stackctl.node.sockets import Listener

_HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
_TCP = (
    _HEAD
    + "   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   110        0 1111 1 0 100 0 0\n"
    "   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2222 1 0 100 0 0\n"
    "   2: 0100007F:0CEA 0100007F:D431 01 00000000:00000000 00:00000000 00000000   110        0 3333 1 0 100 0 0\n"
)
_TCP6 = (
    _HEAD + "   0: 00000000000000000000000001000000:1A0A 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000     0        0 4444 1 0 100 0 0\n"
    "   1: 0000000000000000FFFF00000100007F:1F90 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000     0        0 5555 1 0 100 0 0\n"
)
_UDP = (
    _HEAD + "  10: 0100007F:2BCB 00000000:0000 07 00000000:00000000 00:00000000 00000000   110        0 6666 2 0 0\n"
)


@pytest.mark.skipif(sys.byteorder != "little", reason="the recorded tables are little-endian")
def test_tables_of_the_kernel_are_read(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    for name, text in {"tcp": _TCP, "tcp6": _TCP6, "udp": _UDP}.items():
        (tmp_path / "net" / name).write_text(text)
    assert sockets.listeners(tmp_path) == (
        Listener("tcp", "127.0.0.1", 3306, 1111),
        Listener("tcp", "0.0.0.0", 80, 2222),
        Listener("tcp", "::1", 6666, 4444),
        Listener("tcp", "127.0.0.1", 8080, 5555),
        Listener("udp", "127.0.0.1", 11211, 6666),
    )


def test_a_socket_of_this_process_is_found_with_its_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (mine,) = [one for one in sockets.listeners() if one.port == port and one.protocol == "tcp"]
        assert mine.address == "127.0.0.1"
        assert [owner.pid for owner in sockets.owners(mine.inode)] == [os.getpid()]
    assert not any(one.port == port and one.protocol == "tcp" for one in sockets.listeners())


@pytest.mark.parametrize(
    ("mine", "theirs", "takes"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2", False),
        ("0.0.0.0", "127.0.0.1", True),
        ("127.0.0.1", "0.0.0.0", True),
        ("::", "127.0.0.1", True),
        ("0.0.0.0", "::1", False),
        ("::1", "127.0.0.1", False),
        ("::1", "::", True),
        ("::1", "0.0.0.0", False),
        ("127.0.0.1", "::", True),
        ("192.0.2.1", "127.0.0.1", False),
    ],
)
def test_a_socket_takes_its_address_or_all(mine: str, theirs: str, takes: bool) -> None:
    assert Listener("tcp", mine, 3306, 1).takes(theirs, 3306) is takes
    assert Listener("tcp", mine, 3306, 1).takes(theirs, 3307) is False


def test_addresses_of_this_system() -> None:
    assert sockets.is_ours("127.0.0.1")
    assert sockets.is_ours("0.0.0.0")
    assert not sockets.is_ours("192.0.2.77")
