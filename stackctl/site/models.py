"""The frozen value objects of a site; their JSON Schema is what editors read and `explain` shows."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from stackctl.site.values import (
    SMALLEST,
    TITLES,
    URL_PATTERN,
    USER_PATTERN,
    Address,
    Bound,
    Chunk,
    DiskSize,
    FileSystem,
    ListenAddress,
    MountOption,
    MountPoint,
    Name,
    Port,
    Role,
    Size,
    Text,
    VolumeSize,
    WrongValueError,
    parse_disk_size,
    parse_volume_size,
)
from stackctl.units import GIB, KIB, MIB, format_size

__all__ = [
    "DiskMatch",
    "DiskSelector",
    "Host",
    "LabDisks",
    "LabMachine",
    "Layout",
    "Listener",
    "Mirrors",
    "Model",
    "Name",
    "QueueListener",
    "Raid",
    "Role",
    "Services",
    "Site",
    "Size",
    "Volume",
]


class Model(BaseModel):
    """Frozen; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DiskMatch(Model):
    """What a disk must be like; every given word must hold."""

    serial: tuple[Text, ...] = ()
    """Serial numbers, any of which."""
    model: Text | None = None
    """A part of the model's name, without regard to case."""
    transport: Text | None = None
    """`sata`, `sas`, `nvme`, `usb`, `virtio` …, as lsblk prints it."""
    rotational: Annotated[bool, Field(strict=True)] | None = None
    """True for spinning disks."""
    size: DiskSize | None = None
    """A size with an optional operator, or several: `>= 500 GB`, `480 GB`, `>= 500 GB, < 2 TB`."""
    path: Text | None = None
    """A shell pattern of where it is plugged in, as below /dev/disk/by-path: `pci-0000:3b:00.0-*`."""

    def size_bounds(self) -> tuple[Bound, ...]:
        """What `size` says, all of which must hold."""
        return () if self.size is None else parse_disk_size(self.size)


class DiskSelector(DiskMatch):
    """Which disks a layout takes; an exclusion beats a selection."""

    count: int = Field(ge=1, le=256, strict=True)
    """How many disks; exactly so many must match."""
    exclude: DiskMatch | None = None
    """Disks that are never taken."""


_FEWEST = {0: 2, 1: 2, 5: 3, 6: 4, 10: 4, "none": 1}
"""Disks by RAID level."""


class Raid(Model):
    """The array over the disks of a layout."""

    level: Literal[0, 1, 5, 6, 10, "none"] = 10
    """0 stripes without safety, 1 mirrors, 5 and 6 stripe with one and two parities, 10 stripes mirrored pairs;
    `none` is one disk as it is: a controller's virtual disk, or one whose loss may be borne."""
    layout: Literal["near", "far", "offset"] | None = None
    """Where RAID10 puts the second copy: beside the first (`near`, which is usual), in the other half of the disks
    (`far`, for long reads), or a chunk further on (`offset`)."""
    chunk: Chunk = 64 * KIB
    """The stripe element: what one disk holds before the next one's turn. RAID1 has none."""
    spares: int = Field(default=0, ge=0, le=16, strict=True)
    """How many of the layout's disks wait to take the place of one that fails."""
    bitmap: Literal["internal", "none"] = "internal"
    """The write-intent bitmap, which makes the resync after a power cut one of minutes. RAID0 has none."""

    @model_validator(mode="after")
    def _words_of_the_level(self) -> "Raid":
        if self.layout is not None and self.level != 10:
            raise WrongValueError(f"a layout is a matter of RAID10, not of RAID{self.level}", "layout")
        if self.level == 1 and "chunk" in self.model_fields_set:
            raise WrongValueError("RAID1 has no chunk: each disk holds everything", "chunk")
        if self.level == 0 and self.spares:
            raise WrongValueError("RAID0 has no spares: it does not outlive a disk", "spares")
        if self.level == 0 and "bitmap" in self.model_fields_set:
            raise WrongValueError("RAID0 has no bitmap: it never resyncs", "bitmap")
        if self.level == "none" and (given := sorted(self.model_fields_set - {"level"})):
            raise WrongValueError(f"without RAID there is no {given[0]}", given[0])
        return self


