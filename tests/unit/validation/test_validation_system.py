"""One look at a server: what systemd, ss and the kernel say, and what is wrong in plain words."""

from pathlib import Path

import pytest

from stackctl.node.process import RecordingRunner, Result
from stackctl.validation.probes import system as probe
from stackctl.validation.system import System, Unit

SHOWN = """\
Result=success
NeedDaemonReload=no
MainPID=812
Id=mariadb.service
LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=enabled

Result=exit-code
NeedDaemonReload=yes
MainPID=0
Id=memcached.service
LoadState=loaded
ActiveState=failed
SubState=failed
UnitFileState=disabled

Result=success
NeedDaemonReload=no
MainPID=0
Id=no-such.service
LoadState=not-found
ActiveState=inactive
SubState=dead
UnitFileState=
"""

SOCKETS = """\
udp   UNCONN 0      0      0.0.0.0%eth0:68      0.0.0.0:*    users:(("systemd-network",pid=300,fd=18))
tcp   LISTEN 0      511               *:80            *:*    users:(("apache2",pid=9,fd=4),("apache2",pid=8,fd=4))
tcp   LISTEN 0      128            [::]:22         [::]:*    users:(("sshd",pid=1,fd=4),("systemd",pid=1,fd=40))
tcp   LISTEN 0      5         127.0.0.1:3306    0.0.0.0:*
"""


def answer(argv: tuple[str, ...]) -> Result:
    if argv[:2] == ("systemctl", "show"):
        return Result(argv, 0, SHOWN)
    if argv[:2] == ("systemctl", "list-dependencies"):
        return Result(argv, 0, "default.target\n  multi-user.target\n  mariadb.service\n")
    if argv[:2] == ("systemctl", "list-units"):
        return Result(argv, 0, "memcached.service loaded failed failed memcached daemon\n")
    if argv[0] == "journalctl":
        return Result(argv, 0, "Main process exited, code=exited, status=64/USAGE\nFailed with result 'exit-code'.\n")
    return Result(argv, 0, SOCKETS)


@pytest.fixture
def found(tmp_path: Path) -> System:
    names = ["mariadb.service", "memcached.service", "no-such.service"]
    return System.from_json(probe.look(names, [str(tmp_path), "/no/such/path"], RecordingRunner(answer)))


def test_units_say_what_is_wrong_now(found: System) -> None:
    assert found.wrong_now(["mariadb.service"]) == []
    assert found.wrong_now(["memcached.service", "no-such.service"]) == [
        "memcached.service is failed (failed), its last run ended with exit-code; it said: "
        "Main process exited, code=exited, status=64/USAGE | Failed with result 'exit-code'.",
        "no-such.service is not installed",
    ]
    assert found.failed_units == ("memcached.service",)


def test_units_say_what_a_reboot_would_do(found: System) -> None:
    assert [unit.wrong_after_reboot() for unit in found.units.values()] == [
        None,
        "memcached.service is disabled, so that a reboot leaves it stopped",
        "no-such.service is not installed",
    ]
    assert [unit.stale for unit in found.units.values()] == [False, True, False]


def test_a_masked_unit_is_told_as_such() -> None:
    masked = Unit("x.service", "masked", "inactive", "dead", "masked", "success", False, (), True)
    assert masked.wrong_now() == "x.service is masked, so that nothing can start it"
    assert masked.wrong_after_reboot() == "x.service is masked, so that a reboot leaves it stopped"


def test_a_unit_that_nothing_wants_at_boot_is_told() -> None:
    adrift = Unit("x.service", "loaded", "active", "running", "static", "success", False, (), False)
    assert adrift.wrong_now() is None
    assert adrift.wrong_after_reboot() == "x.service is static, so that a reboot leaves it stopped"


def test_sockets_are_read_as_ss_prints_them(found: System) -> None:
    assert [(s.protocol, s.address, s.port, s.processes) for s in found.sockets] == [
        ("udp", "0.0.0.0", 68, ("systemd-network",)),
        ("tcp", "*", 80, ("apache2",)),
        ("tcp", "::", 22, ("sshd", "systemd")),
        ("tcp", "127.0.0.1", 3306, ()),
    ]


def test_paths_are_told_with_their_mount(found: System, tmp_path: Path) -> None:
    here, gone = found.paths.values()
    assert gone is None
    assert here is not None
    assert here.directory
    assert tmp_path.is_relative_to(here.mount)
    assert Path(here.mount).is_mount()


def test_mounts_are_the_kernels() -> None:
    line = r"36 35 8:1 / /srv/a\040b rw,noatime shared:1 - xfs /dev/mapper/data-a rw,sunit=128"
    assert probe._mount(line) == {"mount": "/srv/a b", "type": "xfs", "source": "/dev/mapper/data-a"}


def test_the_topmost_mount_counts(found: System) -> None:
    root = found.mount_at("/")
    assert root is not None
    assert found.mount_at("/no/such/path") is None
