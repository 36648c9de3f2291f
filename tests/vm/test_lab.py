"""A lab machine as an operator meets it: up, again, rebooted, cut off, pulled apart, gone."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackctl import paths
from stackctl.errors import ExitCode, StackctlError
from stackctl.lab import rack, state
from stackctl.lab.identity import known_hosts, make_key
from stackctl.lab.machine import Machine, Power
from stackctl.process import SystemRunner
from stackctl.site.load import open_site
from stackctl.units import GIB
from tests.conftest import draw
from tests.lib.lab import block_devices, stackctl
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


def boot_id(machine: Machine) -> str:
    return machine.ssh("cat /proc/sys/kernel/random/boot_id").stdout.strip()


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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "end" in metafunc.fixturenames:
        metafunc.parametrize("end", draw(metafunc.config, "ends", list(ENDS), 2))


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