class Volume(Model):
    """A logical volume with a file system, or swap space, on it."""

    size: VolumeSize
    """Bytes (`200 GiB`), a share of the volume group (`50%`), or `rest`."""
    filesystem: FileSystem = "xfs"
    """`xfs`, `ext4`, or `swap`, which is mounted nowhere."""
    mount: MountPoint | None = None
    """Where it is mounted."""
    options: tuple[MountOption, ...] = ()
    """Mount options beside `noatime`, as mount(8) and swapon(8) know them: `nodev`, `discard`, `pri=5` …"""

    @model_validator(mode="after")
    def _words_of_the_file_system(self) -> "Volume":
        if self.filesystem == "swap" and self.mount is not None:
            raise WrongValueError("swap space is mounted nowhere; take the line out", "mount")
        if self.filesystem != "swap" and self.mount is None:
            raise WrongValueError("is missing", "mount")
        kind, size = self.parsed_size()
        if kind == "bytes" and size < SMALLEST[self.filesystem]:
            raise WrongValueError(
                f"{self.size} is too small for {TITLES[self.filesystem]}, which wants "
                f"{format_size(SMALLEST[self.filesystem])} at least",
                "size",
            )
        return self

    def parsed_size(self) -> tuple[Literal["bytes", "percent", "rest"], int]:
        """The kind of the size, and its number: bytes, percent, or 0 for the rest."""
        return parse_volume_size(self.size)


class Layout(Model):
    """From disks to mounted file systems: RAID, LVM, XFS (or ext4, or swap space)."""

    disks: DiskSelector
    raid: Raid = Raid()
    volume_group: Name = "data"
    """The volume group's name; the array carries it too."""
    volumes: dict[Name, Volume] = Field(min_length=1)
    """Logical volumes by name, made in this order."""

    @model_validator(mode="after")
    def _volumes_fit_together(self) -> "Layout":
        level, count = self.raid.level, self.active_disks
        least = _FEWEST[level]
        if count < least or (level == 10 and count % 2):
            what = f"an even number of disks, at least {least}" if level == 10 else f"at least {least} disks"
            beside = " beside the spares" if self.raid.spares else ""
            raise WrongValueError(f"RAID{level} needs {what}{beside}, not {count}", "disks", "count")
        if level == "none" and count > 1:
            raise WrongValueError(f"without RAID a layout is of one disk, not of {count}", "disks", "count")
        sizes = {name: volume.parsed_size() for name, volume in self.volumes.items()}
        rest = [name for name, (kind, _) in sizes.items() if kind == "rest"]
        if len(rest) > 1:
            raise WrongValueError("only one volume can take the rest", "volumes", rest[1], "size")
        percent = sum(number for kind, number in sizes.values() if kind == "percent")
        if percent > 100:
            raise WrongValueError(f"the shares add up to {percent}%", "volumes")
        if percent == 100 and len(sizes) > sum(1 for kind, _ in sizes.values() if kind == "percent"):
            raise WrongValueError("the shares add up to 100% and leave nothing for the other volumes", "volumes")
        mounted: dict[str, str] = {}
        for name, volume in self.volumes.items():
            if volume.mount is None:
                continue
            if other := mounted.get(volume.mount):
                raise WrongValueError(f"{volume.mount} is where {other} is mounted", "volumes", name, "mount")
            mounted[volume.mount] = name
        return self

    @property
    def active_disks(self) -> int:
        """How many disks hold data or parity: all but the spares."""
        return self.disks.count - self.raid.spares

    @property
    def mounts(self) -> Mapping[str, str]:
        """Where volumes are mounted, by their names; swap space is not."""
        return {name: volume.mount for name, volume in self.volumes.items() if volume.mount is not None}


class LabDisks(Model):
    """The blank data disks of a lab machine."""

    count: int = Field(default=4, ge=0, le=24, strict=True)
    """How many."""
    size: Size = 4 * GIB
    """The size of each."""
    sectors: Literal["512n", "512e", "4Kn"] = "512n"
    """Their sectors: 512 bytes, 4096 bytes shown as 512, or 4096 bytes."""


