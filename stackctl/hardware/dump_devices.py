"""The format of facts, devices: what sysfs, lsblk and libblkid tell."""

from typing import Annotated, Literal

from pydantic import Field

from stackctl.hardware.kinds import Device, Kind, Label, Part, Uuid, Value


class LimitsPart(Part):
    """The queue's limits in sysfs; sizes in bytes unless the name says otherwise."""

    logical_block_size: Value
    """The sector that the disk is addressed by."""
    physical_block_size: Value
    """The sector that it writes at once."""
    minimum_io_size: Value
    """The smallest request that it likes; a chunk on arrays."""
    optimal_io_size: Value
    """The request that it likes best: a stripe, or 0, or a lie."""
    rotational: Value
    """1 where it spins."""
    discard_granularity: Value
    """The smallest range that can be discarded; 0 where none can."""
    read_ahead_kb: Value
    """KiB."""
    scheduler: Value
    """The schedulers that there are, the one in use in brackets."""
    write_cache: Value
    """`write back` or `write through`."""


class MemberPart(Part):
    """A member of an md array."""

    slot: Value
    """Its place, or `none`."""
    state: Value
    """`in_sync`, `spare`, `faulty` …"""
    offset: Value
    """Where its data begins, in sectors of 512 bytes."""
    size: Value
    """How much of it the array uses, in KiB."""


class ArrayPart(Part):
    """An md array in sysfs, started or not."""

    level: Value
    """`raid10` …"""
    layout: Value
    """The kernel's number for how data lies on the members."""
    chunk_size: Value
    """Bytes."""
    raid_disks: Value
    """How many places it has."""
    metadata_version: Value
    """`1.2`; `external:imsm` for a container of BIOS RAID, `external:/md127/0` for an array in it."""
    array_state: Value
    """`clean`, `active`, `inactive` …"""
    degraded: Value
    """How many members it lacks."""
    sync_action: Value
    """`idle`, `resync`, `recover` …"""
    sync_completed: Value
    """Sectors done / sectors in all, or `none`."""
    component_size: Value
    """What it uses of each member, in KiB."""
    uuid: Annotated[str, Kind.UUID] | int | None
    """Its UUID; nothing where the kernel does not tell it."""
    bitmap: Value = Field(alias="bitmap/location")
    """`+8`: an internal bitmap, so many sectors behind the superblock; or `none`."""
    members: dict[Device, MemberPart]
    """By the kernel's names."""


class MappedPart(Part):
    """A device of the device mapper."""

    name: Annotated[str, Kind.MAPPED_NAME] | int | None
    """For LVM, group and volume: `vg0-root`."""
    uuid: Annotated[str, Kind.MAPPED_UUID] | int | None
    """`LVM-` and the UUIDs of group and volume, `CRYPT-…`, `mpath-…`."""


class BlockPart(Part):
    """A block device in sysfs; sizes in bytes."""

    kind: Literal["disk", "partition", "md", "dm", "loop", "stacked"]
    """`stacked`: on other devices, and none of the others (bcache, drbd)."""
    number: Value
    """Major and minor number."""
    size: int
    """Bytes."""
    read_only: bool
    """The kernel lets nobody write."""
    alignment_offset: int
    """By how much its first byte is off its physical blocks; bytes."""
    holders: list[Device]
    """The devices on it, partitions left out."""
    slaves: list[Device]
    """The devices that it lies on."""
    partition: int = 0
    """A partition's number."""
    disk: Device = ""
    """The device that a partition is on."""
    start: int = 0
    """Where a partition begins on it; bytes."""
    label: Label = ""
    """A partition's name in the GPT."""
    diskseq: int = 0
    """Counts up with every device that appears; not for partitions."""
    removable: bool = False
    """The medium can be taken out; not for partitions."""
    limits: LimitsPart | None = None
    """Not for partitions."""
    array: ArrayPart | None = None
    """Of md arrays."""
    dm: MappedPart | None = None
    """Of devices of the device mapper."""


class DescribedPart(Part):
    """A device in lsblk's words."""

    kname: Device
    """What the kernel calls it."""
    type: Value
    """`disk`, `part`, `raid10`, `lvm`, `crypt`, `mpath` …"""
    size: Value
    """Bytes."""
    serial: Annotated[str, Kind.SERIAL] | int | None
    """The serial number."""
    wwn: Annotated[str, Kind.WWN] | int | None
    """The World Wide Name; partitions show their disk's."""
    model: Value
    """The maker's name for it."""
    vendor: Value
    """The maker."""
    rev: Value
    """The firmware's revision."""
    tran: Value
    """`sata`, `sas`, `nvme`, `usb`, `fc`, `iscsi` …; null where lsblk does not know."""
    hctl: Value
    """SCSI host, channel, target, LUN."""
    pttype: Value
    """`gpt` or `dos`: of the table on it, or that it stands in."""
    ptuuid: Annotated[str, Kind.UUID] | int | None
    """The table's UUID."""
    parttype: Value
    """A partition's type: a well-known GUID, or a number."""
    partuuid: Annotated[str, Kind.UUID] | int | None
    """A partition's own UUID."""


class SignaturePart(Part):
    """A magic number on a device, in libblkid's words."""

    type: str
    """`ext4`, `gpt`, `LVM2_member`, `linux_raid_member` …; `unreadable` where the device cannot be read."""
    offset: int
    """Where it lies; bytes."""
    uuid: Uuid
    """Nothing where the format has none."""
    label: Label
    """Nothing where there is none; md arrays: home host and name."""
