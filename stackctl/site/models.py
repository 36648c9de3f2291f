"""The frozen value objects of a site; their JSON Schema is what editors read and `explain` shows."""

import ipaddress
import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from stackctl.units import GIB, KIB, format_size, parse_size

Size = Annotated[
    int,
    BeforeValidator(parse_size),
    PlainSerializer(format_size, when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}], "examples": ["64 KiB"]}),
]
"""Bytes; written as a number or as ``64 KiB``, ``500 GB``."""

_NAME = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
Name = Annotated[str, Field(pattern=_NAME, max_length=63)]
"""A name fit for a host, a volume or a DNS label."""

Role = Literal["database", "queue", "cache", "search"]

_BOUND = re.compile(r"\s*(>=|<=|>|<|==|=)?\s*(.+)")
_PERCENT = re.compile(r"(\d{1,3})\s*%")


class Model(BaseModel):
    """Frozen; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DiskMatch(Model):
    """What a disk must be like; every given word must hold."""

    serial: tuple[str, ...] = ()
    """Serial numbers, any of which."""
    model: str | None = None
    """A part of the model's name, without regard to case."""
    transport: str | None = None
    """`sata`, `sas`, `nvme`, `usb`, `virtio` …, as lsblk prints it."""
    rotational: bool | None = None
    """True for spinning disks."""
    size: str | None = None
    """A size with an optional operator: `>= 500 GB`, `< 2 TB`, `480 GB`."""

    @model_validator(mode="after")
    def _size_reads(self) -> "DiskMatch":
        if self.size is not None:
            self.size_bound()
        return self

    def size_bound(self) -> tuple[str, int] | None:
        """The operator (`>=`, `<=`, `>`, `<`, `==`) and bytes of `size`."""
        if self.size is None:
            return None
        match = _BOUND.fullmatch(self.size)
        if match is None:
            raise ValueError(f"{self.size!r} is not a size with an operator, such as '>= 500 GB'")
        operator = match.group(1) or "=="
        return ("==" if operator == "=" else operator), parse_size(match.group(2))


class DiskSelector(DiskMatch):
    """Which disks a layout takes; an exclusion beats a selection."""

    count: int = Field(ge=1)
    """How many disks; exactly so many must match."""
    exclude: DiskMatch | None = None
    """Disks that are never taken."""


class Raid(Model):
    """The array over the disks of a layout."""

    level: Literal[10] = 10
    """RAID10: mirrored pairs, striped."""
    chunk: Size = 64 * KIB
    """The stripe element: what one disk holds before the next one's turn."""

    @model_validator(mode="after")
    def _chunk_is_a_power_of_two(self) -> "Raid":
        if self.chunk < 4 * KIB or self.chunk & (self.chunk - 1):
            raise ValueError(f"chunk: {format_size(self.chunk)} is not a power of two of at least 4 KiB")
        return self


class Volume(Model):
    """A logical volume with a file system on it."""

    size: str | int
    """Bytes (`200 GiB`), a share of the volume group (`50%`), or `rest`."""
    mount: str = Field(pattern=r"^/[^\s]*$")
    """Where it is mounted."""

    @model_validator(mode="after")
    def _size_reads(self) -> "Volume":
        self.parsed_size()
        return self

    def parsed_size(self) -> tuple[Literal["bytes", "percent", "rest"], int]:
        """The kind of the size, and its number: bytes, percent, or 0 for the rest."""
        text = str(self.size).strip()
        if text == "rest":
            return "rest", 0
        if match := _PERCENT.fullmatch(text):
            percent = int(match.group(1))
            if not 1 <= percent <= 100:
                raise ValueError(f"size: {text} is not between 1% and 100%")
            return "percent", percent
        return "bytes", parse_size(self.size)


