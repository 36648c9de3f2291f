"""QEMU's command line for a lab machine. Paths in it are relative to the machine's directory."""

from collections.abc import Iterator

from stackctl.lab.state import LOOPBACK, DataDisk, Record
from stackctl.units import MIB

PROGRAM = "qemu-system-x86_64"
SYSTEM_DISK = "system.qcow2"
IDENTITY = "identity.tar"
QMP = "qmp.sock"
SERIAL_LOG = "serial.log"
PID_FILE = "qemu.pid"
CREDENTIAL = "opt/io.systemd.credentials/stackctl.identity"

ACCELERATORS = {
    "kvm": ("-accel", "kvm", "-cpu", "host"),
    "tcg": ("-accel", "tcg,thread=multi", "-cpu", "max"),
}


def argv(record: Record) -> list[str]:
    """The whole command line. A port of 0 lets the kernel choose one that is free.

    A guest that powers itself off leaves QEMU paused, so a QEMU that is gone unasked has crashed.
    """
    return [
        *(PROGRAM, "-nodefaults", "-no-user-config", "-name", f"{record.site}/{record.host}"),
        *("-machine", "q35", *ACCELERATORS[record.accelerator]),
        *("-smp", str(record.cpus), "-m", str(record.memory // MIB)),
        *("-display", "none", "-vga", "none", "-action", "shutdown=pause"),
        *("-pidfile", PID_FILE, "-qmp", f"unix:{QMP},server=on,wait=off"),
        *("-chardev", f"file,id=console,path={SERIAL_LOG}", "-serial", "chardev:console"),
        *("-fw_cfg", f"name={CREDENTIAL},file={IDENTITY}"),
        *("-device", "virtio-rng-pci"),
        *_network(record),
        *_system_disk(),
        *_data_disks(record.disks),
    ]


def _network(record: Record) -> Iterator[str]:
    forwards = ((record.ssh_port, 22), (record.web_port, 80))
    rules = "".join(f",hostfwd=tcp:{LOOPBACK}:{port}-:{guest}" for port, guest in forwards)
    yield from ("-netdev", f"user,id=net0,ipv6=off{rules}")
    yield from ("-device", f"virtio-net-pci,netdev=net0,mac={record.mac},romfile=")


def _system_disk() -> Iterator[str]:
    yield from ("-blockdev", f"driver=file,node-name=system-file,filename={SYSTEM_DISK},discard=unmap")
    yield from ("-blockdev", "driver=qcow2,node-name=system,file=system-file,discard=unmap")
    yield from ("-device", "virtio-blk-pci,id=system-disk,drive=system,bootindex=1,serial=SYSTEM")


def _data_disks(disks: tuple[DataDisk, ...]) -> Iterator[str]:
    if not disks:
        return
    yield from ("-device", "virtio-scsi-pci,id=scsi0")
    for number, disk in enumerate(disks, start=1):
        yield from (
            "-blockdev",
            f"driver=file,node-name=data-{number}-file,filename={disk.file},discard=unmap,cache.no-flush=on",
        )
        yield from (
            "-blockdev",
            f"driver=raw,node-name=data-{number},file=data-{number}-file,discard=unmap,detect-zeroes=unmap",
        )
        options = {
            "id": f"data-disk-{number}",
            "drive": f"data-{number}",
            "bus": "scsi0.0",
            "channel": 0,
            "scsi-id": number,
            "lun": 0,
            "serial": disk.serial,
            "wwn": f"{disk.wwn:#018x}",
            "logical_block_size": disk.logical_block,
            "physical_block_size": disk.physical_block,
        }
        yield from ("-device", "scsi-hd," + ",".join(f"{name}={value}" for name, value in options.items()))
