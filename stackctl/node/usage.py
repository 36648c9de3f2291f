"""What uses block devices (mounts, swap), and the boot images."""

import re
from typing import Any

from .system import System

_OCTAL = re.compile(r"\\(\d{3})")


def mounts(system: System, blocks: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    """What is mounted from block devices, in the order of mounting."""
    numbers = {device["number"]: name for name, device in blocks.items()}
    found = []
    for line in (system.text("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, source = before.split(), after.split()
        if len(fields) < 6 or len(source) < 3 or not source[1].startswith("/dev/"):
            continue
        found.append(
            {
                # btrfs mounts by numbers that no device has
                "device": numbers.get(fields[2]) or system.path(_plain(source[1])).resolve().name,
                "root": _plain(fields[3]),
                "path": _plain(fields[4]),
                "type": source[0],
                "options": ",".join(dict.fromkeys((fields[5] + "," + source[2]).split(","))),
            }
        )
    return found


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), text)


def swaps(system: System) -> list[str]:
    """The kernel's names of the devices that are swapped to."""
    lines = (system.text("/proc/swaps") or "").splitlines()[1:]
    paths = [_plain(line.split()[0]) for line in lines if line.strip()]
    return [system.path(path).resolve().name for path in paths if path.startswith("/dev/")]


def initramfs(system: System) -> dict[str, int]:
    """The boot images of installed kernels, and when each was made (nanoseconds); copies beside them do not count."""
    kernels = [name.removeprefix("vmlinuz-") for name in system.names("/boot") if name.startswith("vmlinuz-")]
    images = {f"/boot/initrd.img-{kernel}": system.path(f"/boot/initrd.img-{kernel}") for kernel in kernels}
    return {name: image.stat().st_mtime_ns for name, image in images.items() if image.exists()}