class Layout(Model):
    """From disks to mounted file systems: RAID, LVM, XFS."""

    disks: DiskSelector
    raid: Raid = Raid()
    volume_group: Name = "data"
    """The volume group's name; the array carries it too."""
    volumes: dict[Name, Volume] = Field(min_length=1)
    """Logical volumes by name, made in this order."""

    @model_validator(mode="after")
    def _volumes_fit_together(self) -> "Layout":
        if self.raid.level == 10 and (self.disks.count < 4 or self.disks.count % 2):
            raise ValueError(f"disks.count: RAID10 needs an even number of disks, at least 4, not {self.disks.count}")
        sizes = {name: volume.parsed_size() for name, volume in self.volumes.items()}
        if sum(1 for kind, _ in sizes.values() if kind == "rest") > 1:
            raise ValueError("volumes: only one volume can take the rest")
        percent = sum(number for kind, number in sizes.values() if kind == "percent")
        if percent > 100:
            raise ValueError(f"volumes: the shares add up to {percent} %")
        mounts = [volume.mount for volume in self.volumes.values()]
        if twice := {mount for mount in mounts if mounts.count(mount) > 1}:
            raise ValueError(f"volumes: more than one is mounted at {', '.join(sorted(twice))}")
        return self


class LabDisks(Model):
    """The blank data disks of a lab machine."""

    count: int = Field(default=4, ge=0, le=24)
    size: Size = 4 * GIB


class LabMachine(Model):
    """A virtual server that stands in for a real one; `stackctl lab up` makes it."""

    memory: Size = 3 * GIB
    cpus: int = Field(default=2, ge=1, le=64)
    system_disk: Size = 8 * GIB
    disks: LabDisks = LabDisks()


class Host(Model):
    """One server."""

    address: str | None = None
    """Name or address to reach it by; a lab machine needs none."""
    port: int = Field(default=22, ge=1, le=65535)
    """The SSH port."""
    user: str = "root"
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
            raise ValueError("address: a host needs an address, unless it is a lab machine (`lab: {}`)")
        return self


class Listener(Model):
    """Where a service listens."""

    listen: str = "127.0.0.1"
    """The address; loopback unless the site says otherwise."""
    port: int = Field(ge=1, le=65535)

    @model_validator(mode="after")
    def _is_an_address(self) -> "Listener":
        ipaddress.ip_address(self.listen)
        return self


class QueueListener(Listener):
    """gearmand; its HTTP protocol stays on loopback."""

    http_port: int = Field(default=4780, ge=1, le=65535)


class Services(Model):
    """Where the stack's services listen."""

    database: Listener = Listener(port=3306)
    queue: QueueListener = QueueListener(port=4730)
    cache: Listener = Listener(port=11211)
    search: Listener = Listener(port=9306)
    """Sphinx searchd, its MySQL protocol."""
    web: Listener = Listener(listen="0.0.0.0", port=80)  # noqa: S104
    """The search app's page and API."""


class Mirrors(Model):
    """Where packages come from; unset words are taken from the controller's own configuration."""

    apt: str | None = Field(default=None, pattern=r"^(https?|file)://")
    """The Debian archive."""
    apt_security: str | None = Field(default=None, pattern=r"^(https?|file)://")
    """The Debian security archive."""
    ca: str | None = None
    """A file on the controller with an extra certificate authority."""


class Site(Model):
    """A site: its servers, what is on their disks, what they run."""

    plugin: Literal["stackctl"] = "stackctl"
    """Makes this file an Ansible inventory source."""
    site: Name
    """The site's name; run records and lab machines carry it."""
    hosts: dict[Name, Host] = Field(min_length=1)
    layouts: dict[Name, Layout] = {}
    services: Services = Services()
    mirrors: Mirrors = Mirrors()

    def layout_of(self, host: str) -> Layout | None:
        """The layout of the named host, or None where its disks are left alone."""
        name = self.hosts[host].layout
        return None if name is None else self.layouts[name]

    def hosts_with(self, role: Role) -> tuple[str, ...]:
        """Names of the hosts that carry the role, in the order of the file."""
        return tuple(name for name, host in self.hosts.items() if role in host.roles)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of stack.yml."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Site.model_json_schema()}
