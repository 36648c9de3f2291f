"""What storcli 7 and perccli 7 say of MegaRAID and PERC controllers (JSON), as Controllers.

The abbreviations are those of the legends that the tools print below their tables.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

_POLICIES = re.compile(r"(NR|Ra|R)(AWB|FWB|WB|WT)([CD])?")
"""`RWBD`: reads ahead, writes back, direct I/O; `Ra` is adaptive, `FWB` is Dell's word for always."""
WRITE_POLICIES = {
    "WT": WritePolicy.THROUGH,
    "WB": WritePolicy.BACK,
    "AWB": WritePolicy.ALWAYS,
    "FWB": WritePolicy.ALWAYS,
}
IO_POLICIES = {"C": "cached", "D": "direct"}

VOLUME_STATES = {
    "optl": VolumeState.OPTIMAL,
    "dgrd": VolumeState.DEGRADED,
    "pdgd": VolumeState.DEGRADED,
    "rec": VolumeState.DEGRADED,
    "ofln": VolumeState.OFFLINE,
    "offln": VolumeState.OFFLINE,
    "fail": VolumeState.OFFLINE,
    "failed": VolumeState.OFFLINE,
}
_DRIVE_STATES = {
    "onln": DriveState.ONLINE,
    "cpybck": DriveState.ONLINE,
    "cfshld": DriveState.ONLINE,
    "cbshld": DriveState.ONLINE,
    "dhs": DriveState.SPARE,
    "ghs": DriveState.SPARE,
    "hspshld": DriveState.SPARE,
    "ugood": DriveState.FREE,
    "ugunsp": DriveState.FREE,
    "ugshld": DriveState.FREE,
    "sntze": DriveState.FREE,
    "jbod": DriveState.PASSED,
    "non-raid": DriveState.PASSED,
    "rbld": DriveState.REBUILDING,
    "failed": DriveState.FAILED,
    "offln": DriveState.FAILED,
    "ubad": DriveState.FAILED,
    "ubunsp": DriveState.FAILED,
    "msng": DriveState.MISSING,
}
_BATTERIES = (("BBU_Info", BatteryKind.BATTERY), ("Cachevault_Info", BatteryKind.SUPERCAPACITOR))
_WELL = frozenset({"optimal", "opt", "ok"})
_AILMENTS = (
    "Battery Pack Missing",
    "Battery Replacement required",
    "Replacement required",
    "Pack is about to fail & should be replaced",
    "Remaining Capacity Low",
    "No space to cache offload",
)
"""Properties of a battery that are bad when they are `Yes`."""
_BBU_WELL = frozenset({0, 8, 4096})
"""The controller's own number for its battery, where nothing else is told: well, charging, learning."""


def read(tool: str, documents: Sequence[Mapping[str, Any]]) -> tuple[Controller, ...]:
    """The controllers that the documents of one tool tell of."""
    return tuple(_controller(tool, name, sections) for name, sections in by_controller(documents).items())


def by_controller(documents: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[Any]]]:
    """All that is told of each controller (by its number): what stands under a key in any of the answers."""
    found: dict[str, dict[str, list[Any]]] = {}
    for document in documents:
        for answer in values.rows(values.mapping(document.get("json")).get("Controllers")):
            name = values.text(values.mapping(answer.get("Command Status")).get("Controller"))
            for key, value in values.mapping(answer.get("Response Data")).items() if name else ():
                found.setdefault(name, {}).setdefault(key, []).append(value)
    return found


def section(sections: Mapping[str, list[Any]], key: str) -> Mapping[str, Any]:
    """The first object that is told under ``key``."""
    return next((value for value in sections.get(key, ()) if isinstance(value, dict)), {})


def table(sections: Mapping[str, list[Any]], key: str) -> Sequence[Mapping[str, Any]]:
    """The first table that is told under ``key``."""
    return next((found for value in sections.get(key, ()) if (found := values.rows(value))), ())


