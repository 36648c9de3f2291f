"""The format of a machine's facts as models: its JSON Schema, its documentation and its mask are made from them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from stackctl.hardware.dump_devices import BlockPart, DescribedPart, SignaturePart
from stackctl.hardware.dump_volumes import ReportPart
from stackctl.hardware.kinds import Device, Kind, Named, Part, Path


class HostPart(Part):
    """The server itself."""

    name: Named
    """What it calls itself."""
    kernel: str
    """The kernel's release."""
    architecture: str
    """`x86_64`, `aarch64` …"""
    system: str
    """`ID` of /etc/os-release."""
    version: str
    """`VERSION_ID` of /etc/os-release."""
    vendor: str
    """The maker, as DMI tells."""
    product: str
    """The product, as DMI tells."""
    memory: int
    """Bytes."""
    processors: int
    """How many, as the kernel counts them."""
    processor: str
    """The model."""


class MountPart(Part):
    """A mount of a block device."""

    device: Device
    """What is mounted."""
    root: Path
    """The part of the file system: more than `/` for bind mounts and subvolumes."""
    path: Path
    """Where."""
    type: str
    """`ext4`, `xfs` …"""
    options: Annotated[str, Kind.OPTIONS]
    """Those of the mount and of the file system, apart by commas."""


class FstabFile(Part):
    """/etc/fstab."""

    text: Annotated[str, Kind.FSTAB]
    """The whole of it."""
    changed: int
    """When it was written; nanoseconds since 1970."""


class MdadmFile(Part):
    """/etc/mdadm/mdadm.conf."""

    text: Annotated[str, Kind.MDADM_CONF]
    """The whole of it."""
    changed: int
    """When it was written; nanoseconds since 1970."""


class FilesPart(Part):
    """Files that say what is mounted and assembled; null where there is none."""

    fstab: FstabFile | None = Field(alias="/etc/fstab")
    """What is mounted at boot."""
    mdadm_conf: MdadmFile | None = Field(alias="/etc/mdadm/mdadm.conf")
    """Which arrays get which names."""


class FolderPart(Part):
    """What stands at a path where a volume is to be mounted."""

    exists: bool
    """Something is there."""
    folder: bool
    """It is a folder."""
    empty: bool
    """Nothing is in it."""


class SuperblocksPart(Part):
    """The first 512 bytes of superblocks, hexadecimal, by device."""

    xfs: dict[Device, Annotated[str, Kind.XFS]] = Field({})
    """Of XFS."""
    ext4: dict[Device, Annotated[str, Kind.EXT4]] = Field({})
    """Of ext4."""
    swap: dict[Device, Annotated[str, Kind.SWAP]] = Field({})
    """Of swap space."""
    linux_raid_member: dict[Device, Annotated[str, Kind.MD]] = Field({})
    """Of md members."""


class ClaimPart(Part):
    """The mark of a disk that is being prepared (docs/storage.md)."""

    host: Named
    """For which host of the site."""
    group: Named
    """For which volume group."""
    disk: Annotated[str, Kind.SERIAL]
    """The serial number (or WWN) of the disk that was claimed."""


class ToolPart(Part):
    """What a tool of RAID controllers says (docs/controllers.md)."""

    tool: str
    """`storcli`, `storcli2`, `perccli`, `perccli2`, `ssacli`, `hpssacli`."""
    version: str = Field("")
    """The tool's own, where it tells one."""
    documents: list[dict[str, Any]]
    """Its answers: the `command`, and what it said as `json` or as `text`."""


class Dump(Part):
    """All that was found on a server, read-only."""

    format: Literal[1]
    """Counts up when an older reader would misread the document."""
    host: HostPart
    """The server itself."""
    missing: list[str]
    """Programs that a layout needs and that are not installed."""
    blocks: dict[Device, BlockPart]
    """Every block device in use, by the kernel's name."""
    lsblk: list[DescribedPart]
    """The same devices in lsblk's words."""
    links: dict[Device, list[Annotated[str, Kind.LINK]]]
    """Persistent names below /dev/disk/by-id and by-path, by device."""
    mounts: list[MountPart]
    """What is mounted from block devices, in the order of mounting."""
    swaps: list[Device]
    """Devices that are swapped to."""
    mdstat: Annotated[str, Kind.TEXT]
    """/proc/mdstat; not read."""
    lvm: list[ReportPart] | None
    """LVM's report, a part a group; null where lvm2 is not installed."""
    files: FilesPart
    """Files of the server."""
    initramfs: dict[str, int]
    """Boot images, and when each was made; nanoseconds since 1970."""
    folders: dict[Path, FolderPart]
    """The mount points that the site wants."""
    signatures: dict[Device, list[SignaturePart]]
    """What is written on devices; a device without any is left out."""
    lost: dict[Device, list[SignaturePart]]
    """What begins on a disk without a table where a first partition would (1 MiB, sector 63)."""
    superblocks: SuperblocksPart
    """Raw superblocks, so that nothing needs to be installed to look."""
    claims: dict[Device, ClaimPart]
    """Disks that are being prepared."""
    controllers: Annotated[list[ToolPart], Kind.WITHHELD] = Field([])
    """What the tools of RAID controllers say; facts of before have none."""
    errors: list[Annotated[str, Kind.TEXT]]
    """What could not be read."""
    fingerprints: dict[Device, str]
    """A word for each disk that changes when anything on it does."""
