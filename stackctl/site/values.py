"""The words a site is written in: sizes, names, addresses, ports, mount points, roles."""

import ipaddress
import operator
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from stackctl.units import KIB, MIB, format_size, parse_size

FILE_NAMES = ("stack.yml", "stack.yaml")
"""What the file of a site is called; Ansible's inventory plugin goes by the name."""


class WrongValueError(ValueError):
    """What is wrong with a value, and at which key below the value that is being checked."""

    def __init__(self, message: str, *at: str) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


def _size(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise WrongValueError(f"{value!r} is not a size; write it like 64 KiB, 500 GB or 4096")
    return parse_size(value)


def _address(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        pass
    if not _HOST_NAME.fullmatch(value) or re.fullmatch(r"[\d.]+", value):
        raise WrongValueError(
            f"{value!r} is neither an IP address nor a host name (a port or a user has its own key)"
        )
    return value


def _listen(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise WrongValueError(f"{value!r} is not an IP address, such as 127.0.0.1 or ::1") from None


def _mount(value: str) -> str:
    if not value.startswith("/") or posixpath.normpath(value) != value or re.search(r"[\s\0]", value):
        raise WrongValueError(f"{value!r} is not a plain absolute path, such as /srv/database")
    if value in _SYSTEM_FOLDERS or value.startswith(_KERNEL_FOLDERS):
        raise WrongValueError(f"a volume at {value} would hide the system's own files")
    return value


@dataclass(frozen=True, slots=True)
class Bound:
    """A size to compare with, in bytes."""

    sign: str
    size: int

    def holds(self, size: int) -> bool:
        """Whether a size is as the bound says."""
        return _COMPARE[self.sign](size, self.size)


_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "=": operator.eq,
    "": operator.eq,
}


@lru_cache
def parse_disk_size(text: str) -> tuple[Bound, ...]:
    """The bounds of ``>= 500 GB, < 2 TB``, all of which must hold. Raises ValueError."""
    bounds = []
    words = text.split(",")
    for word in words:
        match = _BOUND.fullmatch(word)
        if match is None or (len(words) > 1 and not match.group(1)):
            raise WrongValueError(f"{text!r} is not a size with an operator, such as '>= 500 GB'")
        bounds.append(Bound(match.group(1) or "", parse_size(match.group(2))))
    return tuple(bounds)


@lru_cache
def parse_volume_size(text: str) -> tuple[Literal["bytes", "percent", "rest"], int]:
    """The kind of a volume's size, and its number: bytes, percent, or 0 for the rest. Raises ValueError."""
    text = text.strip()
    if text == "rest":
        return "rest", 0
    if match := _PERCENT.fullmatch(text):
        percent = int(match.group(1))
        if not 1 <= percent <= 100:
            raise WrongValueError(f"{text} is not between 1% and 100%")
        return "percent", percent
    try:
        size = parse_size(text)
    except ValueError:
        raise WrongValueError(f"{text!r} is neither a size (200 GiB), a share (50%) nor `rest`") from None
    return "bytes", size


def _mount_option(value: str) -> str:
    name = value.partition("=")[0]
    if not _OPTION.fullmatch(value):
        raise WrongValueError(f"{value!r} is not a mount option")
    if why := _OWN_OPTIONS.get(name):
        raise WrongValueError(f"{name} {why}")
    return value


def _disk_size(value: str) -> str:
    parse_disk_size(value)
    return value


def _volume_size(value: str) -> str:
    parse_volume_size(value)
    return value


def _chunk(value: int) -> int:
    if value < 4 * KIB or value & (value - 1):
        raise WrongValueError(f"{format_size(value)} is not a power of two of at least 4 KiB")
    return value


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*\.?")
_SYSTEM_FOLDERS = frozenset(
    f"/{name}"
    for name in ("", "bin", "boot", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "usr", "var")
)
_OPTION = re.compile(r"[a-z][a-z0-9_.-]*(=[^,\s]+)?")
_OWN_OPTIONS = dict.fromkeys(("sunit", "swidth", "stripe", "noalign"), "is computed: it follows from the array") | {
    "noauto": "would leave the volume unmounted at boot, where services look for their data",
    "bind": "mounts a folder, not a volume",
    "remount": "is not for fstab",
    "nobarrier": "loses data in a power cut, and the kernel no longer knows it",
    "barrier": "is on, and must be: without it a power cut loses data",
    "inode32": "crowds all inodes into the first terabyte",
    "x-stackctl": "is how stackctl marks its own lines",
}
_BOUND = re.compile(r"\s*(>=|<=|>|<|==|=)?\s*(.+)")
_PERCENT = re.compile(r"(\d{1,3})\s*%")
_KERNEL_FOLDERS = ("/dev/", "/proc/", "/run/", "/sys/")

NAME_PATTERN = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
USER_PATTERN = r"^[A-Za-z_][A-Za-z0-9_.-]*$"
URL_PATTERN = r"^(https?|file)://[^\s]+$"
PATTERN_WORDS = {
    NAME_PATTERN: "is not a name of lower-case letters, digits and inner dashes",
    USER_PATTERN: "is not the name of a user",
    URL_PATTERN: "is not an address that begins with http://, https:// or file://",
}
"""What a value that misses a pattern is told."""

_NUMBER_OR_TEXT = [{"type": "integer", "minimum": 0}, {"type": "string"}]

Size = Annotated[
    int,
    BeforeValidator(_size),
    PlainSerializer(format_size, when_used="json"),
    WithJsonSchema({"anyOf": _NUMBER_OR_TEXT, "format": "size", "examples": ["64 KiB"]}),
]
"""Bytes; written as a number or as ``64 KiB``, ``500 GB``."""

Chunk = Annotated[Size, AfterValidator(_chunk)]
"""A stripe element: a power of two of at least 4 KiB."""

DiskSize = Annotated[
    str,
    BeforeValidator(_text),
    AfterValidator(_disk_size),
    WithJsonSchema({"anyOf": _NUMBER_OR_TEXT, "format": "disk-size", "examples": [">= 500 GB", ">= 500 GB, < 2 TB"]}),
]
"""A size with an operator, as written."""

VolumeSize = Annotated[
    str,
    BeforeValidator(_text),
    AfterValidator(_volume_size),
    WithJsonSchema({"anyOf": _NUMBER_OR_TEXT, "format": "volume-size", "examples": ["200 GiB", "50%", "rest"]}),
]
"""A size, a share or the rest, as written."""

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=63, json_schema_extra={"format": "name"})]
"""A name fit for a host, a volume or a DNS label."""