def _controller(tool: str, name: str, sections: Mapping[str, list[Any]]) -> Controller:
    return controller(tool, name, sections, "Model", _battery(sections), _virtual_disks(sections), _drives(sections))


def controller(
    tool: str,
    name: str,
    sections: Mapping[str, list[Any]],
    model: str,
    battery: Battery | None,
    virtual_disks: Iterable[VirtualDisk],
    drives: Iterable[Drive],
) -> Controller:
    """A controller; ``model`` is the key that its model stands under."""
    basics, version = section(sections, "Basics"), section(sections, "Version")
    return Controller(
        name=f"c{name}",
        model=values.text(basics.get(model)),
        serial=values.text(basics.get("Serial Number")),
        firmware=values.text(version.get("Firmware Version")),
        driver=f"{values.text(version.get('Driver Name'))} {values.text(version.get('Driver Version'))}".strip(),
        tool=tool,
        state=values.text(section(sections, "Status").get("Controller Status")),
        battery=battery,
        virtual_disks=tuple(virtual_disks),
        drives=tuple(drives),
    )


def _virtual_disks(sections: Mapping[str, list[Any]]) -> Iterator[VirtualDisk]:
    """From the controller's list, and from each disk's own section where it was told."""
    found = {number_of(row): row for row in table(sections, "VD LIST")}
    for key in sections:
        if match := re.fullmatch(r"/c\d+/v(\d+)", key):
            found |= {match.group(1): row for row in table(sections, key)}
    for number, row in found.items():
        members = table(sections, f"PDs for VD {number}")
        yield _virtual_disk(number, row, members, section(sections, f"VD{number} Properties"))


def number_of(row: Mapping[str, Any]) -> str:
    """A virtual disk's number: what stands behind the drive group's in `0/239`."""
    return values.text(row.get("DG/VD")).rpartition("/")[2]


def _virtual_disk(
    number: str, row: Mapping[str, Any], members: Sequence[Mapping[str, Any]], properties: Mapping[str, Any]
) -> VirtualDisk:
    level = values.text(row.get("TYPE"))
    spans = values.number(properties.get("Span Depth")) or 0
    drives = spans * (values.number(properties.get("Number of Drives Per Span")) or 0)
    policies = _POLICIES.fullmatch(values.text(row.get("Cache")))
    now = WRITE_POLICIES[policies.group(2)] if policies else WritePolicy.UNKNOWN
    return VirtualDisk(
        id=number,
        name=values.text(row.get("Name")),
        level=level,
        span_depth=spans,
        drives=tuple(slot_of(member) for member in members),
        size=values.exact_size(
            values.number(properties.get("Number of Blocks")) or 0, values.size(row.get("Size")), (512, 4096)
        ),
        strip=values.size(properties.get("Strip Size", "")),
        data_disks=data_disks(level, spans, drives),
        write_policy=now,
        wanted_policy=_wanted(values.text(properties.get("Write Cache(initial setting)"))) or now,
        read_ahead=policies.group(1) != "NR" if policies else None,
        io_policy=IO_POLICIES.get(policies.group(3), "") if policies else "",
        drive_cache=drive_cache(values.text(properties.get("Disk Cache Policy"))),
        state=VOLUME_STATES.get(values.text(row.get("State")).lower(), VolumeState.UNKNOWN),
        words=values.text(row.get("State")),
        device=values.device(properties.get("OS Drive Name")),
        naa=values.naa(properties.get("SCSI NAA Id")),
    )


def _wanted(words: str) -> WritePolicy:
    """`WriteBack`, `WriteThrough`, and what always writes back, however it is spelled."""
    plain = words.replace(" ", "").lower()
    if "always" in plain or "force" in plain:
        return WritePolicy.ALWAYS
    known = {"writeback": WritePolicy.BACK, "writethrough": WritePolicy.THROUGH}
    return known.get(plain, WritePolicy.UNKNOWN)


