"""A RAID controller with its battery, virtual disks and drives, whatever tool has told of it; sizes in bytes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from stackctl.hardware.disk import Striping


class WritePolicy(StrEnum):
    """When a write is told to be done."""

    THROUGH = "WT"
    BACK = "WB"
    """In the controller's memory; the controller itself goes over to write-through when its battery fails."""
    ALWAYS = "AWB"
    """In the controller's memory, with or without a battery."""
    UNKNOWN = ""

    @property
    def words(self) -> str:
        return _POLICIES[self]


_POLICIES = {
    WritePolicy.THROUGH: "write-through",
    WritePolicy.BACK: "write-back",
    WritePolicy.ALWAYS: "always write-back",
    WritePolicy.UNKNOWN: "unknown",
}


class DriveCache(StrEnum):
    """What a virtual disk does with the write caches of its drives, which no battery of the controller backs."""

    ON = "on"
    OFF = "off"
    DEFAULT = "as each drive has it"
    UNKNOWN = ""


class VolumeState(StrEnum):
    """How a virtual disk is."""

    OPTIMAL = "optimal"
    DEGRADED = "degraded"
    """It works with a drive too few, or is being rebuilt."""
    OFFLINE = "offline"
    UNKNOWN = "unknown"


class DriveState(StrEnum):
    """What a drive does."""

    ONLINE = "online"
    SPARE = "spare"
    FREE = "unconfigured"
    PASSED = "passed through"
    """Shown to the operating system as it is: JBOD, HBA mode."""
    REBUILDING = "rebuilding"
    FAILED = "failed"
    MISSING = "missing"
    UNKNOWN = "unknown"


class BatteryKind(StrEnum):
    """What keeps the controller's memory when the power goes."""

    BATTERY = "battery"
    SUPERCAPACITOR = "supercapacitor"
    UNKNOWN = "backup power"


@dataclass(frozen=True, slots=True)
class Battery:
    """What backs the controller's cache."""

    kind: BatteryKind
    model: str
    healthy: bool
    words: str
    """Its state as the tool says it, and what else is wrong with it."""

    def __str__(self) -> str:
        return f"{self.kind} {self.model}".rstrip() + f": {self.words or 'state unknown'}"


@dataclass(frozen=True, slots=True)
class Drive:
    """A drive at a controller; counts and flags are None where the tool tells none."""

    slot: str
    """`252:0`: enclosure and slot; `1I:1:3` (port, box, bay) with HPE."""
    state: DriveState
    words: str
    """The state as the tool says it."""
    size: int
    logical_sector: int
    physical_sector: int
    medium: str
    """`HDD` or `SSD`."""
    interface: str
    """`SAS`, `SATA`, `NVMe`."""
    model: str
    serial: str
    wwn: str
    media_errors: int | None = None
    other_errors: int | None = None
    predictive_failures: int | None = None
    smart_alert: bool | None = None
    temperature: int | None = None
    """Degrees Celsius."""
    write_cache: bool | None = None


@dataclass(frozen=True, slots=True)
class VirtualDisk:
    """What a controller makes of several drives and shows as one disk."""

    id: str
    """Its number at the controller."""
    name: str
    level: str
    """`RAID10`; as MegaRAID spells it."""
    span_depth: int
    """How many sets of drives data is striped over: 2 for a RAID10 of two mirrors, 1 for RAID5; 0 where untold."""
    drives: tuple[str, ...]
    """The slots of its drives."""
    size: int
    strip: int
    """What lies in one piece on one drive; 0 where the tool does not tell."""
    data_disks: int
    """How many strips of a stripe hold data; 0 where that is not known."""
    write_policy: WritePolicy
    """As it is now."""
    wanted_policy: WritePolicy
    """As it was set: what it is when the battery is well."""
    read_ahead: bool | None
    io_policy: str
    """`direct`, `cached`, or nothing."""
    drive_cache: DriveCache
    state: VolumeState
    words: str
    """The state as the tool says it."""
    device: str
    """The kernel's name of it when the tool looked, as `sda`; nothing where the tool does not know."""
    naa: str
    """The SCSI name (NAA id), 32 hexadecimal digits in small letters: the WWN of the disk that Linux sees."""

    @property
    def striping(self) -> Striping | None:
        """Its stripes; None where the tool does not tell enough."""
        if not self.strip or not self.data_disks:
            return None
        copies, parity = REDUNDANCY.get(self.level, (1, 0))
        return Striping(self.strip, self.data_disks, copies, parity)


@dataclass(frozen=True, slots=True)
class Controller:
    """A RAID controller as its tool tells of it."""

    name: str
    """`c0`, `slot 0`: what the tool calls it."""
    model: str
    serial: str
    firmware: str
    driver: str
    tool: str
    state: str
    """As the tool says it: `Optimal`, `OK`."""
    battery: Battery | None
    virtual_disks: tuple[VirtualDisk, ...]
    drives: tuple[Drive, ...]

    @property
    def title(self) -> str:
        """The controller for people."""
        return f"{self.model} ({self.name})" if self.model else self.name

    def drive(self, slot: str) -> Drive | None:
        """The drive in that slot."""
        return next((drive for drive in self.drives if drive.slot == slot), None)

    def drives_of(self, disk: VirtualDisk) -> tuple[Drive, ...]:
        """The drives of a virtual disk, as far as they are told of."""
        return tuple(drive for drive in self.drives if drive.slot in disk.drives)


_DATA_DISKS: Mapping[str, Callable[[int, int], int]] = {
    "RAID0": lambda spans, drives: drives,
    "RAID00": lambda spans, drives: drives,
    "RAID1": lambda spans, drives: drives // 2,
    "RAID10": lambda spans, drives: drives // 2,
    "RAID5": lambda spans, drives: drives - 1,
    "RAID6": lambda spans, drives: drives - 2,
    "RAID50": lambda spans, drives: drives - spans,
    "RAID60": lambda spans, drives: drives - 2 * spans,
}
"""Of a virtual disk of so many drives in so many spans. A RAID1 of more than two drives is striped over pairs
(MegaRAID SAS Software User Guide, "RAID 1": 2 to 32 drives, an even number)."""

REDUNDANCY: Mapping[str, tuple[int, int]] = {
    "RAID1": (2, 0),
    "RAID10": (2, 0),
    "RAID5": (1, 1),
    "RAID50": (1, 1),
    "RAID6": (1, 2),
    "RAID60": (1, 2),
}
"""Copies of each strip, and strips of parity for each set of drives; others keep one copy and no parity."""


def data_disks(level: str, spans: int, drives: int) -> int:
    """How many strips of a stripe hold data; 0 for levels unknown here and for counts that cannot be."""
    count = _DATA_DISKS.get(level)
    return max(count(spans, drives), 0) if count and spans > 0 and drives % spans == 0 else 0
