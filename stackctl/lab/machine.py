"""One lab machine: its files, its QEMU, its power button."""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stackctl.errors import StackctlError
from stackctl.lab import identity, parts, qemu, reach, state, tether
from stackctl.lab.qmp import Qmp, QmpError
from stackctl.lab.state import Record
from stackctl.lock import is_held
from stackctl.process import Result, Runner, SystemRunner, spawn
from stackctl.site.models import Host
from stackctl.units import format_seconds, format_size

BOOT_PATIENCE = 1200.0
"""Seconds from power-on to SSH that are allowed under emulation on a busy machine."""
_START_PATIENCE = 60.0
_SHUTDOWN_PATIENCE = 120.0
_TETHER = "alive"
_LOG = "qemu.log"
_ON = "power"
_PORT_TAKEN = "Could not set up host forwarding rule"


class Power(StrEnum):
    """What a machine is doing."""

    ABSENT = "absent"
    """It was never made."""
    RUNNING = "running"
    OFF = "off"
    """Its guest, or stackctl, has switched it off; the disks are kept."""
    CRASHED = "crashed"
    """Its QEMU ended without being asked."""
    UNFINISHED = "unfinished"
    """Its making was interrupted."""


@dataclass(frozen=True)
class Machine:
    """A lab machine by name; everything about it is read from its directory."""

    site: str
    host: str

    @property
    def directory(self) -> Path:
        """Where all of its files are."""
        return state.machine_directory(self.site, self.host)

    @property
    def record(self) -> Record:
        """The machine as it was made. Raises StackctlError where there is none."""
        record = state.read(self.site, self.host)
        if record is None:
            raise StackctlError(f"the lab has no machine {self.host}", hint="stackctl lab up makes it")
        return record

    @property
    def endpoint(self) -> state.Endpoint:
        """How to reach it. Raises StackctlError where it was never started."""
        endpoint = state.endpoint(self.site, self.host)
        if endpoint is None:
            raise StackctlError(f"the lab machine {self.host} was never started", hint="stackctl lab up starts it")
        return endpoint

    # What it is doing

    def power(self) -> Power:
        """What the machine is doing now."""
        if is_held(self.directory / _TETHER):
            return Power.OFF if self._guest_is_off() else Power.RUNNING
        if not self.directory.exists():
            return Power.ABSENT
        if not (self.directory / state.RECORD).exists():
            return Power.UNFINISHED
        return Power.CRASHED if (self.directory / _ON).exists() else Power.OFF

    def pid(self) -> int | None:
        """The process of its QEMU, or None."""
        return tether.holder(self.directory / _TETHER, qemu.PROGRAM)

    def _guest_is_off(self) -> bool:
        """Whether QEMU waits with a guest that switched itself off; a QEMU that is busy runs."""
        try:
            with self.qmp(timeout=2) as session:
                return bool(session.execute("query-status")["status"] == "shutdown")
        except QmpError:
            return False

    def qmp(self, *, timeout: float = 10) -> Qmp:
        """A session with the machine's QEMU, to be closed soon. Raises QmpError when it does not answer."""
        return Qmp(self.directory, qemu.QMP, timeout=timeout)

    def last_words(self, lines: int = 12) -> str:
        """The end of what QEMU and the serial console said."""
        said = []
        for name in (_LOG, qemu.SERIAL_LOG):
            with contextlib.suppress(OSError):
                text = (self.directory / name).read_text(errors="replace")
                said += [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]
        return "\n".join(said)

    # Making and removing

    def create(self, image: Path, description: Host, accelerator: str, client_key: str, runner: Runner) -> None:
        """Make the machine's files; the record comes last, so that a machine with a record is whole."""
        if (self.directory / state.RECORD).exists():
            return
        if self.directory.exists():
            self.remove()
        self.directory.mkdir(mode=0o700, parents=True)
        host_key = identity.make_key()
        record = parts.plan(
            self.site, self.host, description, image=image, accelerator=accelerator, host_key=host_key.public
        )
        if record.system_disk < image.stat().st_size:
            raise StackctlError(
                f"the image of {self.host} takes {format_size(image.stat().st_size)}, its system_disk is smaller"
            )
        packed = identity.archive(self.host, record.user, host_key, client_key)
        state.write_file(self.directory / qemu.IDENTITY, packed)
        runner.run(
            [
                *("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(image)),
                *(str(self.directory / qemu.SYSTEM_DISK), str(record.system_disk)),
            ]
        )
        for disk in record.disks:
            with (self.directory / disk.file).open("wb") as file:
                os.truncate(file.fileno(), disk.size)
        state.write(record)

    def differs_from(self, description: Host) -> bool:
        """Whether the site describes another machine by now than the one that was made."""
        made = self.record.model_copy(update={"ssh_port": 0, "web_port": 0})
        image, accelerator, key = Path(made.image), made.accelerator, made.host_key
        return made != parts.plan(
            self.site, self.host, description, image=image, accelerator=accelerator, host_key=key
        )

    def remove(self) -> None:
        """End the machine, whatever it does, and delete its files."""
        self.power_off()
        if self.directory.exists():
            shutil.rmtree(self.directory)

    def written_bytes(self) -> int:
        """How much the data disks hold; 0 while they are blank."""
        return sum(file.stat().st_blocks * 512 for file in self.directory.glob("data-*.raw"))

    # Power

    def power_on(self) -> None:
        """Start the machine, or a guest that has switched itself off; nothing where it runs.

        Raises StackctlError with QEMU's own words when it does not start.
        """
        record = self.record
        power = self.power()
        if power is Power.RUNNING:
            return
        if power is Power.OFF and self.pid() is not None:
            with self.qmp() as session:
                session.execute("system_reset")
                session.execute("cont")
            return
        try:
            self._start(record)
        except _PortTakenError:
            self._start(record.model_copy(update={"ssh_port": 0, "web_port": 0}))

    def _start(self, record: Record) -> None:
        console = self.directory / qemu.SERIAL_LOG
        with tether.hold(self.directory / _TETHER) as lock, (self.directory / _LOG).open("wb") as log:
            if lock is None:
                raise StackctlError(f"another process holds the lab machine {self.host}", hint="stackctl lab down")
            (self.directory / qemu.QMP).unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                console.replace(console.with_suffix(".log.1"))
            (self.directory / _ON).touch()
            process = spawn(qemu.argv(record), stdout=log, new_session=True, cwd=self.directory, pass_fds=(lock,))
        try:
            ports = self._ports(process.poll)
        except BaseException:
            if process.poll() is not None:
                (self.directory / _ON).unlink(missing_ok=True)
            raise
        started = record.model_copy(update=ports)
        line = identity.known_hosts(state.LOOPBACK, started.ssh_port, started.host_key)
        state.write_file(self.directory / state.KNOWN_HOSTS, line)
        state.write(started)

    def _ports(self, ended: Callable[[], int | None]) -> dict[str, int]:
        """Wait for QEMU and ask it which ports it forwards."""
        deadline = time.monotonic() + _START_PATIENCE
        while True:
            if ended() is not None:
                raise self._not_started()
            try:
                with self.qmp() as session:
                    table = session.execute("human-monitor-command", command_line="info usernet")
                return forwarded_ports(table)
            except QmpError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _not_started(self) -> StackctlError:
        said = (self.directory / _LOG).read_text(errors="replace").strip()
        if _PORT_TAKEN in said:
            return _PortTakenError(said)
        hint = None
        if "Cannot allocate memory" in said or "cannot set up guest memory" in said:
            hint = "give the machine less memory in stack.yml (lab: {memory: ...})"
        elif not Path(self.record.image).exists():
            hint = "its image is gone from the cache: stackctl lab down, then stackctl lab up"
        return StackctlError(f"QEMU did not start {self.host}: {said or 'it said nothing'}", hint=hint)

    def power_off(self) -> None:
        """Cut the power: the guest gets no chance to write anything more. Nothing where the machine is off."""
        lock = self.directory / _TETHER
        if is_held(lock):
            with contextlib.suppress(QmpError), self.qmp(timeout=2) as session:
                session.execute("quit")
            if not tether.wait_free(lock, 2):
                self._kill()
            if not tether.wait_free(lock, 20):
                raise StackctlError(
                    f"QEMU of the lab machine {self.host} does not end", hint=f"its process: {self.pid()}"
                )
        (self.directory / _ON).unlink(missing_ok=True)

    def _kill(self) -> None:
        """End our QEMU; one that is being started right now gets time to show itself."""
        deadline = time.monotonic() + 5
        while is_held(self.directory / _TETHER) and time.monotonic() < deadline:
            pid = self.pid()
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.05)

    def shut_down(self, patience: float = _SHUTDOWN_PATIENCE) -> None:
        """Press the power button and wait for the guest; cut the power when it does not react in time."""
        if self.power() is Power.RUNNING:
            with contextlib.suppress(QmpError):
                with self.qmp() as session:
                    session.execute("system_powerdown")
                deadline = time.monotonic() + patience
                while self.power() is Power.RUNNING and time.monotonic() < deadline:
                    time.sleep(0.2)
        self.power_off()

    # SSH

    def ssh_argv(self, *command: str) -> list[str]:
        """The ssh command line for this machine; its words are put together by the guest's shell."""
        return reach.ssh_argv(self.endpoint, *command)

    def ssh(self, *command: str, check: bool = True, input: str | None = None, timeout: float = 600) -> Result:  # noqa: A002
        """Run a command in the guest."""
        return SystemRunner().run(self.ssh_argv(*command), check=check, input=input, timeout=timeout)

    def wait_ssh(self, patience: float = BOOT_PATIENCE) -> float:
        """Wait until SSH lets us in, and return the seconds it took.

        Raises StackctlError when QEMU ends, when the guest's kernel panics, or when time is over.
        """
        try:
            return reach.wait(self.endpoint, self._check_alive, patience, SystemRunner())
        except reach.TimeOverError as failure:
            took, said = format_seconds(patience), self.last_words()
            raise StackctlError(
                f"{self.host} after {took}: {failure.message}; its console says:\n{said}",
                hint="stackctl lab up waits on; stackctl lab restart --hard starts it again",
            ) from None

    def _check_alive(self) -> None:
        if not is_held(self.directory / _TETHER):
            raise StackctlError(f"QEMU of {self.host} has ended: {self.last_words() or 'it said nothing'}")
        if "Kernel panic" in (words := self.last_words()):
            raise StackctlError(f"the kernel of {self.host} panicked:\n{words}")


class _PortTakenError(StackctlError):
    """A port that the machine had is somebody else's now."""


def forwarded_ports(table: str) -> dict[str, int]:
    """``ssh_port`` and ``web_port`` from what QEMU says to ``info usernet``."""
    names = {"22": "ssh_port", "80": "web_port"}
    ports: dict[str, int] = {}
    for line in table.splitlines():
        words = line.split()
        if words[:1] == ["TCP[HOST_FORWARD]"] and words[5] in names:
            ports[names[words[5]]] = int(words[3])
    if len(ports) != len(names):
        raise StackctlError(f"QEMU forwards other ports than it was asked to:\n{table}")
    return ports
