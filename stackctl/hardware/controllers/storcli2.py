"""What storcli2 and perccli2 (MegaRAID 9600, PERC 12) say, as Controllers: the JSON has other keys than version 7's.

Drives have a `State` (configured, spare, ...) and a `Status` (their health) beside it; disks are told in one list
with all that belongs to each; the battery is an `Energy Pack` (StorCLI2 User Guide).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stackctl.hardware.controllers import values
from stackctl.hardware.controllers.model import (
    Battery,
    BatteryKind,
    Controller,
    Drive,
    DriveState,
    VirtualDisk,
    VolumeState,
    WritePolicy,
    data_disks,
)
from stackctl.hardware.controllers.storcli import (
    IO_POLICIES,
    VOLUME_STATES,
    WRITE_POLICIES,
    by_controller,
    controller,
    drive_cache,
    number_of,
    section,
    slot_of,
    table,
)

_READ = {"R": True, "RA": True, "NR": False}

_HEALTH = {
    "failed": DriveState.FAILED,
    "bad": DriveState.FAILED,
    "offline": DriveState.FAILED,
    "offln": DriveState.FAILED,
    "unusable": DriveState.FAILED,
    "unusbl": DriveState.FAILED,
    "missing": DriveState.MISSING,
    "msng": DriveState.MISSING,
    "rebuild": DriveState.REBUILDING,
    "rbld": DriveState.REBUILDING,
}
"""Statuses that say more than the state does."""
_STATES = {
    "conf": DriveState.ONLINE,
    "ghs": DriveState.SPARE,
    "dhs": DriveState.SPARE,
    "uconf": DriveState.FREE,
    "jbod": DriveState.PASSED,
}


def read(tool: str, documents: Sequence[Mapping[str, Any]]) -> tuple[Controller, ...]:
    """The controllers that the documents of one tool tell of."""
    return tuple(_controller(tool, name, sections) for name, sections in by_controller(documents).items())


def _controller(tool: str, name: str, sections: Mapping[str, list[Any]]) -> Controller:
    return controller(
        tool, name, sections, "Product Name", _battery(sections), _virtual_disks(sections), _drives(sections)
    )


def _virtual_disks(sections: Mapping[str, list[Any]]) -> Iterator[VirtualDisk]:
    """`Virtual Drives` is a count in the controller's answer, and a list in that of the disks."""
    found: dict[str, Mapping[str, Any]] = {number_of(row): {"VD Info": row} for row in table(sections, "VD LIST")}
    for entry in table(sections, "Virtual Drives"):
        found[number_of(values.mapping(entry.get("VD Info")))] = entry
    for number, entry in found.items():
        row, properties = values.mapping(entry.get("VD Info")), values.mapping(entry.get("VD Properties"))
        yield _virtual_disk(number, row, values.rows(entry.get("PDs")), properties)


def _virtual_disk(
    number: str, row: Mapping[str, Any], members: Sequence[Mapping[str, Any]], properties: Mapping[str, Any]
) -> VirtualDisk:
    level = values.text(row.get("TYPE"))
    spans = values.number(properties.get("Span Depth")) or 0
    drives = _count(values.number(properties.get("Number of Drives")) or 0, spans, len(members))
    now, wanted = _words(row.get("CurrentCache")), _words(row.get("DefaultCache"))
    blocks = values.number(properties.get("Number of Blocks")) or 0
    block = values.number(properties.get("Block Size")) or 0
    current = _first(now, WRITE_POLICIES, WritePolicy.UNKNOWN)
    return VirtualDisk(
        id=number,
        name=values.text(row.get("Name")),
        level=level,
        span_depth=spans,
        drives=tuple(slot_of(member) for member in members),
        size=blocks * block or values.size(row.get("Size")),
        strip=values.size(properties.get("Strip Size", "")),
        data_disks=data_disks(level, spans, drives),
        write_policy=current,
        wanted_policy=_first(wanted, WRITE_POLICIES, current),
        read_ahead=next((_READ[word] for word in now if word in _READ), None),
        io_policy=_first(now, IO_POLICIES, ""),
        drive_cache=drive_cache(values.text(properties.get("Drive Write Cache Policy"))),
        state=VOLUME_STATES.get(values.text(row.get("State")).lower(), VolumeState.UNKNOWN),
        words=values.text(row.get("State")),
        device=values.device(properties.get("OS Drive Name")),
        naa=values.naa(properties.get("SCSI NAA Id")),
    )


