"""What is written on block devices: magic numbers, file-system and RAID superblocks, lost partitions."""

import uuid
from collections.abc import Iterable
from typing import Any

from .reports import json_object
from .system import System

LOST_PARTITION_STARTS = (1 << 20, 63 * 512)
"""Where a first partition begins by the customs of today and of yesterday."""

_AMBIVALENT = 8
"""How blkid ends where it finds signs of more than one thing (blkid(8))."""
_SUPERBLOCK = 512
_PAGE = 4096
_RAW = {"xfs": 0, "ext4": 1024, "swap": 1024, "linux_raid_member": None}
"""Superblocks that are kept raw: at a fixed offset, or (None) where the signature lies."""
_IDENTITIES = {"xfs": (0, b"XFSB", 32), "ext4": (1080, b"\x53\xef", 1128), "swap": (4086, b"SWAPSPACE2", 1036)}
"""Where the magic number of a kind lies, the number, and where the UUID lies."""


def on_devices(system: System, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The signatures on each named device that has any: ``type``, ``offset``, ``uuid``, ``label``.

    Raises ProcessError when a device cannot be read: silence would look like a blank disk.
    """
    names = list(names)
    if not names:
        return {}
    said = system.runner.run(["wipefs", "--no-act", "--json", *(str(system.device(name)) for name in names)])
    found: dict[str, list[dict[str, Any]]] = {}
    for signature in json_object(said.stdout).get("signatures", []):
        found.setdefault(signature["device"], []).append(
            {
                "type": signature["type"],
                "offset": int(str(signature["offset"]), 0),
                "uuid": signature.get("uuid") or "",
                "label": signature.get("label") or "",
            }
        )
    return found


def lost_on(system: System, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """What begins on each named disk where a first partition would: its table may have been lost."""
    probed = {name: [_probed(system, name, start) for start in LOST_PARTITION_STARTS] for name in names}
    return {name: found for name, places in probed.items() if (found := [place for place in places if place])}


def _probed(system: System, name: str, start: int) -> dict[str, Any] | None:
    """What begins at a place. One device a process: of several, blkid stops at the first that holds nothing."""
    words = ["--probe", f"--offset={start}", "--output=export", "--usages=filesystem,raid,crypto,other"]
    said = system.runner.run(["blkid", *words, str(system.device(name))], check=False)
    values = dict(line.split("=", 1) for line in said.stdout.splitlines() if "=" in line)
    kind = values.get("TYPE", "several signatures" if said.returncode == _AMBIVALENT else "")
    if not kind:
        return None
    return {"type": kind, "offset": start, "uuid": values.get("UUID", ""), "label": values.get("LABEL", "")}


def superblocks(system: System, signatures: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, str]]:
    """The raw superblocks (hexadecimal) of the kinds whose geometry we read, by kind and device."""
    found: dict[str, dict[str, str]] = {}
    for name, present in signatures.items():
        for signature in present:
            kind = signature["type"]
            if kind in _RAW:
                offset = _RAW[kind]
                block = system.read_at(name, signature["offset"] if offset is None else offset, _SUPERBLOCK)
                found.setdefault(kind, {})[name] = block.hex()
    return found


def filesystem_uuid(system: System, name: str, kind: str) -> str:
    """The UUID of the file system (or swap space) of a kind on a device; nothing where there is none."""
    place, magic, at = _IDENTITIES[kind]
    block = system.read_at(name, 0, _PAGE) if name else b""
    return str(uuid.UUID(bytes=block[at : at + 16])) if block[place : place + len(magic)] == magic else ""
