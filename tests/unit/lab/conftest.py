"""Lab machines without an operating system: QEMU runs a boot sector that halts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl.lab import accelerator
from stackctl.lab.machine import Machine
from stackctl.process import SystemRunner
from stackctl.site.models import Host, LabDisks, LabMachine
from stackctl.units import GIB, MIB


@pytest.fixture
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private state directory, deeper than a socket's path may be."""
    home = tmp_path / ("deep" * 25)
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    return home


@pytest.fixture
def tiny(tmp_path: Path, state_home: Path) -> Iterator[Machine]:
    """A machine that was made but not started; it ends with the test."""
    image = tmp_path / "tiny.raw"
    image.write_bytes(accelerator.boot_sector().ljust(2 * MIB, b"\0"))
    description = Host(lab=LabMachine(memory=256 * MIB, cpus=1, system_disk=2 * GIB, disks=LabDisks(count=2)))
    machine = Machine("unit", "tiny-1")
    machine.create(image, description, "tcg", "ssh-ed25519 CLIENT", SystemRunner())
    yield machine
    machine.remove()
