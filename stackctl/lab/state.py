"""What is kept of lab machines: where the files lie, and the record that each machine has."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from stackctl import paths
from stackctl.errors import StackctlError
from stackctl.site.models import Model

LOOPBACK = "127.0.0.1"
RECORD = "machine.json"
KNOWN_HOSTS = "known_hosts"
CLIENT_KEY = "id_ed25519"


class DataDisk(Model):
    """A blank disk that the machine got; sizes in bytes."""

    serial: str
    wwn: int
    size: int
    file: str
    logical_block: int = 512
    physical_block: int = 512


class Record(Model):
    """A lab machine as it was made; a machine is started again from its record alone."""

    site: str
    host: str
    user: str
    image: str
    memory: int
    cpus: int
    system_disk: int
    disks: tuple[DataDisk, ...]
    mac: str
    host_key: str
    """The public half, as known_hosts has it."""
    accelerator: str
    ssh_port: int = 0
    """A port on loopback; 0 until the machine was started once."""
    web_port: int = 0


@dataclass(frozen=True)
class Endpoint:
    """How to reach a lab machine by SSH, and the loopback port that leads to its port 80."""

    address: str
    port: int
    user: str
    identity_file: Path
    known_hosts: Path
    web_port: int


def site_directory(site: str) -> Path:
    """Where the machines of a site are kept; not made here."""
    return paths.state("lab") / site


def machine_directory(site: str, host: str) -> Path:
    """Where one machine is kept; not made here."""
    return site_directory(site) / "machines" / host


def machine_names(site: str) -> tuple[str, ...]:
    """The machines that left anything on disk, also those that were never finished."""
    folder = site_directory(site) / "machines"
    return tuple(sorted(entry.name for entry in folder.iterdir())) if folder.is_dir() else ()


def read(site: str, host: str) -> Record | None:
    """The machine's record, or None where none was made.

    Raises StackctlError when the record cannot be read back.
    """
    file = machine_directory(site, host) / RECORD
    try:
        return Record.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise StackctlError(
            f"{file} is not the record of a lab machine", hint="stackctl lab down removes the machine"
        ) from None


def write(record: Record) -> None:
    """Keep the record; a reader sees the old one or the new one."""
    write_file(machine_directory(record.site, record.host) / RECORD, record.model_dump_json(indent=2) + "\n")


def write_file(file: Path, text: str | bytes) -> None:
    """Put ``file`` in place at once, readable by its owner only."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(handle, "wb") as temporary:
        temporary.write(text.encode() if isinstance(text, str) else text)
    Path(name).replace(file)


def endpoint(site: str, host: str) -> Endpoint | None:
    """How to reach the machine; None where it was never started. Reads one small file."""
    record = read(site, host)
    if record is None or not record.ssh_port:
        return None
    return Endpoint(
        address=LOOPBACK,
        port=record.ssh_port,
        user=record.user,
        identity_file=site_directory(site) / CLIENT_KEY,
        known_hosts=machine_directory(site, host) / KNOWN_HOSTS,
        web_port=record.web_port,
    )
