"""What is refused before the first change."""

import os
import socket
from pathlib import Path

import pytest

from stackctl.node import preflight, sockets
from stackctl.node.errors import NodeError
from stackctl.node.preflight import Claim


def test_memory_is_read_in_bytes(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:        3000000 kB\nMemFree:         1000 kB\n")
    assert preflight.means(meminfo).memory == 3_072_000_000


def test_a_directory_whose_volume_is_not_mounted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NodeError) as caught:
        preflight.check_mount(tmp_path / "database" / "mysql", [tmp_path, tmp_path / "database"])
    assert caught.value.kind == "refused"
    assert str(tmp_path / "database") in caught.value.message


def test_a_directory_on_a_mount_or_on_no_volume_of_the_layout_passes(tmp_path: Path) -> None:
    preflight.check_mount(Path("/proc/sys"), [Path("/proc"), tmp_path])
    preflight.check_mount(tmp_path / "data", [Path("/srv/database")])
    preflight.check_mount(tmp_path / "database-2", [tmp_path / "database"])


def test_a_port_that_a_stranger_holds_is_refused_by_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        name = Path("/proc/self/comm").read_text().strip()
        present = sockets.listeners()
        with pytest.raises(NodeError) as caught:
            preflight.check_claim(Claim("127.0.0.1", port, ("mariadbd",)), present)
        assert f"process {os.getpid()} ({name})" in caught.value.message
        preflight.check_claim(Claim("127.0.0.1", port, (name,)), present)
        preflight.check_claim(Claim("127.0.0.1", port, ("mariadbd",), "udp"), present)
    preflight.check_claim(Claim("127.0.0.1", port), sockets.listeners())


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(NodeError, match=r"192\.0\.2\.77, which is no address of this server"):
        preflight.check_claim(Claim("192.0.2.77", 3306), ())
