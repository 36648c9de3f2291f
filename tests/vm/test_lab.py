"""A lab machine as an operator meets it: up, again, rebooted, cut off, pulled apart, killed half-way, gone."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stackctl import paths
from stackctl.errors import ExitCode, StackctlError
from stackctl.lab import accelerator, rack, state
from stackctl.lab.identity import known_hosts, make_key
from stackctl.lab.machine import Machine, Power
from stackctl.lock import is_held
from stackctl.process import Result, SystemRunner
from stackctl.site.load import open_site
from stackctl.site.models import Site
from stackctl.units import GIB
from tests.conftest import draw
from tests.lib.waiting import wait_for

pytestmark = pytest.mark.vm

BARE = """
plugin: stackctl
site: bare
hosts:
  bare-1:
    lab: {memory: 1 GiB, cpus: 1, disks: {count: 4, size: 2 GiB}}
"""

FIRST_DISK = "$(lsblk -ndo PATH,SERIAL | awk '$2 == \"LAB-BARE-1-1\" {print $1}')"
"""In a shell of the guest."""
MOMENTS = (0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.2, 2.6, 3.0, 4.0, 6.0, 9.0)
"""Seconds after which a `lab up` is killed."""


@pytest.fixture(scope="module")
def lab_inventory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a site of one bare lab machine, bare-1, that carries nothing."""
    folder = tmp_path_factory.mktemp("bare-site")
    (folder / "stack.yml").write_text(BARE)
    return folder


@pytest.fixture(scope="module")
def machine(private_state: Path, lab_inventory: Path) -> Iterator[Machine]:
    """The site's running machine, shared by the tests, which leave its four disks as they found them."""
    site = open_site(lab_inventory).site
    try:
        rack.up(site)
        yield Machine(site.site, "bare-1")
    finally:
        rack.down(site.site, agree=lambda _: True)


def stackctl(inventory: Path, *words: str, check: bool = True) -> Result:
    """Run the command line as an operator without a terminal does."""
    argv = [paths.program("stackctl"), "lab", *words, "-i", str(inventory)]
    return SystemRunner().run(argv, check=check, timeout=1800)


def boot_id(machine: Machine) -> str:
    return machine.ssh("cat /proc/sys/kernel/random/boot_id").stdout.strip()


def block_devices(machine: Machine) -> list[dict[str, Any]]:
    said = machine.ssh("lsblk --json --bytes --nodeps -o NAME,SIZE,SERIAL,WWN,TYPE,LOG-SEC,PHY-SEC").stdout
    found: list[dict[str, Any]] = json.loads(said)["blockdevices"]
    return found


def test_four_blank_disks_with_names_of_their_own(machine: Machine) -> None:
    disks = {disk["serial"]: disk for disk in block_devices(machine) if disk["name"].startswith("sd")}
    assert set(disks) == {f"LAB-BARE-1-{number}" for number in (1, 2, 3, 4)}
    assert {disk["size"] for disk in disks.values()} == {2 * GIB}
    assert len({disk["wwn"] for disk in disks.values()}) == 4
    assert all(disk["wwn"].startswith("0x3") for disk in disks.values())
    names = " ".join(f"/dev/{disk['name']}" for disk in disks.values())
    assert machine.ssh(f"wipefs --no-act --noheadings {names}").stdout == ""
    first = f"for disk in {names}; do head -c 1M $disk | tr -d '\\0' | wc -c; done"
    assert machine.ssh(first).stdout == "0\n" * 4
    assert machine.written_bytes() == 0, "nobody has written to them, all of them is a hole"


def test_a_server_as_it_comes(machine: Machine) -> None:
    assert machine.ssh("hostname").stdout == "bare-1\n"
    assert machine.ssh("getent hosts localhost bare-1 | wc -l").stdout.strip() == "2"
    assert machine.ssh("systemctl is-system-running --wait", check=False).stdout.strip() == "running"
    assert machine.ssh("systemctl --failed --no-legend").stdout == ""
    listening = machine.ssh("ss -Hltun").stdout
    ports = {line.split()[4].rpartition(":")[2] for line in listening.splitlines() if "127.0.0" not in line}
    assert ports <= {"22", "68"}, listening
    assert machine.ssh("python3 -c 'import apt, sys; print(sys.version_info[:2])'").stdout == "(3, 11)\n"
    assert machine.ssh("command -v mdadm lvm mkfs.xfs sudo zstd").stdout.count("\n") == 5
    loaded = machine.ssh("lsmod").stdout
    assert "raid6_pq" not in loaded, "its measurements cost seconds of every boot"


