"""What the texts of a machine's facts tell of its owner, and the parts that facts are made of."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict


class Kind(StrEnum):
    """What a text of the facts tells of its owner; texts of no kind tell of the hardware or the kernel alone."""

    DEVICE = "device"
    """What the kernel calls a device."""
    SERIAL = "serial number"
    WWN = "WWN"
    UUID = "UUID"
    NAME = "name"
    """A name that people gave: of a host, a volume group, a logical volume."""
    LABEL = "label"
    """Names, apart by colons."""
    TAGS = "tags"
    """Names, apart by commas."""
    MAPPED_NAME = "device-mapper name"
    MAPPED_UUID = "device-mapper UUID"
    EXTENTS = "extents"
    """Devices with ranges of extents, as LVM writes them."""
    PATH = "path"
    LINK = "link"
    """A path below /dev/disk."""
    OPTIONS = "mount options"
    FSTAB = "fstab"
    MDADM_CONF = "mdadm.conf"
    MD = "md superblock"
    XFS = "XFS superblock"
    EXT4 = "ext4 superblock"
    SWAP = "swap header"
    TEXT = "text"
    """What a program said."""
    WITHHELD = "withheld"
    """Left out when the facts are masked: full of names that nothing here can tell."""


Device = Annotated[str, Kind.DEVICE]
Uuid = Annotated[str, Kind.UUID]
Named = Annotated[str, Kind.NAME]
Label = Annotated[str, Kind.LABEL]
Path = Annotated[str, Kind.PATH]
Value = int | str | None
"""A file of sysfs, or a column of lsblk; null where there is none."""


class Part(BaseModel):
    """A part of the facts; other keys than the known ones are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, strict=True)
