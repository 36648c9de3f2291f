"""The lab machines of a site together: up, down, status."""

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from stackctl import console, image, paths
from stackctl.errors import InputError, RefusedError, StackctlError
from stackctl.lab import accelerator, identity, state
from stackctl.lab.accelerator import Accelerator
from stackctl.lab.machine import Machine, Power
from stackctl.lock import exclusive
from stackctl.process import Runner, SystemRunner
from stackctl.site.models import Site
from stackctl.units import GIB, MIB, format_size

IMAGE = "lab"
_SPARE_MEMORY = 256 * MIB
_SPARE_DISK = 2 * GIB
_MADE = {Power.RUNNING, Power.OFF, Power.CRASHED}


@dataclass(frozen=True)
class Status:
    """A machine for the reader of `stackctl lab status`."""

    host: str
    state: str
    pid: int | None = None
    ssh_port: int | None = None
    web_port: int | None = None
    accelerator: str | None = None
    disks: tuple[str, ...] = ()
    search_page: str | None = None


def machines(site: Site, hosts: Sequence[str] = ()) -> list[Machine]:
    """The lab machines of the site, or those that are named. Raises InputError when a name is not one."""
    names = [name for name, host in site.hosts.items() if host.lab is not None]
    if not names:
        raise InputError(f"the site {site.site} has no lab machine", hint="give a host `lab: {}` in stack.yml")
    for name in hosts:
        if name not in names:
            raise InputError(f"{name!r} is no lab machine of the site", hint=f"there are: {', '.join(names)}")
    return [Machine(site.site, name) for name in names if not hosts or name in hosts]


def up(site: Site, hosts: Sequence[str] = (), *, runner: Runner | None = None) -> None:
    """Make, start and wait for the machines; nothing where they run already. Interrupted, it goes on next time."""
    runner = runner or SystemRunner()
    wanted = machines(site, hosts)
    for machine in wanted:
        if machine.power() in _MADE and machine.differs_from(site.hosts[machine.host]):
            console.warn(f"stack.yml describes another {machine.host} by now; lab down and lab up make it anew")
    if all(_answers(machine) for machine in wanted):
        console.note(f"{', '.join(machine.host for machine in wanted)}: already up")
        return
    _check_room(site, wanted)
    materials = None if all(machine.power() in _MADE for machine in wanted) else _gather(site, runner)
    with locked(site.site):
        for machine in wanted:
            with console.step(f"machine {machine.host}"):
                if machine.power() not in _MADE:
                    base, found = materials or _gather(site, runner)
                    key = _client_key(site.site)
                    machine.create(base, site.hosts[machine.host], found.name, key, runner)
                machine.power_on()
    for machine in wanted:
        with console.step(f"SSH on {machine.host}"):
            machine.wait_ssh()


def _gather(site: Site, runner: Runner) -> tuple[Path, Accelerator]:
    """What machines are made from: the image, and what runs it."""
    found = accelerator.find(runner)
    console.note(f"accelerator {found.name}: {found.reason}")
    return image.build(IMAGE, mirrors=site.mirrors, runner=runner), found


def down(
    site: str, hosts: Sequence[str] = (), *, keep_disks: bool = False, agree: Callable[[str], bool] = lambda _: False
) -> None:
    """End the machines and delete their files, also those of machines that were never finished.

    ``keep_disks`` shuts them down instead, to be started again. ``agree`` is asked before disks that hold anything
    are deleted; raises RefusedError when it says no.
    """
    with locked(site):
        names = state.machine_names(site)
        if unknown := [name for name in hosts if name not in names]:
            raise InputError(
                f"the lab has no machine {unknown[0]!r}", hint=f"there are: {', '.join(names) or 'none'}"
            )
        found = [Machine(site, name) for name in names if not hosts or name in hosts]
        if not found:
            console.note("the lab is empty")
        for machine in [] if keep_disks else found:
            written = machine.written_bytes()
            if written and not agree(f"delete {machine.host} and the {format_size(written)} on its data disks?"):
                raise RefusedError(
                    f"the data disks of {machine.host} hold {format_size(written)}; they would be deleted",
                    hint="--yes deletes them, --keep-disks only ends the machines",
                )
        for machine in found:
            with console.step(f"{'shut down' if keep_disks else 'remove'} {machine.host}"):
                if keep_disks:
                    machine.shut_down()
                else:
                    machine.remove()
        if not keep_disks and not state.machine_names(site):
            shutil.rmtree(state.site_directory(site))