def test_the_root_has_the_whole_disk(machine: Machine) -> None:
    wait_for(
        lambda: machine.ssh("systemctl is-active stackctl-grow", check=False).stdout.strip() != "activating",
        "the growth of the root",
        timeout=600,
    )
    size = int(machine.ssh("df --block-size=1 --output=size / | tail -1").stdout)
    assert size > 7.5 * GIB


def test_no_secret_in_any_command_line(machine: Machine) -> None:
    pid = machine.pid()
    assert pid is not None
    words = Path(f"/proc/{pid}/cmdline").read_bytes()
    assert b"PRIVATE" not in words
    assert machine.record.host_key.encode() not in words
    for name in ("identity.tar", "known_hosts", "machine.json"):
        assert (machine.directory / name).stat().st_mode & 0o077 == 0


def test_nothing_of_it_listens_beyond_loopback(machine: Machine) -> None:
    said = subprocess.check_output(["ss", "-Hltnup"], text=True)
    ours = [line for line in said.splitlines() if f"pid={machine.pid()}," in line]
    assert len([line for line in ours if line.split()[4].startswith("127.0.0.1:")]) == 2
    assert all(line.split()[4].startswith("127.0.0.1:") for line in ours), said


def test_a_second_up_does_nothing(machine: Machine, lab_inventory: Path) -> None:
    before = (machine.pid(), boot_id(machine), machine.endpoint)
    done = stackctl(lab_inventory, "up")
    assert "already up" in done.stderr
    assert (machine.pid(), boot_id(machine), machine.endpoint) == before


def test_status(machine: Machine, lab_inventory: Path) -> None:
    (found,) = json.loads(stackctl(lab_inventory, "status", "--json").stdout)
    assert (found["host"], found["state"], found["pid"]) == ("bare-1", "running", machine.pid())
    assert (found["ssh_port"], found["web_port"]) == (machine.endpoint.port, machine.endpoint.web_port)
    assert len(found["disks"]) == 4
    assert found["accelerator"] in {"kvm", "tcg"}
    assert "bare-1" in stackctl(lab_inventory, "status").stdout


def test_ssh_runs_a_command_and_gives_its_code(machine: Machine, lab_inventory: Path) -> None:
    argv = [
        paths.program("stackctl"),
        "lab",
        "ssh",
        "-i",
        str(lab_inventory),
        "bare-1",
        "--",
        "echo a 'b  c'; exit 7",
    ]
    done = SystemRunner().run(argv, check=False)
    assert (done.returncode, done.stdout) == (7, "a b  c\n")
    short = SystemRunner().run([paths.program("stackctl"), "lab", "ssh", "-i", str(lab_inventory), "--", "hostname"])
    assert short.stdout == "bare-1\n"


def test_another_host_key_is_refused(machine: Machine) -> None:
    file = machine.endpoint.known_hosts
    right = file.read_text()
    file.write_text(known_hosts(state.LOOPBACK, machine.endpoint.port, make_key().public))
    try:
        refused = machine.ssh("true", check=False)
        assert refused.returncode == 255
        assert "Host key verification failed" in refused.stderr
        with pytest.raises(StackctlError, match="not the one that was made"):
            machine.wait_ssh()
        file.write_text("")
        assert machine.ssh("true", check=False).returncode == 255, "an unknown key is not accepted either"
    finally:
        file.write_text(right)
    assert machine.ssh("true").returncode == 0


def test_apt_installs_from_the_controllers_mirror(machine: Machine) -> None:
    machine.ssh("apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y hello", timeout=1800)
    assert "Hello" in machine.ssh("hello").stdout


def cut(machine: Machine, _: Path) -> None:
    """The power goes, and comes back."""
    machine.power_off()
    assert machine.power() is Power.OFF
    machine.power_on()
    machine.wait_ssh()


def reboot(machine: Machine, _: Path) -> None:
    """The guest reboots by itself, in the same QEMU."""
    before, pid = boot_id(machine), machine.pid()
    machine.ssh("systemctl reboot", check=False)

    def rebooted() -> bool:
        said = machine.ssh("cat /proc/sys/kernel/random/boot_id", check=False)
        return said.returncode == 0 and said.stdout.strip() != before

    wait_for(rebooted, "the reboot", timeout=900)
    assert machine.pid() == pid