def _words(value: Any) -> list[str]:
    """The policies in ``NR,WB``."""
    return [word.strip().upper() for word in values.text(value).split(",")]


def _first(words: Sequence[str], known: Mapping[str, Any], otherwise: Any) -> Any:
    return next((known[word] for word in words if word in known), otherwise)


def _count(told: int, spans: int, members: int) -> int:
    """How many drives a disk has in all: what is told counts those of a span, where the list holds more of them."""
    return next((count for count in (told, told * spans) if count >= members), 0)


def _drives(sections: Mapping[str, list[Any]]) -> Iterator[Drive]:
    """From the controller's list, and from the list of all drives with their details."""
    found: dict[str, Mapping[str, Any]] = {
        slot_of(row): {"Drive Information": row} for row in table(sections, "PD LIST")
    }
    for value in sections.get("Drives List", ()):
        for entry in values.rows(value):
            found[slot_of(values.mapping(entry.get("Drive Information")))] = entry
    for slot, entry in found.items():
        row, details = values.mapping(entry.get("Drive Information")), entry.get("Drive Detailed Information")
        yield _drive(slot, row, values.mapping(details))


def _drive(slot: str, row: Mapping[str, Any], details: Mapping[str, Any]) -> Drive:
    unit = values.mapping(details.get("LU/NS Properties"))
    state, status = values.text(row.get("State")), values.text(row.get("Status"))
    logical = values.size(details.get("Logical Sector Size") or row.get("SeSz"))
    failures = values.number(unit.get("Predictive Failure Count"))
    return Drive(
        slot=slot,
        state=_HEALTH.get(status.lower()) or _STATES.get(state.lower(), DriveState.UNKNOWN),
        words=", ".join(filter(None, (state, status))),
        size=values.exact_size(
            values.sectors(details.get("Coerced size")), values.size(row.get("Size")), (512, 4096)
        ),
        logical_sector=logical,
        physical_sector=values.size(details.get("Physical Sector Size")) or logical,
        medium=values.text(row.get("Med")),
        interface=values.text(row.get("Intf")),
        model=values.text(details.get("Model") or row.get("Model")),
        serial=values.text(details.get("Serial Number")),
        wwn=values.naa(details.get("WWN")),
        media_errors=values.number(unit.get("Media Error Count")),
        other_errors=values.number(unit.get("Other Error Count")),
        # a drive that the firmware wants to have replaced works on, like one that foresees its end
        predictive_failures=max(failures or 0, 1) if status.lower() == "replace" else failures,
        temperature=values.number(details.get("Temperature(C)")),
        write_cache=values.flag(unit.get("Current Write Cache")),
    )


def _battery(sections: Mapping[str, list[Any]]) -> Battery | None:
    told = [row for value in sections.get("Energy Pack Info", ()) for row in values.rows(value) if "Status" in row]
    if told:
        states = list(dict.fromkeys(values.text(row["Status"]) for row in told))
        capacitor = "cap" in values.text(told[0].get("Type")).lower()
        kind = BatteryKind.SUPERCAPACITOR if capacitor else BatteryKind.BATTERY
        well = all(state.lower() == "optimal" for state in states)
        return Battery(kind, values.text(told[0].get("SubType")), well, ", ".join(states))
    if values.text(section(sections, "HwCfg").get("Energy Pack")).lower() == "present":
        return Battery(BatteryKind.UNKNOWN, "", healthy=False, words="")
    return None
