"""What ssacli and hpssacli say of HPE Smart Array controllers, as Controllers.

They have no JSON: `ctrl all show config detail` prints blocks of `Key: value` lines, each block three blanks
further in than what it belongs to: controllers, arrays, then logical and physical drives.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackctl.hardware.controllers import values
from stackctl.hardware.controllers.model import (
    Battery,
    BatteryKind,
    Controller,
    Drive,
    DriveCache,
    DriveState,
    VirtualDisk,
    VolumeState,
    WritePolicy,
    data_disks,
)

_STEP = 3
_CONTROLLER = re.compile(r"(\S.*?) in Slot (\S+)(?: \(.*\))?\s*")
_ARRAY = re.compile(r"array:? [A-Z]+\b.*", re.IGNORECASE)
_LOGICAL = re.compile(r"logical ?drive: (\d+)", re.IGNORECASE)
_PHYSICAL = re.compile(r"physicaldrive (\S+)")
_PAIR = re.compile(r"(.+?)\s*:(?:\s+(.*))?")
_SHARE = re.compile(r"(\d+)% Read / (\d+)% Write")

_LEVELS = {"0": "RAID0", "1": "RAID1", "1+0": "RAID10", "5": "RAID5", "6": "RAID6", "50": "RAID50", "60": "RAID60"}
_VOLUME_STATES = (
    ("ok", VolumeState.OPTIMAL),
    ("failed", VolumeState.OFFLINE),
    ("interim recovery", VolumeState.DEGRADED),
    ("ready for rebuild", VolumeState.DEGRADED),
    ("waiting", VolumeState.DEGRADED),
    ("recovering", VolumeState.DEGRADED),
    ("rebuilding", VolumeState.DEGRADED),
    ("degraded", VolumeState.DEGRADED),
)
"""The beginnings of a logical drive's status."""
_DRIVE_STATES = (
    ("failed", DriveState.FAILED),
    ("offline", DriveState.FAILED),
    ("rebuilding", DriveState.REBUILDING),
    ("missing", DriveState.MISSING),
)
_DRIVE_TYPES = (
    ("data", DriveState.ONLINE),
    ("spare", DriveState.SPARE),
    ("unassigned", DriveState.FREE),
    ("hba", DriveState.PASSED),
)

Pairs = dict[str, str]


@dataclass
class _Block:
    """A controller as it is read: its own pairs, and those of the drives with the array that they stand in."""

    model: str
    slot: str
    pairs: Pairs = field(default_factory=dict)
    logical: list[tuple[str, int, Pairs]] = field(default_factory=list)
    physical: list[tuple[str, int, Pairs]] = field(default_factory=list)


def read(tool: str, documents: Sequence[Mapping[str, Any]]) -> tuple[Controller, ...]:
    """The controllers that the documents of the tool tell of."""
    return tuple(
        _controller(tool, block) for document in documents for block in _blocks(str(document.get("text", "")))
    )


def _blocks(text: str) -> list[_Block]:
    found: list[_Block] = []
    array = 0  # counts the blocks below a controller, so that drives find the array they stand in
    target: Pairs | None = None
    for line in text.splitlines():
        words = line.strip()
        if not words:
            continue
        depth = (len(line) - len(line.lstrip())) // _STEP
        if depth == 0:
            heading = _CONTROLLER.fullmatch(words)
            target = None
            if heading:
                found.append(_Block(heading.group(1), heading.group(2)))
            continue
        if not found:
            continue
        block = found[-1]
        if depth == 1:
            array += 1
            target = None
            if not _ARRAY.fullmatch(words) and (pair := _PAIR.fullmatch(words)):
                block.pairs.setdefault(pair.group(1), pair.group(2) or "")
        elif depth == 2:
            target = _drive_of(words, block, array)
        elif depth == 3 and target is not None and (pair := _PAIR.fullmatch(words)):
            target.setdefault(pair.group(1), (pair.group(2) or "").strip())
    return found


def _drive_of(words: str, block: _Block, array: int) -> Pairs | None:
    """The pairs of a drive that begins here; None for other lines."""
    for pattern, drives in ((_LOGICAL, block.logical), (_PHYSICAL, block.physical)):
        if match := pattern.fullmatch(words):
            pairs: Pairs = {}
            drives.append((match.group(1), array, pairs))
            return pairs
    return None


def _controller(tool: str, block: _Block) -> Controller:
    pairs = block.pairs
    battery = _battery(pairs)
    return Controller(
        name=f"slot {block.slot}",
        model=values.text(block.model),
        serial=values.text(pairs.get("Serial Number")),
        firmware=values.text(pairs.get("Firmware Version")),
        driver=" ".join(filter(None, (values.text(pairs.get(f"Driver {word}")) for word in ("Name", "Version")))),
        tool=tool,
        state=values.text(pairs.get("Controller Status")),
        battery=battery,
        virtual_disks=tuple(_virtual_disks(block, battery)),
        drives=tuple(_drive(slot, found) for slot, _, found in block.physical),
    )


def _battery(pairs: Pairs) -> Battery | None:
    state = values.text(pairs.get("Battery/Capacitor Status"))
    if not state or values.number(pairs.get("Battery/Capacitor Count", "1")) == 0:
        return None
    source = values.text(pairs.get("Cache Backup Power Source")).lower()
    kind = (
        BatteryKind.SUPERCAPACITOR
        if "capacitor" in source
        else BatteryKind.BATTERY
        if "batter" in source
        else BatteryKind.UNKNOWN
    )
    return Battery(kind, "", state.lower() == "ok", state)


