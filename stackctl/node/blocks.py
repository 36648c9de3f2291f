"""Block devices as sysfs shows them: sizes, limits, who lies on whom, the parts of md arrays."""

from typing import Any

from .system import System

_SECTOR = 512
"""sysfs counts sizes and starts in sectors of 512 bytes, whatever the disk's own are."""

_LIMITS = (
    "logical_block_size",
    "physical_block_size",
    "minimum_io_size",
    "optimal_io_size",
    "rotational",
    "discard_granularity",
    "read_ahead_kb",
    "scheduler",
    "write_cache",
)
_ARRAY = (
    "level",
    "layout",
    "chunk_size",
    "raid_disks",
    "metadata_version",
    "array_state",
    "degraded",
    "sync_action",
    "sync_completed",
    "component_size",
    "uuid",
    "bitmap/location",
)
_MEMBER = ("slot", "state", "offset", "size")
_PASSED_OVER = ("ram", "sr", "fd", "zram")


def block_devices(system: System) -> dict[str, dict[str, Any]]:
    """Every block device in use, by the kernel's name; sizes and starts in bytes."""
    devices = {}
    for name in system.names("/sys/class/block"):
        base = f"/sys/class/block/{name}"
        size = system.number(f"{base}/size") * _SECTOR
        unused = not size and not system.names(f"{base}/slaves")  # an array that has not started has members
        if unused or name.startswith(_PASSED_OVER) or system.number(f"{base}/hidden"):
            continue
        devices[name] = _device(system, name, base) | {"size": size}
    return devices


def _device(system: System, name: str, base: str) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "number": system.value(f"{base}/dev"),
        "read_only": bool(system.number(f"{base}/ro")),
        "alignment_offset": system.number(f"{base}/alignment_offset"),
        "holders": system.names(f"{base}/holders"),
        "slaves": system.names(f"{base}/slaves"),
    }
    partition = system.number(f"{base}/partition")
    if partition:
        facts["kind"] = "partition"
        facts["partition"] = partition
        facts["disk"] = system.path(base).resolve().parent.name
        facts["start"] = system.number(f"{base}/start") * _SECTOR
        facts["label"] = _event(system, base).get("PARTNAME", "")
        return facts
    facts["diskseq"] = system.number(f"{base}/diskseq")
    facts["removable"] = bool(system.number(f"{base}/removable"))
    facts["limits"] = {limit: system.value(f"{base}/queue/{limit}") for limit in _LIMITS}
    if system.names(f"{base}/md"):
        facts["kind"] = "md"
        facts["array"] = _array(system, f"{base}/md")
    elif system.names(f"{base}/dm"):
        facts["kind"] = "dm"
        facts["dm"] = {key: system.value(f"{base}/dm/{key}") for key in ("name", "uuid")}
    elif name.startswith("loop"):
        facts["kind"] = "loop"
    elif facts["slaves"]:
        facts["kind"] = "stacked"  # bcache, drbd and the like
    else:
        facts["kind"] = "disk"
    return facts


def _event(system: System, base: str) -> dict[str, str]:
    """The device's uevent file: the kernel's own reading of the partition table, never stale as udev's may be."""
    lines = (system.text(f"{base}/uevent") or "").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _array(system: System, base: str) -> dict[str, Any]:
    facts: dict[str, Any] = {key: system.value(f"{base}/{key}") for key in _ARRAY}
    facts["members"] = {
        name.removeprefix("dev-"): {key: system.value(f"{base}/{name}/{key}") for key in _MEMBER}
        for name in system.names(base)
        if name.startswith("dev-")
    }
    return facts


def descendants(devices: dict[str, dict[str, Any]], name: str) -> set[str]:
    """All devices that lie on the named one: its partitions, arrays, mappings, and what lies on those."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        upper = set(devices.get(current, {}).get("holders", ()))
        upper |= {other for other, facts in devices.items() if facts.get("disk") == current}
        waiting.extend(upper - found)
        found |= upper
    return found


def disks_below(devices: dict[str, dict[str, Any]], name: str) -> set[str]:
    """The disks that the named device lies on; itself, where it is a disk."""
    facts = devices.get(name, {})
    lower = list(facts.get("slaves", ()))
    if facts.get("kind") == "partition":
        lower.append(str(facts["disk"]))
    if not lower:
        return {name}
    return set().union(*(disks_below(devices, other) for other in lower))
