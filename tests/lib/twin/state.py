"""What a twin is made of."""

import uuid
from dataclasses import dataclass, field

MIB = 1 << 20
GIB = 1 << 30


def new_uuid() -> str:
    return str(uuid.uuid4())


@dataclass
class Signature:
    type: str
    offset: int = 0
    uuid: str = ""
    label: str = ""


@dataclass
class Member:
    """An md superblock on a partition."""

    array: str
    name: str
    chunk: int
    disks: int
    data_offset: int
    role: int
    """Its number; those behind the array's disks are spares."""
    level: int = 10
    layout: int = 0x102
    homehost: str = "any"
    bitmap: bool = True


@dataclass
class Part:
    index: int
    start: int
    size: int
    label: str = ""
    type: str = "a19d880f-05fc-4d3b-a006-743f0f84911e"
    signatures: list[Signature] = field(default_factory=list)
    member: Member | None = None
    orphan: bool = False
    """A physical volume without a group."""


@dataclass
class Disk:
    serial: str
    size: int = 4 * GIB
    name: str = ""
    wwn: str = ""
    model: str = "QEMU HARDDISK"
    vendor: str = "QEMU"
    transport: str | None = None
    logical: int = 512
    physical: int = 512
    minimum: int = 0
    """0 is one physical block."""
    optimal: int = 0
    rotational: bool = True
    read_only: bool = False
    removable: bool = False
    alignment_offset: int = 0
    table: str = ""
    table_id: str = ""
    copies: int = 0
    """How many copies of a GPT are whole."""
    parts: list[Part] = field(default_factory=list)
    signatures: list[Signature] = field(default_factory=list)
    lost: list[Signature] = field(default_factory=list)

    def part_name(self, part: Part) -> str:
        return f"{self.name}p{part.index}" if self.name[-1].isdigit() else f"{self.name}{part.index}"


@dataclass
class Filesystem:
    label: str
    unit: int
    width: int
    log_unit: int
    uuid: str = field(default_factory=new_uuid)
    complete: bool = True
    type: str = "xfs"


@dataclass
class Volume:
    name: str
    start: int
    extents: int
    tags: set[str] = field(default_factory=set)
    device: str = ""
    uuid: str = field(default_factory=new_uuid)
    active: bool = True
    filesystem: Filesystem | None = None


@dataclass
class Group:
    name: str
    device: str
    """The kernel's name of the device that it lies on."""
    extent_size: int
    extents: int
    start: int
    tags: set[str] = field(default_factory=set)
    uuid: str = field(default_factory=new_uuid)
    physical_uuid: str = field(default_factory=new_uuid)
    anchor: tuple[str, int] = ("", 0)
    """The disk and the byte where its first physical volume begins."""
    volumes: list[Volume] = field(default_factory=list)


@dataclass
class Array:
    device: str
    uuid: str
    name: str
    chunk: int
    disks: int
    size: int
    members: dict[str, int | None] = field(default_factory=dict)
    """Slots by the kernel's names of the members; None for a spare."""
    failed: set[str] = field(default_factory=set)
    """Members that it has put out, and that still hang in it."""
    bitmap: bool = True
    sync: str = "resync"
    state: str = "clean"
    level: str = "raid10"
    layout: int = 0x102
    signatures: list[Signature] = field(default_factory=list)
    orphan: bool = False
    """A physical volume without a group."""


@dataclass
class Mount:
    device: str
    path: str
    type: str = "xfs"
    options: str = "rw,noatime,attr2,inode64,logbufs=8,noquota"