def _virtual_disks(block: _Block, battery: Battery | None) -> Iterator[VirtualDisk]:
    share = _SHARE.search(block.pairs.get("Cache Ratio", ""))
    for number, array, pairs in block.logical:
        slots = tuple(
            slot
            for slot, place, drive in block.physical
            if place == array and "spare" not in drive.get("Drive Type", "").lower()
        )
        strip = values.size(pairs.get("Strip Size", ""))
        level = _LEVELS.get(values.text(pairs.get("Fault Tolerance")), f"RAID{pairs.get('Fault Tolerance', '')}")
        data = _data_disks(level, strip, len(slots), pairs)
        wanted = _wanted(block.pairs, pairs)
        yield VirtualDisk(
            id=number,
            name=values.text(pairs.get("Logical Drive Label")),
            level=level,
            span_depth=_spans(level, data, pairs),
            drives=slots,
            size=values.size(pairs.get("Size", "")),
            strip=strip,
            data_disks=data,
            write_policy=_now(wanted, block.pairs, battery),
            wanted_policy=wanted,
            read_ahead=int(share.group(1)) > 0 if share else None,
            io_policy="",
            drive_cache=_drive_cache(block.pairs),
            state=_state(pairs),
            words=values.text(pairs.get("Status")),
            device=values.device(pairs.get("Disk Name")),
            naa=values.naa(pairs.get("Unique Identifier")),
        )


def _data_disks(level: str, strip: int, drives: int, pairs: Pairs) -> int:
    """From the full stripe, which for RAID50 and RAID60 is that of one parity group."""
    width = values.size(pairs.get("Full Stripe Size", ""))
    told = width // strip if strip and width % strip == 0 else 0
    groups = values.number(pairs.get("Number of Parity Groups")) or 1
    return told * groups if told * groups == data_disks(level, groups, drives) else told


def _spans(level: str, data: int, pairs: Pairs) -> int:
    """Mirrors are striped over pairs; RAID50 and RAID60 tell their parity groups."""
    if level == "RAID10":
        return data
    if level in ("RAID50", "RAID60"):
        told = values.number(pairs.get("Number of Parity Groups"))
        return told or sum(1 for key in pairs if key.startswith("Parity Group "))
    return 1


def _wanted(controller: Pairs, pairs: Pairs) -> WritePolicy:
    """What was set: a logical drive uses the controller's cache, the cache has a share for writes, and may do
    without a battery."""
    caching = values.flag(pairs.get("Caching"))
    if caching is None:
        return WritePolicy.UNKNOWN
    share = _SHARE.search(controller.get("Cache Ratio", ""))
    if not caching or (share and int(share.group(2)) == 0):
        return WritePolicy.THROUGH
    return WritePolicy.ALWAYS if values.flag(controller.get("No-Battery Write Cache")) else WritePolicy.BACK


def _now(wanted: WritePolicy, controller: Pairs, battery: Battery | None) -> WritePolicy:
    """The controller stops writing back while its cache is disabled, or its battery is not well."""
    cache = values.text(controller.get("Cache Status")).lower()
    if wanted in (WritePolicy.BACK, WritePolicy.ALWAYS) and cache not in ("", "ok"):
        return WritePolicy.THROUGH
    if wanted is WritePolicy.BACK and not (battery and battery.healthy):
        return WritePolicy.THROUGH
    return wanted


def _drive_cache(controller: Pairs) -> DriveCache:
    """Of the drives in arrays; older versions know one setting for all drives."""
    words = values.text(controller.get("Configured Drive Write Cache Policy") or controller.get("Drive Write Cache"))
    told = values.flag(words)
    if told is not None:
        return DriveCache.ON if told else DriveCache.OFF
    return DriveCache.DEFAULT if "default" in words.lower() else DriveCache.UNKNOWN


def _state(pairs: Pairs) -> VolumeState:
    words = values.text(pairs.get("Status")).lower()
    return next((state for begin, state in _VOLUME_STATES if words.startswith(begin)), VolumeState.UNKNOWN)


def _drive(slot: str, pairs: Pairs) -> Drive:
    status = values.text(pairs.get("Status"))
    kind, interface = values.text(pairs.get("Drive Type")).lower(), values.text(pairs.get("Interface Type"))
    logical, _, physical = values.text(pairs.get("Logical/Physical Block Size")).partition("/")
    sector = values.number(logical or pairs.get("Native Block Size")) or 0
    flash = "solid state" in interface.lower() or "nvme" in interface.lower()
    states = (*(state for begin, state in _DRIVE_STATES if status.lower().startswith(begin)),)
    types = (*(state for begin, state in _DRIVE_TYPES if kind.startswith(begin)), DriveState.UNKNOWN)
    return Drive(
        slot=slot,
        state=(*states, *types)[0],
        words=", ".join(filter(None, (values.text(pairs.get("Drive Type")), status))),
        size=values.size(pairs.get("Size", ""), decimal=True),
        logical_sector=sector,
        physical_sector=values.number(physical) or sector,
        medium="SSD" if flash else "HDD",
        interface=interface.removeprefix("Solid State ") or "",
        model=values.text(pairs.get("Model")),
        serial=values.text(pairs.get("Serial Number")),
        wwn=values.naa(pairs.get("WWID")),
        predictive_failures=int("predictive" in status.lower()),
        smart_alert=values.flag(pairs.get("SSD Smart Trip Wearout")),
        temperature=values.number(pairs.get("Current Temperature (C)")),
    )
