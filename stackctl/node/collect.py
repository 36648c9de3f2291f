"""Collects what a server is and what is on its disks: one JSON document, read-only, tolerant of missing tools."""

import json
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

from . import claim, controllers, fingerprint, reports, signatures, usage
from .blocks import block_devices
from .process import ProcessError
from .system import System

FORMAT = 1
"""Counts up when the document changes so that an older reader would misread it."""

PROGRAMS = ("mdadm", "lvm", "mkfs.xfs", "mkfs.ext4", "sfdisk", "update-initramfs")
"""What a layout needs beyond Debian's essential packages."""

FILES = ("/etc/fstab", "/etc/mdadm/mdadm.conf")

_COLUMNS = "KNAME,TYPE,SIZE,SERIAL,WWN,MODEL,VENDOR,REV,TRAN,HCTL,PTTYPE,PTUUID,PARTTYPE,PARTUUID"


def collect(
    system: System | None = None, *, paths: Iterable[str] = (), ask_controllers: bool = True
) -> dict[str, Any]:
    """The facts of this server; ``paths`` are folders to be told about (mount points to be).

    The tools of RAID controllers take seconds to answer, and need not be asked where only disks are looked at.

    What could not be read is said under ``missing`` and ``errors``; a disk that cannot be read has its error
    there and counts as holding something unknown.
    """
    system = system or System()
    system.settle()
    errors: list[str] = []
    blocks = block_devices(system)
    facts: dict[str, Any] = {
        "format": FORMAT,
        "host": _host(system),
        "missing": [program for program in PROGRAMS if not _has(system, program)],
        "blocks": blocks,
        "lsblk": _lsblk(system, errors),
        "links": _links(system),
        "mounts": usage.mounts(system, blocks),
        "swaps": usage.swaps(system),
        "mdstat": system.text("/proc/mdstat") or "",
        "lvm": _lvm(system, errors) if _has(system, "lvm") else None,
        "controllers": controllers.ask(system, errors) if ask_controllers else [],
        "files": {path: _file(system, path) for path in FILES},
        "initramfs": usage.initramfs(system),
        "folders": {path: _folder(system, path) for path in paths},
    }
    readable = [name for name, device in blocks.items() if device["kind"] != "loop" and device["size"]]
    facts["signatures"] = _signatures(system, readable, errors)
    disks = [name for name, device in blocks.items() if device["kind"] == "disk"]
    partitioned = {str(device["disk"]) for device in blocks.values() if "disk" in device}
    bare = [name for name in disks if name not in facts["signatures"] and name not in partitioned]
    facts["lost"] = signatures.lost_on(system, bare)
    facts["superblocks"] = signatures.superblocks(system, facts["signatures"])
    facts["claims"] = {name: found for name in disks if (found := claim.read(system, name))}
    facts["errors"] = errors
    facts["fingerprints"] = {name: fingerprint.of_disk(facts, name) for name in disks}
    return facts


def _has(system: System, program: str) -> bool:
    return any(system.path(f"{folder}/{program}").exists() for folder in ("/usr/sbin", "/usr/bin", "/sbin", "/bin"))


def _host(system: System) -> dict[str, Any]:
    release = dict(line.split("=", 1) for line in (system.text("/etc/os-release") or "").splitlines() if "=" in line)
    memory = re.search(r"^MemTotal:\s+(\d+) kB", system.text("/proc/meminfo") or "", re.MULTILINE)
    models = re.findall(r"^model name\s*:\s*(.+)$", system.text("/proc/cpuinfo") or "", re.MULTILINE)
    name = os.uname()
    return {
        "name": (system.text("/proc/sys/kernel/hostname") or name.nodename).strip(),
        "kernel": (system.text("/proc/sys/kernel/osrelease") or name.release).strip(),
        "architecture": name.machine,
        "system": release.get("ID", "").strip('"'),
        "version": release.get("VERSION_ID", "").strip('"'),
        "vendor": str(system.value("/sys/class/dmi/id/sys_vendor") or ""),
        "product": str(system.value("/sys/class/dmi/id/product_name") or ""),
        "memory": int(memory.group(1)) * 1024 if memory else 0,
        "processors": len(models) or os.cpu_count() or 0,
        "processor": models[0].strip() if models else "",
    }


def _lsblk(system: System, errors: list[str]) -> list[dict[str, Any]]:
    said = system.runner.run(["lsblk", "--json", "--bytes", "--list", f"--output={_COLUMNS}"], check=False)
    found = reports.json_object(said.stdout).get("blockdevices", [])
    if not found:
        errors.append(f"lsblk told of no device: {said.stderr.strip()}")
    return [
        {key: value.strip() if isinstance(value, str) else value for key, value in device.items()} for device in found
    ]


def _links(system: System) -> dict[str, list[str]]:
    """The persistent names under /dev/disk/by-id and by-path, by device."""
    found: dict[str, list[str]] = {}
    for folder in ("/dev/disk/by-id", "/dev/disk/by-path"):
        for name in system.names(folder):
            if target := system.link(f"{folder}/{name}"):
                found.setdefault(target, []).append(f"{folder}/{name}")
    return found


def _lvm(system: System, errors: list[str]) -> list[dict[str, Any]]:
    report, error = reports.lvm(system)
    if error:
        errors.append(error)
    return report


def _file(system: System, path: str) -> dict[str, Any] | None:
    text = system.text(path)
    return None if text is None else {"text": text, "changed": system.path(path).stat().st_mtime_ns}


def _folder(system: System, path: str) -> dict[str, Any]:
    place = system.path(path)
    return {"exists": place.exists(), "folder": place.is_dir(), "empty": not system.names(path)}


def _signatures(system: System, names: list[str], errors: list[str]) -> dict[str, list[dict[str, Any]]]:
    """All at once, and one by one where a device cannot be read: those get a signature ``unreadable``."""
    try:
        return signatures.on_devices(system, names)
    except ProcessError:
        pass
    found: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        try:
            found.update(signatures.on_devices(system, [name]))
        except ProcessError as failure:
            errors.append(str(failure))
            found[name] = [{"type": "unreadable", "offset": 0, "uuid": "", "label": ""}]
    return found


if __name__ == "__main__":
    json.dump(collect(paths=sys.argv[1:]), sys.stdout, indent=1)
    sys.stdout.write("\n")
