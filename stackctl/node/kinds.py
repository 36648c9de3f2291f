"""The kinds of steps: how each is checked, prepared, and known to be done."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import claim, reports, signatures, tables, usage
from .blocks import block_devices, descendants, disks_below
from .devices import Devices
from .errors import NodeError
from .system import System

Step = dict[str, Any]

_RUNNING = ("clean", "active", "active-idle", "write-pending", "readonly", "read-auto")
_WAIT = 120.0
"""How long a device node may take to appear, in seconds."""


@dataclass(frozen=True)
class Context:
    """What the steps of one run work with."""

    system: System
    devices: Devices


def _nothing(step: Step, context: Context) -> None:
    """For kinds that have no such part."""


@dataclass(frozen=True)
class Kind:
    """A kind of step. ``check`` runs for all steps before the first write, and raises NodeError to refuse;
    ``done`` tells whether there is nothing to do, ``half_done`` whether the commands are not needed any more;
    ``before`` and ``after`` frame the commands."""

    done: Callable[[Step, Context], bool]
    half_done: Callable[[Step, Context], bool] = lambda step, context: False
    check: Callable[[Step, Context], None] = _nothing
    before: Callable[[Step, Context], None] = _nothing
    after: Callable[[Step, Context], None] = _nothing


def _settle(step: Step, context: Context) -> None:
    context.system.settle()


# What is stopped: arrays and groups on disks that are wiped, or that an unfinished run has left.


def _release_check(step: Step, context: Context) -> None:
    blocks = block_devices(context.system)
    named = {context.devices.disk(key) for key in step["disks"]}
    mounted = {mount["device"] for mount in usage.mounts(context.system, blocks)}
    for name in _released(step, blocks):
        if others := disks_below(blocks, name) - named:
            raise NodeError(
                f"{name} also lies on {', '.join(sorted(others))}, which are not to be wiped", kind="refused"
            )
        if used := ({name} | descendants(blocks, name)) & (mounted | set(usage.swaps(context.system))):
            raise NodeError(f"{', '.join(sorted(used))} came into use since the plan was made", kind="refused")


def _released(step: Step, blocks: dict[str, dict[str, Any]]) -> list[str]:
    groups = tuple("LVM-" + uuid.replace("-", "") for uuid in step["params"]["groups"])
    return [
        name
        for name, device in blocks.items()
        if device.get("array", {}).get("uuid") in step["params"]["arrays"]
        or (groups and str(device.get("dm", {}).get("uuid")).startswith(groups))
    ]


def _release_done(step: Step, context: Context) -> bool:
    return not _released(step, block_devices(context.system))


# Whole disks.


def _free_check(step: Step, context: Context) -> None:
    """Nothing may hold the disk, but what a step before this one stops."""
    blocks = block_devices(context.system)
    for key in step["disks"]:
        disk = context.devices.disk(key)
        above = descendants(blocks, disk)
        stacked = any(blocks[name]["kind"] != "partition" for name in above)
        busy = [name for name in (disk, *sorted(above)) if not context.system.free(name)]
        if busy and not stacked:
            raise NodeError(
                f"disk {key} is in use by something that cannot be seen from here ({', '.join(busy)})",
                kind="refused",
                hint="a container or a program has it open; stop that first",
            )


def _wipe_done(step: Step, context: Context) -> bool:
    (key,) = step["disks"]
    disk = context.devices.disk(key)
    if context.devices.partitions(key):
        return False
    return not signatures.on_devices(context.system, [disk]) and not signatures.lost_on(context.system, [disk])


def _partition_done(step: Step, context: Context) -> bool:
    (key,) = step["disks"]
    disk, wanted = context.devices.disk(key), step["params"]
    names = context.devices.partitions(key)
    if len(names) != 1:
        return False
    found = block_devices(context.system)[names[0]]
    if any(found[word] != wanted[word] for word in ("label", "start", "size")):
        return False
    written = signatures.on_devices(context.system, [disk]).get(disk, [])
    return sum(1 for signature in written if signature["type"] == "gpt") == 2


def _partition_before(step: Step, context: Context) -> None:
    (key,) = step["disks"]
    disk = context.devices.disk(key)
    if claim.read(context.system, disk) != step["params"]["claim"]:
        claim.write(context.system, disk, step["params"]["claim"])


def _partition_after(step: Step, context: Context) -> None:
    (key,) = step["disks"]
    _settle(step, context)
    wait_for(lambda: bool(context.devices.partitions(key)), f"the partition on {key}")
    name = context.devices.partition(key)
    wait_for(lambda: context.system.device(name).exists(), f"the device node of {name}")


def _unclaim_done(step: Step, context: Context) -> bool:
    return not any(claim.read(context.system, context.devices.disk(key)) for key in step["disks"])


def _unclaim_before(step: Step, context: Context) -> None:
    disks = [context.devices.disk(key) for key in step["disks"]]
    for disk in disks:
        context.system.flush(disk)  # what makes the group whole is on the medium before the claims go
    for disk in disks:
        claim.erase(context.system, disk)


# Arrays.


def _array_done(step: Step, context: Context) -> bool:
    blocks = block_devices(context.system)
    wanted = step["params"]
    members = {name for key in step["disks"] for name in context.devices.partitions(key)}
    above = {holder for name in members for holder in blocks[name]["holders"]}
    if len(members) != len(step["disks"]) or len(above) != 1:
        return False
    array = blocks[above.pop()].get("array", {})
    placed = [name for name, member in array.get("members", {}).items() if isinstance(member["slot"], int)]
    return (
        array.get("array_state") in _RUNNING
        and not array["degraded"]
        and set(array["members"]) == members
        and len(placed) == array["raid_disks"]
        and (array["level"], array["chunk_size"] or 0, array["raid_disks"])
        == (wanted["level"], wanted["chunk"], len(members) - wanted["spares"])
        and wanted["layout"] in (None, array["layout"])
    )


def _array_before(step: Step, context: Context) -> None:
    """Stop what udev may have put together from what an unfinished run has left, when it lies on these alone."""
    blocks = block_devices(context.system)
    members = {context.devices.partition(key) for key in step["disks"]}
    above = {holder for name in members for holder in blocks[name]["holders"]}
    for name in sorted(above):
        if blocks[name]["kind"] == "md" and set(blocks[name]["slaves"]) <= members:
            context.system.runner.run(["mdadm", "--stop", f"/dev/{name}"])


def _array_after(step: Step, context: Context) -> None:
    _settle(step, context)
    wait_for(lambda: context.system.path(_array_path(step)).exists(), _array_path(step))


def _array_path(step: Step) -> str:
    return str(step["params"]["path"])


def _bitmap_done(step: Step, context: Context) -> bool:
    device = context.system.link(_array_path(step)) or ""
    array = block_devices(context.system).get(device, {}).get("array", {})
    has = str(array.get("bitmap/location") or "").startswith(("+", "-"))
    return has == bool(step["params"]["bitmap"] == "internal")


def _joined(step: Step, context: Context) -> bool:
    """Whether a partition of the disk hangs in the array."""
    (key,) = step["disks"]
    device = context.system.link(_array_path(step)) or ""
    members = block_devices(context.system).get(device, {}).get("array", {}).get("members", {})
    return bool(set(context.devices.partitions(key)) & set(members))


def _assemble_done(step: Step, context: Context) -> bool:
    blocks = block_devices(context.system)
    return any(
        blocks[name]["array"]["array_state"] in _RUNNING for name in context.devices.arrays(step["params"]["uuid"])
    )


# LVM.


def _group(context: Context, name: str) -> dict[str, Any] | None:
    report, _ = reports.lvm(context.system)
    return next((part for part in report if any(row["vg_name"] == name for row in part.get("vg", ()))), None)


def _volume(context: Context, group: str, name: str) -> dict[str, str] | None:
    rows = (_group(context, group) or {}).get("lv", ())
    return next((row for row in rows if row["lv_name"] == name), None)


def _group_done(step: Step, context: Context) -> bool:
    found = _group(context, step["params"]["name"])
    if found is None or step["params"]["tag"] not in found["vg"][0]["vg_tags"].split(","):
        return False
    path = step["params"]["path"]
    below = context.system.link(path) if path else context.devices.partition(step["disks"][0])
    number = block_devices(context.system).get(below or "", {}).get("number")
    return [f"{row['pv_major']}:{row['pv_minor']}" for row in found["pv"]] == [number]


def _activate_done(step: Step, context: Context) -> bool:
    found = _group(context, step["params"]["name"]) or {"lv": ()}
    return all(row["lv_active"] == "active" for row in found["lv"])


def _volume_done(step: Step, context: Context) -> bool:
    """The device-mapper tells it without a process: it doubles the hyphens of names."""
    wanted = step["params"]
    mapped = "-".join(wanted[word].replace("-", "--") for word in ("group", "name"))
    blocks = block_devices(context.system).values()
    return any(device.get("dm", {}).get("name") == mapped and device["size"] == wanted["size"] for device in blocks)


def _volume_after(step: Step, context: Context) -> None:
    _settle(step, context)
    node = f"/dev/{step['params']['group']}/{step['params']['name']}"
    wait_for(lambda: context.system.path(node).exists(), node)


def _filesystem_done(step: Step, context: Context) -> bool:
    wanted = step["params"]
    device = context.system.link(f"/dev/{wanted['group']}/{wanted['name']}") or ""
    if not signatures.filesystem_uuid(context.system, device, wanted["type"]):
        return False
    found = _volume(context, wanted["group"], wanted["name"])
    return found is not None and wanted["tag"] not in found["lv_tags"].split(",")


# The system around: mounts, boot.


def _fstab_check(step: Step, context: Context) -> None:
    mounted = {mount["path"] for mount in usage.mounts(context.system, block_devices(context.system))}
    for volume in step["params"]["volumes"]:
        path = volume["path"]
        if path.startswith("/") and path not in mounted and context.system.names(path):
            raise NodeError(
                f"{path} holds files that the mount would hide",
                hint="move them away, then run the same command again",
            )


def _entries(step: Step, context: Context) -> list[tables.Entry]:
    entries = []
    for volume in step["params"]["volumes"]:
        device, kind = context.system.link(volume["device"]) or "", volume["type"]
        uuid = signatures.filesystem_uuid(context.system, device, kind)
        if not uuid:
            raise NodeError(f"{volume['device']} holds no {kind}")
        options = tuple(volume["options"])
        entries.append(tables.Entry(f"UUID={uuid}", volume["path"], kind, options, volume["check"]))
    return entries


def _fstab_done(step: Step, context: Context) -> bool:
    text = context.system.text("/etc/fstab") or ""
    return all(
        tables.has_entry(text, entry) and (not entry.folder or context.system.path(entry.folder).is_dir())
        for entry in _entries(step, context)
    )


def _fstab_before(step: Step, context: Context) -> None:
    text = old = context.system.text("/etc/fstab") or ""
    for entry in _entries(step, context):
        if entry.folder:
            context.system.path(entry.folder).mkdir(parents=True, exist_ok=True)
        if not tables.has_entry(text, entry):
            text = tables.with_entry(text, entry, step["params"]["mark"])
    if text != old:
        context.system.replace_text("/etc/fstab", text)


def _no_systemd(step: Step, context: Context) -> bool:
    return not context.system.path("/run/systemd/system").exists()


def _mounted(step: Step, context: Context) -> bool:
    device = context.system.link(step["params"]["device"])
    mounts = usage.mounts(context.system, block_devices(context.system))
    return any(mount["path"] == step["params"]["path"] and mount["device"] == device for mount in mounts)


def _swapped(step: Step, context: Context) -> bool:
    return context.system.link(step["params"]["device"]) in usage.swaps(context.system)


_CONF = "/etc/mdadm/mdadm.conf"


def _conf_line(step: Step, context: Context) -> str:
    device = context.system.link(_array_path(step)) or ""
    array = block_devices(context.system).get(device, {}).get("array")
    if not array:
        raise NodeError(f"there is no array {_array_path(step)}")
    return tables.array_line(_array_path(step), array["uuid"])


def _conf_done(step: Step, context: Context) -> bool:
    text = context.system.text(_CONF) or ""
    line = _conf_line(step, context)
    return tables.arrays_at(text, _array_path(step), line.rpartition("UUID=")[2]) == [line]


def _conf_before(step: Step, context: Context) -> None:
    text = context.system.text(_CONF) or ""
    context.system.replace_text(_CONF, tables.with_array(text, _array_path(step), _conf_line(step, context)))


def _initramfs_done(step: Step, context: Context) -> bool:
    conf = context.system.path(_CONF)
    changed = conf.stat().st_mtime_ns if conf.exists() else 0
    return all(made >= changed for made in usage.initramfs(context.system).values())


def wait_for(condition: Callable[[], bool], what: str, timeout: float = _WAIT) -> None:
    """Wait until ``condition`` holds. Raises NodeError after ``timeout`` seconds."""
    ends = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > ends:
            raise NodeError(f"{what} did not appear within {timeout:.0f} s")
        time.sleep(0.05)


KINDS: dict[str, Kind] = {
    "release": Kind(_release_done, check=_release_check, after=_settle),
    "wipe": Kind(_wipe_done, check=_free_check, after=_settle),
    "partition": Kind(_partition_done, check=_free_check, before=_partition_before, after=_partition_after),
    "array": Kind(_array_done, before=_array_before, after=_array_after),
    "bitmap": Kind(_bitmap_done),
    "leave": Kind(lambda step, context: not _joined(step, context), after=_settle),
    "join": Kind(_joined, after=_settle),
    "assemble": Kind(_assemble_done, after=_array_after),
    "group": Kind(_group_done, after=_settle),
    "unclaim": Kind(_unclaim_done, before=_unclaim_before),
    "activate": Kind(_activate_done, after=_settle),
    "volume": Kind(_volume_done, after=_volume_after),
    "filesystem": Kind(_filesystem_done, after=_settle),
    "fstab": Kind(_fstab_done, half_done=_no_systemd, check=_fstab_check, before=_fstab_before),
    "mount": Kind(_mounted),
    "swapon": Kind(_swapped),
    "mdadm_conf": Kind(_conf_done, before=_conf_before),
    "initramfs": Kind(_initramfs_done),
}
"""By the name that a plan's step carries."""