Port = Annotated[int, Field(ge=1, le=65535, strict=True, json_schema_extra={"format": "port"})]

Text = Annotated[str, Field(min_length=1)]

Address = Annotated[str, AfterValidator(_address), Field(json_schema_extra={"format": "address"})]
"""An IP address or a host name."""

ListenAddress = Annotated[str, AfterValidator(_listen), Field(json_schema_extra={"format": "listen-address"})]
"""An IP address of this host, or one that stands for all."""

MountOption = Annotated[str, AfterValidator(_mount_option), Field(json_schema_extra={"format": "mount-option"})]
"""An option of mount(8) that undoes nothing of what is proved."""

FileSystem = Literal["xfs", "ext4", "swap"]
SMALLEST: Mapping[FileSystem, int] = {"xfs": 300 * MIB, "ext4": 8 * MIB, "swap": 1 * MIB}
"""Bytes: mkfs.xfs makes none below that (xfsprogs 5.19 and newer), mke2fs no journal, and swap is no use."""
TITLES: Mapping[FileSystem, str] = {"xfs": "XFS", "ext4": "ext4", "swap": "swap space"}
"""The file systems in plain words."""

MountPoint = Annotated[str, AfterValidator(_mount), Field(json_schema_extra={"format": "mount-point"})]
"""An absolute path that hides nothing of the system."""

FORMAT_WORDS = {
    "size": "size (`64 KiB`, `500 GB`, `4096`)",
    "disk-size": "size, with operators or without (`>= 500 GB, < 2 TB`)",
    "volume-size": "size (`200 GiB`), share (`50%`) or `rest`",
    "name": "name (`a-z`, `0-9`, `-`)",
    "port": "port",
    "address": "IP address or host name",
    "listen-address": "IP address",
    "mount-point": "absolute path",
    "mount-option": "mount option",
}
"""The value types in plain words."""

Role = Literal["database", "queue", "cache", "search"]
ROLES: tuple[Role, ...] = get_args(Role)