def drive_cache(words: str) -> DriveCache:
    """`Enabled`, `Disabled`, `Disk's Default`."""
    told = values.flag(words)
    if told is not None:
        return DriveCache.ON if told else DriveCache.OFF
    return DriveCache.DEFAULT if "default" in words.lower() else DriveCache.UNKNOWN


def slot_of(row: Mapping[str, Any]) -> str:
    """`252:0`; the slot alone (`:3`) for a drive without an enclosure."""
    return values.text(row.get("EID:Slt")).replace(" ", "")


def _drives(sections: Mapping[str, list[Any]]) -> Iterator[Drive]:
    """From the controller's list, and from each drive's own section where it was told."""
    found = {slot_of(row): (row, "") for row in table(sections, "PD LIST")}
    for key in sections:
        if re.fullmatch(r"Drive /c\d+(/e\d+)?/s\d+", key):
            found |= {slot_of(row): (row, key) for row in table(sections, key)}
    for slot, (row, key) in found.items():
        yield _drive(slot, row, key, section(sections, f"{key} - Detailed Information"))


def _drive(slot: str, row: Mapping[str, Any], key: str, details: Mapping[str, Any]) -> Drive:
    counts = values.mapping(details.get(f"{key} State"))
    attributes = values.mapping(details.get(f"{key} Device attributes"))
    state = values.text(row.get("State"))
    logical = values.size(attributes.get("Logical Sector Size") or row.get("SeSz"))
    return Drive(
        slot=slot,
        state=_DRIVE_STATES.get(state.lower(), DriveState.UNKNOWN),
        words=state,
        size=values.exact_size(
            values.sectors(attributes.get("Coerced size")), values.size(row.get("Size")), (512, 4096)
        ),
        logical_sector=logical,
        physical_sector=values.size(attributes.get("Physical Sector Size")) or logical,
        medium=values.text(row.get("Med")),
        interface=values.text(row.get("Intf")),
        model=values.text(attributes.get("Model Number") or row.get("Model")),
        serial=values.text(attributes.get("SN")),
        wwn=values.naa(attributes.get("WWN")),
        media_errors=values.number(counts.get("Media Error Count")),
        other_errors=values.number(counts.get("Other Error Count")),
        predictive_failures=values.number(counts.get("Predictive Failure Count")),
        smart_alert=values.flag(counts.get("S.M.A.R.T alert flagged by drive")),
        temperature=values.number(counts.get("Drive Temperature")),
        write_cache=values.flag(attributes.get("Write Cache")),
    )


def _battery(sections: Mapping[str, list[Any]]) -> Battery | None:
    """From the controller's own table (a row), and from the battery's (a property a row)."""
    for key, kind in _BATTERIES:
        told = [row for value in sections.get(key, ()) for row in values.rows(value)]
        if told:
            firmware = [*table(sections, "BBU_Firmware_Status"), *table(sections, "Firmware_Status")]
            return _read_battery(kind, told, firmware)
    hardware, status = section(sections, "HwCfg"), section(sections, "Status")
    if values.text(hardware.get("BBU")).lower() != "present":
        return None
    number = values.number(status.get("BBU Status"))
    words = "" if number is None else f"status {number}"
    return Battery(BatteryKind.UNKNOWN, "", number in _BBU_WELL, words)


def _read_battery(
    kind: BatteryKind, told: Sequence[Mapping[str, Any]], firmware: Sequence[Mapping[str, Any]]
) -> Battery:
    properties = {values.text(row["Property"]): row.get("Value") for row in (*told, *firmware) if "Property" in row}
    row = next((row for row in told if "State" in row), {})
    own = properties.get("Battery State") or properties.get("State")
    state = values.text(row.get("State") or own)
    states = [values.text(found) for found in (row.get("State"), own) if found]
    ailments = [name for name in _AILMENTS if values.flag(properties.get(name))]
    well = bool(states) and all(found.lower() in _WELL for found in states)
    return Battery(
        kind=kind,
        model=values.text(row.get("Model") or properties.get("Type")),
        healthy=well and not ailments,
        words=", ".join((state, *ailments)) if state else ", ".join(ailments),
    )
