"""The small text files that say what is mounted and assembled: fstab, mdadm.conf."""

import re
from dataclasses import dataclass

_OCTAL = re.compile(r"\\(\d{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system; ``device`` is the kernel's name."""

    device: str
    path: str
    type: str
    options: frozenset[str]
    root: str = "/"
    """What of the file system is mounted: more than `/` for a bind mount or a subvolume."""


@dataclass(frozen=True, slots=True)
class FstabEntry:
    """A line of /etc/fstab."""

    source: str
    path: str
    type: str
    options: tuple[str, ...]


def fstab(text: str) -> tuple[FstabEntry, ...]:
    """The entries of an fstab; comments and lines that are none are passed over."""
    entries = []
    for line in text.splitlines():
        fields = [_OCTAL.sub(lambda match: chr(int(match.group(1), 8)), field) for field in line.split()]
        if len(fields) < 3 or fields[0].startswith("#"):
            continue
        options = tuple(fields[3].split(",")) if len(fields) > 3 else ("defaults",)
        entries.append(FstabEntry(fields[0], fields[1], fields[2], options))
    return tuple(entries)


@dataclass(frozen=True, slots=True)
class ArrayEntry:
    """An ARRAY line of mdadm.conf."""

    device: str
    uuid: str


def mdadm_conf(text: str) -> tuple[ArrayEntry, ...]:
    """The arrays that an mdadm.conf names; UUIDs in the usual spelling with hyphens."""
    entries = []
    for line in re.sub(r"\n[ \t]+", " ", text).splitlines():
        words = line.split("#", 1)[0].split()
        if len(words) < 2 or words[0].upper() != "ARRAY":
            continue
        named = dict(word.split("=", 1) for word in words[2:] if "=" in word)
        uuid = next((value for key, value in named.items() if key.upper() == "UUID"), "")
        entries.append(ArrayEntry(words[1], plain_uuid(uuid)))
    return tuple(entries)


def plain_uuid(text: str) -> str:
    """An array's UUID in the kernel's spelling: mdadm writes ``b66a7cff:889496ed:…``."""
    digits = text.replace(":", "").replace("-", "").lower()
    if len(digits) != 32:
        return text
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
