"""A short word for all that matters about one disk: it changes when anything on the disk does."""

import hashlib
import json
from typing import Any

from .blocks import descendants


def of_disk(facts: dict[str, Any], name: str) -> str:
    """The fingerprint of the named disk in collected facts.

    It holds who the disk is, what is written on it and what lies on it or uses it; never the kernel's names,
    which change from boot to boot, nor how far a resync is.
    """
    blocks: dict[str, dict[str, Any]] = facts["blocks"]
    described = {device["kname"]: device for device in facts["lsblk"]}
    upper = descendants(blocks, name)
    partitions = sorted((other for other in upper if blocks[other].get("disk") == name), key=_number(blocks))
    seen = {
        "serial": described.get(name, {}).get("serial"),
        "wwn": described.get(name, {}).get("wwn"),
        "size": blocks[name]["size"],
        "read_only": blocks[name]["read_only"],
        "table": described.get(name, {}).get("ptuuid"),
        "signatures": _signatures(facts, name),
        "lost": facts["lost"].get(name, []),
        "claim": facts["claims"].get(name),
        "partitions": [
            {key: blocks[other][key] for key in ("partition", "start", "size", "label")}
            | {"signatures": _signatures(facts, other)}
            for other in partitions
        ],
        "above": sorted(_identity(blocks[other]) for other in upper if blocks[other]["kind"] != "partition"),
        "mounts": sorted(mount["path"] for mount in facts["mounts"] if mount["device"] in {name, *upper}),
        "swaps": sum(1 for other in {name, *upper} if other in facts["swaps"]),
    }
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:16]


def _number(blocks: dict[str, dict[str, Any]]) -> Any:
    return lambda name: blocks[name]["partition"]


def _signatures(facts: dict[str, Any], name: str) -> list[list[Any]]:
    return sorted([item["offset"], item["type"], item["uuid"]] for item in facts["signatures"].get(name, []))


def _identity(device: dict[str, Any]) -> str:
    return str(device.get("array", {}).get("uuid") or device.get("dm", {}).get("uuid") or device["kind"])