def power_off(machine: Machine, inventory: Path) -> None:
    """The guest powers itself off, and `lab up` starts it."""
    machine.ssh("systemctl poweroff", check=False)
    wait_for(lambda: machine.power() is Power.OFF, "the end of the machine", timeout=600)
    (found,) = json.loads(stackctl(inventory, "status", "--json").stdout)
    assert found["state"] == "off"
    stackctl(inventory, "up")


def crash(machine: Machine, inventory: Path) -> None:
    """QEMU is killed, which is seen, and `lab up` starts it."""
    pid = machine.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: machine.power() is Power.CRASHED, "the crash", timeout=600)
    (found,) = json.loads(stackctl(inventory, "status", "--json").stdout)
    assert (found["state"], found["pid"]) == ("crashed", None)
    stackctl(inventory, "up")


ENDS: dict[str, Callable[[Machine, Path], None]] = {
    "power cut": cut,
    "reboot": reboot,
    "power off": power_off,
    "crash": crash,
}
"""Ways in which a machine ends and comes back."""


def test_it_comes_back_with_what_was_synced(machine: Machine, lab_inventory: Path, end: str) -> None:
    before, at = boot_id(machine), machine.endpoint
    machine.ssh(f"echo '{end}' > /root/kept && sync")
    ENDS[end](machine, lab_inventory)
    assert machine.power() is Power.RUNNING
    assert boot_id(machine) != before
    assert machine.endpoint == at, "ports stay the same"
    assert machine.ssh("cat /root/kept").stdout == f"{end}\n"


def test_a_disk_is_pulled(machine: Machine) -> None:
    with machine.qmp() as session:
        session.execute("device_del", id="data-disk-3")
        session.wait_event("DEVICE_DELETED", 300)
    wait_for(
        lambda: "LAB-BARE-1-3" not in {disk["serial"] for disk in block_devices(machine)},
        "the disk to go",
        timeout=600,
    )
    assert len([disk for disk in block_devices(machine) if disk["name"].startswith("sd")]) == 3


def test_down_refuses_to_delete_data_without_a_word(machine: Machine, lab_inventory: Path) -> None:
    machine.ssh(f"echo something > {FIRST_DISK} && sync")
    wait_for(lambda: machine.written_bytes() > 0, "the write", timeout=600)
    refused = stackctl(lab_inventory, "down", check=False)
    assert refused.returncode == ExitCode.REFUSED
    assert "bare-1" in refused.stderr
    assert "--keep-disks" in refused.stderr
    assert machine.power() is Power.RUNNING


def test_down_with_kept_disks_then_up(machine: Machine, lab_inventory: Path) -> None:
    stackctl(lab_inventory, "down", "--keep-disks")
    assert machine.power() is Power.OFF
    assert machine.pid() is None
    stackctl(lab_inventory, "up")
    assert len([disk for disk in block_devices(machine) if disk["name"].startswith("sd")]) == 4, "the pulled one too"
    said = machine.ssh(f"head -c 9 {FIRST_DISK}").stdout
    assert said == "something"
    assert "unclean" not in machine.ssh("dmesg | grep -i ext4").stdout


def test_the_accelerator_is_found_within_seconds() -> None:
    began = time.monotonic()
    found = accelerator.probe(SystemRunner())
    assert time.monotonic() - began < 60
    assert found.name in accelerator.ACCELERATORS
    assert found.reason


# From here on machines that never come up: they are killed on the way.


@pytest.fixture
def other(tmp_path: Path) -> Iterator[tuple[Path, Site]]:
    """The folder and model of a site of its own; whatever is left of its lab is removed."""
    (tmp_path / "stack.yml").write_text(
        "plugin: stackctl\nsite: other\nhosts:\n"
        "  one-1: {lab: {memory: 512 MiB, cpus: 1, disks: {count: 2, size: 1 GiB}}}\n"
        "  two-1: {lab: {memory: 512 MiB, cpus: 1, disks: {count: 1, size: 1 GiB, sectors: 4Kn}}}\n"
    )
    site = open_site(tmp_path).site
    yield tmp_path, site
    rack.down(site.site, agree=lambda _: True)


