"""A lab from outside: the command line, and what a guest says of its disks."""

import json
from pathlib import Path
from typing import Any

from stackctl import paths
from stackctl.lab.machine import Machine
from stackctl.process import Result, SystemRunner


def stackctl(inventory: Path, *words: str, check: bool = True) -> Result:
    """Run the command line as an operator without a terminal does."""
    argv = [paths.program("stackctl"), "lab", *words, "-i", str(inventory)]
    return SystemRunner().run(argv, check=check, timeout=1800)


def block_devices(machine: Machine) -> list[dict[str, Any]]:
    said = machine.ssh("lsblk --json --bytes --nodeps -o NAME,SIZE,SERIAL,WWN,TYPE,LOG-SEC,PHY-SEC").stdout
    found: list[dict[str, Any]] = json.loads(said)["blockdevices"]
    return found
