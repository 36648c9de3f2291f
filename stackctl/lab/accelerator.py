"""Finds how QEMU may run guests here, by running a tiny one: a device file proves nothing."""

import json
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from stackctl import paths
from stackctl.errors import StackctlError
from stackctl.lab.qemu import ACCELERATORS, PROGRAM
from stackctl.lab.state import write_file
from stackctl.process import Runner, SystemRunner
from stackctl.units import MIB

PATIENCE = 4.0
"""Seconds that the tiny guest gets; firmware and boot sector take well under one where the accelerator works."""
_PATIENCE_TCG = 60.0

_SECTOR = 512
_DISK = 2 * MIB
"""The firmware gives no cylinder to a smaller disk, and then does not read it."""
_EXIT_PORT = 0xF4
_SAID = 0x2A
_EXIT_CODE = _SAID << 1 | 1
"""isa-debug-exit makes QEMU end with this code when ``_SAID`` is written to its port."""

KVM_DEVICE = Path("/dev/kvm")


@dataclass(frozen=True)
class Accelerator:
    """``kvm`` or ``tcg``, and why."""

    name: str
    reason: str


def boot_sector() -> bytes:
    """A guest of eight bytes: ``mov dx, PORT; mov al, SAID; out dx, al; hlt; jmp`` back to hlt."""
    code = bytes([0xBA, *_EXIT_PORT.to_bytes(2, "little"), 0xB0, _SAID, 0xEE, 0xF4, 0xEB, 0xFD])
    return code.ljust(_SECTOR - 2, b"\0") + b"\x55\xaa"


def probe_argv(name: str, disk: Path) -> list[str]:
    """QEMU's command line that boots the tiny guest."""
    return [
        *(PROGRAM, "-nodefaults", "-no-user-config", "-machine", "q35", *ACCELERATORS[name]),
        *("-m", "16", "-display", "none", "-vga", "none", "-no-reboot", "-boot", "strict=on"),
        *("-device", f"isa-debug-exit,iobase={_EXIT_PORT:#x},iosize=1"),
        *("-blockdev", f"driver=file,node-name=disk,filename={disk},read-only=on"),
        *("-device", "virtio-blk-pci,drive=disk,bootindex=1"),
    ]


def find(runner: Runner | None = None) -> Accelerator:
    """The accelerator of this machine, remembered until it boots again or has another QEMU.

    Raises StackctlError when QEMU is missing or runs no guest at all.
    """
    cache = paths.cache() / "accelerator.json"
    key = _circumstances()
    remembered = _remembered(cache, key)
    if remembered is None:
        remembered = probe(runner or SystemRunner())
        write_file(cache, json.dumps({"key": key, **asdict(remembered)}) + "\n")
    return remembered


def probe(runner: Runner, *, patience: float = PATIENCE, device: Path = KVM_DEVICE) -> Accelerator:
    """Try KVM where there is a device for it, else emulation."""
    reason = _why_no_kvm(runner, patience, device)
    if reason is None:
        return Accelerator("kvm", "a guest ran under KVM")
    wrong = _try("tcg", runner, _PATIENCE_TCG)
    if wrong is not None:
        raise StackctlError(
            f"QEMU runs no guest on this machine: {wrong}",
            hint=f"try {PROGRAM} by hand; scripts/bootstrap installs it",
        )
    return Accelerator("tcg", f"emulation, as {reason}")


def _why_no_kvm(runner: Runner, patience: float, device: Path) -> str | None:
    """None where KVM works."""
    if not device.exists():
        return f"there is no {device}"
    try:
        with device.open("r+b", buffering=0):
            pass
    except OSError as failure:
        return f"{device} cannot be opened: {failure.strerror}"
    wrong = _try("kvm", runner, patience)
    return None if wrong is None else f"{device} is there but {wrong}"


def _try(name: str, runner: Runner, patience: float) -> str | None:
    """Run the tiny guest; None when it spoke, else what happened."""
    with tempfile.TemporaryDirectory(prefix="stackctl-probe-") as folder:
        disk = Path(folder) / "disk"
        disk.write_bytes(boot_sector().ljust(_DISK, b"\0"))
        began = time.monotonic()
        argv = ["timeout", "--signal=KILL", f"{patience:g}", *probe_argv(name, disk)]
        result = runner.run(argv, check=False, timeout=patience + 10)
    if result.returncode == _EXIT_CODE:
        return None
    if time.monotonic() - began >= patience:
        return f"a guest hangs under {name.upper()}"
    said = (result.stderr or result.stdout).strip().splitlines()
    last = said[-1].removeprefix(f"{PROGRAM}: ") if said else f"QEMU ended with {result.returncode}"
    return f"a guest fails under {name.upper()}: {last}"


def _circumstances() -> str:
    """What the answer depends on: this boot of the machine, this QEMU, the device and who asks."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise StackctlError(f"{PROGRAM} is not installed", hint="scripts/bootstrap installs what stackctl needs")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {program} {Path(program).stat().st_mtime_ns} {KVM_DEVICE.exists()}"


def _remembered(cache: Path, key: str) -> Accelerator | None:
    try:
        words = json.loads(cache.read_bytes())
        return Accelerator(words["name"], words["reason"]) if words["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