def restart(site: Site, hosts: Sequence[str] = (), *, hard: bool = False) -> None:
    """Restart machines: by the guest's own shutdown, or ``hard`` as by a power cut."""
    wanted = machines(site, hosts)
    with locked(site.site):
        for machine in wanted:
            with console.step(f"restart {machine.host}"):
                if hard:
                    machine.power_off()
                else:
                    machine.shut_down()
                machine.power_on()
    for machine in wanted:
        with console.step(f"SSH on {machine.host}"):
            machine.wait_ssh()


def status(site: Site) -> list[Status]:
    """What every lab machine of the site is doing, and those that are left over from an earlier site."""
    names = [name for name, host in site.hosts.items() if host.lab is not None]
    names += [name for name in state.machine_names(site.site) if name not in names]
    return [_status(site, Machine(site.site, name)) for name in names]


def _status(site: Site, machine: Machine) -> Status:
    power = machine.power()
    record = state.read(machine.site, machine.host)
    if record is None:
        return Status(machine.host, power)
    running = power is Power.RUNNING
    searches = machine.host in site.hosts_with("search")
    return Status(
        host=machine.host,
        state=power,
        pid=machine.pid(),
        ssh_port=record.ssh_port or None,
        web_port=record.web_port or None,
        accelerator=record.accelerator,
        disks=tuple(f"{disk.serial} {format_size(disk.size)}" for disk in record.disks),
        search_page=f"http://{state.LOOPBACK}:{record.web_port}/" if running and searches else None,
    )


def _answers(machine: Machine) -> bool:
    """Whether the machine runs and lets us in."""
    if machine.power() is not Power.RUNNING or state.endpoint(machine.site, machine.host) is None:
        return False
    return machine.ssh("true", check=False, timeout=60).returncode == 0


def _client_key(site: str) -> str:
    """The public half of the key that opens the machines of a site; made once."""
    private = state.site_directory(site) / state.CLIENT_KEY
    public = private.with_suffix(".pub")
    if not public.exists():
        key = identity.make_key()
        state.write_file(private, key.private)
        state.write_file(public, f"{key.public} stackctl-lab\n")
    return " ".join(public.read_text(encoding="ascii").split()[:2])


def _check_room(site: Site, wanted: Sequence[Machine]) -> None:
    """Raise StackctlError where the machines that are about to start do not fit."""
    starting = [machine.host for machine in wanted if machine.power() is not Power.RUNNING]
    labs = [lab for host in starting if (lab := site.hosts[host].lab) is not None]
    needed = sum(lab.memory for lab in labs)
    free = available_memory(Path("/proc/meminfo").read_text(encoding="ascii"))
    if needed + _SPARE_MEMORY > free:
        raise StackctlError(
            f"{', '.join(starting)} need {format_size(needed)} of memory; {format_size(free)} are free",
            hint="end something, or give the machines less in stack.yml (lab: {memory: ...})",
        )
    folder = paths.state("lab")
    room = shutil.disk_usage(folder).free
    if labs and room < _SPARE_DISK:
        raise StackctlError(
            f"lab machines take {format_size(_SPARE_DISK)} in {folder} at least; {format_size(room)} are free",
            hint="free some space, or point XDG_STATE_HOME to a larger disk",
        )


def available_memory(meminfo: str) -> int:
    """Bytes that new processes can have without swapping, from /proc/meminfo."""
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    raise StackctlError("/proc/meminfo does not tell how much memory is available")


def locked(site: str) -> AbstractContextManager[int]:
    """Hold the lock of a site's lab; wait for another command that has it."""
    folder = state.site_directory(site)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return exclusive(folder / "lock", waiting=f"another command is at work on the lab of {site}; waiting for it")