class LabMachine(Model):
    """A virtual server that stands in for a real one; `stackctl lab up` makes it."""

    memory: Annotated[Size, Field(ge=256 * MIB)] = 3 * GIB
    """Its memory."""
    cpus: int = Field(default=2, ge=1, le=64, strict=True)
    """Its processors."""
    system_disk: Annotated[Size, Field(ge=2 * GIB)] = 8 * GIB
    """The disk that the system is on."""
    disks: LabDisks = LabDisks()
    """Its blank data disks."""


class Host(Model):
    """One server."""

    address: Address | None = None
    """Name or address to reach it by; a lab machine needs none."""
    port: Port = 22
    """The SSH port."""
    user: str = Field(default="root", pattern=USER_PATTERN, max_length=32)
    """The SSH user; anyone but root becomes root by sudo."""
    layout: str | None = None
    """The name of a layout in `layouts`; without one, disks are left alone."""
    roles: tuple[Role, ...] = ()
    """What runs here."""
    lab: LabMachine | None = None
    """Present for a lab machine."""

    @model_validator(mode="after")
    def _reachable(self) -> "Host":
        if self.address is None and self.lab is None:
            raise WrongValueError("a host needs an address, unless it is a lab machine (`lab: {}`)", "address")
        if self.address is not None and self.lab is not None:
            raise WrongValueError("a lab machine is reached where `lab up` puts it; take its address out", "address")
        if twice := [role for role in self.roles if self.roles.count(role) > 1]:
            raise WrongValueError(f"{twice[0]} is given twice", "roles")
        return self


class Listener(Model):
    """Where a service listens."""

    listen: ListenAddress = "127.0.0.1"
    """The address; loopback unless the site says otherwise."""
    port: Port
    """The port."""


class DatabaseListener(Listener):
    """The database engine, its MySQL protocol."""

    port: Port = 3306
    """The port."""


class QueueListener(Listener):
    """gearmand; its HTTP protocol stays on loopback."""

    port: Port = 4730
    """The port."""
    http_port: Port = 4780
    """The port of the HTTP protocol."""


class CacheListener(Listener):
    """memcached."""

    port: Port = 11211
    """The port."""


class SearchListener(Listener):
    """Sphinx searchd, its MySQL protocol."""

    port: Port = 9306
    """The port."""


class WebListener(Listener):
    """The search app's page and API."""

    listen: ListenAddress = "0.0.0.0"  # noqa: S104
    """The address; all of the host's unless the site says otherwise."""
    port: Port = 80
    """The port."""


class Services(Model):
    """Where the stack's services listen."""

    database: DatabaseListener = DatabaseListener()
    """The database engine, its MySQL protocol."""
    queue: QueueListener = QueueListener()
    """gearmand; its HTTP protocol stays on loopback."""
    cache: CacheListener = CacheListener()
    """memcached."""
    search: SearchListener = SearchListener()
    """Sphinx searchd, its MySQL protocol."""
    web: WebListener = WebListener()
    """The search app's page and API."""


class Mirrors(Model):
    """Where packages come from; unset words are taken from the controller's own configuration."""

    apt: str | None = Field(default=None, pattern=URL_PATTERN)
    """The Debian archive."""
    apt_security: str | None = Field(default=None, pattern=URL_PATTERN)
    """The Debian security archive."""
    ca: Text | None = None
    """A file on the controller with an extra certificate authority; relative to the site's folder."""


class Site(Model):
    """A site: its servers, what is on their disks, what they run."""

    plugin: Literal["stackctl"]
    """Makes this file an Ansible inventory source."""
    site: Name
    """The site's name; run records and lab machines carry it."""
    hosts: dict[Name, Host] = Field(min_length=1)
    """The servers by name."""
    layouts: dict[Name, Layout] = {}
    """Disk layouts by name; hosts name the one that they carry."""
    services: Services = Services()
    """Where the services listen."""
    mirrors: Mirrors = Mirrors()
    """Where packages come from."""

    def layout_of(self, host: str) -> Layout | None:
        """The layout of the named host, or None where its disks are left alone."""
        name = self.hosts[host].layout
        return None if name is None else self.layouts[name]

    def hosts_with(self, role: Role) -> tuple[str, ...]:
        """Names of the hosts that carry the role, in the order of the file."""
        return tuple(name for name, host in self.hosts.items() if role in host.roles)
