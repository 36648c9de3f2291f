"""QEMU's command line: what the machine has, and what nobody may see or reach."""

from itertools import pairwise

import pytest

from stackctl.lab import qemu
from stackctl.lab.machine import forwarded_ports
from stackctl.lab.parts import data_disks, disk_serial, mac_address
from stackctl.lab.state import Record
from stackctl.site.models import LabDisks
from stackctl.units import GIB


def _record(**changes: object) -> Record:
    words: dict[str, object] = {
        "site": "lab",
        "host": "metal-1",
        "user": "root",
        "image": "/images/lab.raw",
        "memory": 3 * GIB,
        "cpus": 2,
        "system_disk": 8 * GIB,
        "disks": (data_disks("lab", "metal-1", LabDisks())),
        "mac": mac_address("lab", "metal-1"),
        "host_key": "ssh-ed25519 AAAA",
        "accelerator": "tcg",
    }
    return Record.model_validate({**words, **changes})


def _values(argv: list[str], option: str) -> list[str]:
    return [value for name, value in pairwise(argv) if name == option]


def test_forwards_are_on_loopback_only() -> None:
    netdev = _values(qemu.argv(_record(ssh_port=40022, web_port=40080)), "-netdev")[0]
    forwards = [word for word in netdev.split(",") if word.startswith("hostfwd=")]
    assert forwards == ["hostfwd=tcp:127.0.0.1:40022-:22", "hostfwd=tcp:127.0.0.1:40080-:80"]


def test_the_kernel_chooses_ports_at_the_first_start() -> None:
    netdev = _values(qemu.argv(_record()), "-netdev")[0]
    assert "tcp:127.0.0.1:0-:22" in netdev
    assert "tcp:127.0.0.1:0-:80" in netdev


def test_nothing_listens_but_the_forwards() -> None:
    words = qemu.argv(_record())
    assert _values(words, "-qmp") == ["unix:qmp.sock,server=on,wait=off"]
    assert not {"-vnc", "-spice", "-monitor", "-gdb", "-s"} & set(words)


def test_keys_come_from_a_file_and_not_from_the_command_line() -> None:
    words = qemu.argv(_record())
    assert _values(words, "-fw_cfg") == ["name=opt/io.systemd.credentials/stackctl.identity,file=identity.tar"]
    assert "ssh-ed25519" not in " ".join(words)


def test_every_data_disk_has_its_own_name() -> None:
    devices = [word for word in _values(qemu.argv(_record()), "-device") if word.startswith("scsi-hd,")]
    options = [dict(pair.split("=") for pair in device.split(",")[1:]) for device in devices]
    assert [option["serial"] for option in options] == [f"LAB-METAL-1-{number}" for number in (1, 2, 3, 4)]
    assert len({option["wwn"] for option in options}) == 4
    assert {option["wwn"][:3] for option in options} == {"0x3"}, "locally assigned names"
    assert {option["id"] for option in options} == {f"data-disk-{number}" for number in (1, 2, 3, 4)}
    assert {option["logical_block_size"] for option in options} == {"512"}


@pytest.mark.parametrize(
    ("sectors", "logical", "physical"), [("512n", 512, 512), ("512e", 512, 4096), ("4Kn", 4096, 4096)]
)
def test_sectors_as_asked(sectors: str, logical: int, physical: int) -> None:
    disks = data_disks("lab", "metal-1", LabDisks.model_validate({"count": 1, "sectors": sectors}))
    device = next(word for word in _values(qemu.argv(_record(disks=disks)), "-device") if "scsi-hd" in word)
    assert f"logical_block_size={logical},physical_block_size={physical}" in device


def test_without_data_disks_there_is_no_controller() -> None:
    assert "scsi" not in " ".join(qemu.argv(_record(disks=())))


def test_accelerators() -> None:
    assert _values(qemu.argv(_record(accelerator="tcg")), "-accel") == ["tcg,thread=multi"]
    assert _values(qemu.argv(_record(accelerator="kvm")), "-accel") == ["kvm"]


@pytest.mark.parametrize("host", ["a" * 63, "very-long-name-of-a-server-in-the-third-row", "metal-1"])
def test_serials_fit_and_differ(host: str) -> None:
    serials = [disk_serial(host, number) for number in range(1, 25)]
    assert len(set(serials)) == 24
    assert all(len(serial) <= 36 and serial == serial.upper() for serial in serials)
    assert all(serial.startswith("LAB-") for serial in serials)
    assert not set(serials) & {disk_serial(host[:-1] + "z", number) for number in range(1, 25)}


def test_names_of_hardware_are_stable_and_of_the_machine() -> None:
    assert mac_address("lab", "metal-1") == mac_address("lab", "metal-1")
    assert mac_address("lab", "metal-1") != mac_address("lab", "metal-2")
    assert mac_address("lab", "metal-1").startswith("52:54:00:")
    assert data_disks("a", "m", LabDisks())[0].wwn != data_disks("b", "m", LabDisks())[0].wwn


USERNET = (
    "Hub -1 (net0):\r\n  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r\n"
    "  TCP[HOST_FORWARD]   9       127.0.0.1 44515       10.0.2.15    22     0     0\r\n"
    "  TCP[ESTABLISHED]   12       127.0.0.1 44515       10.0.2.15    22     0     0\r\n"
    "  TCP[HOST_FORWARD]   8       127.0.0.1 44415       10.0.2.15    80     0     0\r\n"
)


def test_ports_are_read_from_qemu() -> None:
    assert forwarded_ports(USERNET) == {"ssh_port": 44515, "web_port": 44415}