def start_up(inventory: Path) -> subprocess.Popen[bytes]:
    """Start `lab up`; Ctrl-C reaches it also where the tests run in the background of a shell, which ignores it."""
    return subprocess.Popen(
        ["env", "--default-signal=INT", paths.program("stackctl"), "lab", "up", "-i", str(inventory)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def qemus_in(folder: Path) -> list[int]:
    """The processes whose working directory is, or was, under ``folder``."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                where = (process / "cwd").readlink()
            except OSError:
                continue
            if str(where).startswith(str(folder)):
                found.append(int(process.name))
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "end" in metafunc.fixturenames:
        metafunc.parametrize("end", draw(metafunc.config, "ends", list(ENDS), 2))
    if "moment" in metafunc.fixturenames:
        metafunc.parametrize("moment", draw(metafunc.config, "moments", MOMENTS, 4))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_up_leaves_nothing_that_down_cannot_clean(
    other: tuple[Path, Site], moment: float, how: signal.Signals
) -> None:
    inventory, site = other
    process = start_up(inventory)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(how)
    process.wait(60)
    done = stackctl(inventory, "down")
    assert done.returncode == 0
    folder = state.site_directory(site.site)
    assert not folder.exists()
    assert qemus_in(folder) == []


def test_an_interrupted_up_goes_on(other: tuple[Path, Site]) -> None:
    inventory, site = other
    machines = rack.machines(site)
    process = start_up(inventory)
    wait_for(lambda: all(machine.pid() is not None for machine in machines), "the machines", timeout=600)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == ExitCode.INTERRUPTED
    pids = [machine.pid() for machine in machines]
    process = start_up(inventory)
    try:
        wait_for(
            lambda: is_held(state.site_directory(site.site) / "lock") or process.poll() is not None,
            "the lock",
            timeout=600,
        )
        wait_for(lambda: not is_held(state.site_directory(site.site) / "lock"), "the end of the lock", timeout=600)
        assert [machine.pid() for machine in machines] == pids, "running machines are not started anew"
    finally:
        process.kill()
        process.wait()


def test_two_ups_at_once_make_one_machine(other: tuple[Path, Site]) -> None:
    inventory, site = other
    first, second = start_up(inventory), start_up(inventory)
    try:
        machines = rack.machines(site)
        wait_for(
            lambda: all(state.endpoint(site.site, machine.host) for machine in machines), "the machines", timeout=600
        )
        wait_for(lambda: not is_held(state.site_directory(site.site) / "lock"), "the end of the lock", timeout=600)
        assert len(qemus_in(state.site_directory(site.site))) == 2
        assert first.poll() is None
        assert second.poll() is None
    finally:
        for process in (first, second):
            process.kill()
            process.wait()


def test_too_little_memory_is_told(other: tuple[Path, Site]) -> None:
    inventory, _ = other
    file = inventory / "stack.yml"
    file.write_text(file.read_text().replace("memory: 512 MiB", "memory: 100 TiB", 1))
    failed = stackctl(inventory, "up", check=False)
    assert failed.returncode == ExitCode.FAILED
    assert "one-1, two-1 need 100" in failed.stderr
    assert "hint" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_missing_qemu_is_told(other: tuple[Path, Site], tmp_path: Path) -> None:
    inventory, _ = other
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("apt-get", "apt-config", "setpriv"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    argv = [paths.program("stackctl"), "lab", "up", "-i", str(inventory)]
    failed = SystemRunner().run(argv, check=False, env={"PATH": str(tools)})
    assert failed.returncode == ExitCode.FAILED
    assert "qemu-system-x86_64 is not installed" in failed.stderr
    assert "scripts/bootstrap" in failed.stderr


def test_a_name_that_is_no_machine(other: tuple[Path, Site]) -> None:
    inventory, _ = other
    failed = stackctl(inventory, "up", "three-1", check=False)
    assert failed.returncode == ExitCode.USAGE
    assert "one-1, two-1" in failed.stderr


def test_an_operator_who_is_not_root(tmp_path: Path, private_state: Path) -> None:
    """A user with sudo, disks with large sectors, and more than one wait at once."""
    (tmp_path / "stack.yml").write_text(
        "plugin: stackctl\nsite: people\nhosts:\n"
        "  ops-1: {user: deploy, lab: {memory: 1 GiB, disks: {count: 2, size: 1 GiB, sectors: 512e}}}\n"
    )
    site = open_site(tmp_path).site
    machine = Machine(site.site, "ops-1")
    try:
        rack.up(site)
        waits = [threading.Thread(target=machine.wait_ssh) for _ in range(2)]
        for wait in waits:
            wait.start()
        for wait in waits:
            wait.join()
        assert machine.ssh("id -un; sudo -n id -un").stdout == "deploy\nroot\n"
        sectors = {
            (disk["log-sec"], disk["phy-sec"]) for disk in block_devices(machine) if disk["name"].startswith("sd")
        }
        assert sectors == {(512, 4096)}
    finally:
        rack.down(site.site, agree=lambda _: True)
    assert not state.site_directory(site.site).exists()
