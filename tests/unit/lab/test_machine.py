"""A lab machine's life with a real QEMU and a guest of eight bytes."""

import os
import shutil
import signal
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl.errors import StackctlError
from stackctl.lab import state, tether
from stackctl.lab.machine import Machine, Power
from stackctl.lab.qmp import QmpError
from stackctl.process import RecordingRunner, SystemRunner, spawn
from stackctl.site.models import Host, LabMachine
from stackctl.units import GIB

pytestmark = pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="needs QEMU")


def _until(what: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_a_made_machine_is_off_and_blank(tiny: Machine) -> None:
    assert tiny.power() is Power.OFF
    assert tiny.pid() is None
    assert tiny.written_bytes() == 0
    assert [disk.serial for disk in tiny.record.disks] == ["LAB-TINY-1-1", "LAB-TINY-1-2"]
    assert [(tiny.directory / disk.file).stat().st_size for disk in tiny.record.disks] == [4 * GIB, 4 * GIB]
    assert state.endpoint("unit", "tiny-1") is None, "it has no ports yet"


def test_secrets_are_the_owners(tiny: Machine) -> None:
    assert stat.S_IMODE(tiny.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((tiny.directory / "identity.tar").stat().st_mode) == 0o600


def test_on_and_off(tiny: Machine) -> None:
    tiny.power_on()
    assert tiny.power() is Power.RUNNING
    pid = tiny.pid()
    assert pid is not None
    at = tiny.endpoint
    assert at.known_hosts.read_text() == f"[127.0.0.1]:{at.port} {tiny.record.host_key}\n"
    assert at.port != at.web_port

    tiny.power_on()
    assert tiny.pid() == pid, "a second time does nothing"

    tiny.power_off()
    assert tiny.power() is Power.OFF
    _until(lambda: not Path(f"/proc/{pid}/exe").exists())
    tiny.power_off()

    tiny.power_on()
    assert (tiny.endpoint.port, tiny.endpoint.web_port) == (at.port, at.web_port), "ports stay"


def test_a_taken_port_is_exchanged(tiny: Machine) -> None:
    tiny.power_on()
    before = tiny.endpoint
    tiny.power_off()
    with socket.create_server((before.address, before.port)):
        tiny.power_on()
        after = tiny.endpoint
        assert after.port != before.port
        assert f":{after.port} " in after.known_hosts.read_text()


def test_a_killed_qemu_is_a_crash(tiny: Machine) -> None:
    tiny.power_on()
    pid = tiny.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    _until(lambda: tiny.power() is Power.CRASHED)
    with pytest.raises(StackctlError, match="has ended"):
        tiny.wait_ssh(5)
    tiny.power_on()
    assert tiny.power() is Power.RUNNING


def test_a_qemu_that_does_not_answer_is_ended_all_the_same(tiny: Machine) -> None:
    tiny.power_on()
    pid = tiny.pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    assert tiny.power() is Power.RUNNING
    tiny.power_off()
    assert tiny.power() is Power.OFF


def test_an_open_session_does_not_keep_it_alive(tiny: Machine) -> None:
    tiny.power_on()
    with tiny.qmp():
        tiny.power_off()
    assert tiny.power() is Power.OFF


def test_a_guest_that_is_off_can_be_started(tiny: Machine) -> None:
    tiny.power_on()
    with tiny.qmp() as session:
        session.execute("stop")
    assert tiny.power() is Power.RUNNING
    pid = tiny.pid()
    tiny.power_on()
    assert tiny.pid() == pid


def test_no_ssh_in_time(tiny: Machine) -> None:
    tiny.power_on()
    with pytest.raises(StackctlError, match="no SSH server answers") as failure:
        tiny.wait_ssh(1)
    assert "restart --hard" in str(failure.value.hint)


def test_what_qemu_says_when_it_does_not_start(tiny: Machine) -> None:
    (tiny.directory / "system.qcow2").write_text("rubbish")
    with pytest.raises(StackctlError, match="did not start"):
        tiny.power_on()
    assert tiny.power() is Power.OFF


def test_events_and_refusals(tiny: Machine) -> None:
    tiny.power_on()
    with tiny.qmp() as session:
        with pytest.raises(QmpError, match="no-such-command"):
            session.execute("no-such-command")
        session.execute("stop")
        assert session.wait_event("STOP", 10)["event"] == "STOP"
        with pytest.raises(QmpError, match="within"):
            session.wait_event("RESUME", 0.1)
        session.execute("cont")
        assert session.wait_event("RESUME", 10)["event"] == "RESUME"


def test_a_disk_can_be_pulled(tiny: Machine) -> None:
    tiny.power_on()
    with tiny.qmp() as session:
        session.execute("device_del", id="data-disk-2")
        session.wait_event("DEVICE_DELETED", 30)
        assert "data-disk-2" not in str(session.execute("query-block"))


def test_an_unfinished_machine_is_made_anew(state_home: Path, tiny: Machine) -> None:
    other = Machine("unit", "half-1")
    other.directory.mkdir()
    (other.directory / "system.qcow2").write_bytes(b"half")
    assert other.power() is Power.UNFINISHED
    with pytest.raises(StackctlError, match="no machine"):
        _ = other.record
    runner = RecordingRunner()
    other.create(Path(tiny.record.image), Host(lab=LabMachine()), "tcg", "ssh-ed25519 CLIENT", runner)
    assert other.power() is Power.OFF
    assert runner.calls[0][:2] == ("qemu-img", "create")
    other.remove()
    assert other.power() is Power.ABSENT
    other.remove()


def test_a_damaged_record_is_told_and_can_be_removed(tiny: Machine) -> None:
    (tiny.directory / "machine.json").write_text("{")
    with pytest.raises(StackctlError, match="not the record"):
        _ = tiny.record
    tiny.remove()
    assert not tiny.directory.exists()


def test_the_process_is_found_by_what_it_holds_not_by_a_number(tiny: Machine, tmp_path: Path) -> None:
    """A process of the same name that holds nothing of ours is not touched."""
    program = tmp_path / "qemu-system-x86_64"
    shutil.copy("/bin/sleep", program)
    stranger = spawn([program, "60"])
    try:
        tiny.power_on()
        assert tiny.pid() not in {None, stranger.pid}
        tiny.power_off()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_process_that_is_just_being_started_is_found(tiny: Machine, tmp_path: Path) -> None:
    """Between fork and QEMU's own files there is only the lock; it is enough to end the process."""
    program = tmp_path / "qemu-system-x86_64"
    shutil.copy("/bin/sleep", program)
    with tether.hold(tiny.directory / "alive") as lock:
        assert lock is not None
        process = spawn([program, "60"], pass_fds=(lock,), new_session=True)
    assert tiny.pid() == process.pid
    tiny.remove()
    assert process.wait(10) == -signal.SIGKILL
    assert not tiny.directory.exists()


def test_create_needs_qemu_img(tiny: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    other = Machine("unit", "other-1")
    with pytest.raises(StackctlError, match="not installed"):
        other.create(Path(tiny.record.image), Host(lab=LabMachine()), "tcg", "k", SystemRunner())
    assert other.power() is Power.UNFINISHED
    other.remove()
