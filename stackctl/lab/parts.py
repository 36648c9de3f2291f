"""What a lab machine is made of, from the words of the site: sizes, and names of hardware that never change."""

import hashlib
from pathlib import Path

from stackctl.lab.state import DataDisk, Record
from stackctl.site.models import Host, LabDisks

SECTORS = {"512n": (512, 512), "512e": (512, 4096), "4Kn": (4096, 4096)}
"""Logical and physical sector of a disk, in bytes."""

_SERIAL_LENGTH = 36
_LOCALLY_ASSIGNED = 3 << 60


def plan(site: str, host: str, description: Host, *, image: Path, accelerator: str, host_key: str) -> Record:
    """The record of a machine that was never started."""
    lab = description.lab
    if lab is None:
        raise ValueError(f"{host} is no lab machine")
    return Record(
        site=site,
        host=host,
        user=description.user,
        image=str(image),
        memory=lab.memory,
        cpus=lab.cpus,
        system_disk=lab.system_disk,
        disks=data_disks(site, host, lab.disks),
        mac=mac_address(site, host),
        host_key=host_key,
        accelerator=accelerator,
    )


def data_disks(site: str, host: str, wanted: LabDisks) -> tuple[DataDisk, ...]:
    """The blank disks of a machine: serials count from 1, worldwide names are made from site, host and number."""
    logical, physical = SECTORS[wanted.sectors]
    return tuple(
        DataDisk(
            serial=disk_serial(host, number),
            wwn=_LOCALLY_ASSIGNED | int.from_bytes(_hash(f"{site}/{host}/{number}", 8)) >> 4,
            size=wanted.size,
            file=f"data-{number}.raw",
            logical_block=logical,
            physical_block=physical,
        )
        for number in range(1, wanted.count + 1)
    )


def disk_serial(host: str, number: int) -> str:
    """``LAB-HOST-NUMBER``; a name too long for a SCSI serial is cut and made unique."""
    serial = f"LAB-{host.upper()}-{number}"
    if len(serial) > _SERIAL_LENGTH:
        mark = _hash(host, 4).hex().upper()
        serial = f"LAB-{host.upper()[: _SERIAL_LENGTH - 17]}-{mark}-{number}"
    return serial


def mac_address(site: str, host: str) -> str:
    """A stable address under QEMU's prefix."""
    return "52:54:00:" + ":".join(f"{byte:02x}" for byte in _hash(f"{site}/{host}", 3))


def _hash(text: str, length: int) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:length]
