"""Changes to fstab and mdadm.conf, as text to text."""

import re
from dataclasses import dataclass

_BLANK = {" ": "\\040", "\t": "\\011", "\\": "\\134"}


@dataclass(frozen=True)
class Entry:
    """A line of fstab."""

    source: str
    path: str
    type: str
    options: tuple[str, ...]
    check: int = 0
    """When it is checked at boot; 0 is never."""

    @property
    def folder(self) -> str:
        """Where it is mounted; nothing for swap space."""
        return self.path if self.path.startswith("/") else ""

    @property
    def fields(self) -> list[str]:
        """Its fields as they are written."""
        spelled = "".join(_BLANK.get(letter, letter) for letter in self.path)
        return [self.source, spelled, self.type, ",".join(self.options), "0", str(self.check)]


def has_entry(text: str, entry: Entry) -> bool:
    """Whether the fstab has the entry, perhaps with more options, and nothing else for its source or path.

    Swap space, which has no path, is told apart by the options that begin with ``x-``.
    """
    lines = [fields for fields in map(str.split, text.splitlines()) if _concerns(fields, entry)]
    return (
        len(lines) == 1
        and lines[0][:3] == entry.fields[:3]
        and set(entry.options) <= set("".join(lines[0][3:4]).split(","))
    )


def with_entry(text: str, entry: Entry, mark: str) -> str:
    """The fstab with the entry, and without lines for its source or path that carry ``mark`` among the options."""
    kept = [
        line
        for line in text.splitlines()
        if not (_concerns(line.split(), entry) and mark in "".join(line.split()[3:4]).split(","))
    ]
    return "\n".join([*kept, " ".join(entry.fields)]) + "\n"


def _concerns(fields: list[str], entry: Entry) -> bool:
    if not fields or fields[0].startswith("#"):
        return False
    if fields[0] == entry.source:
        return True
    if entry.folder:
        return fields[1:2] == entry.fields[1:2]
    marks = {option for option in entry.options if option.startswith("x-")}
    return fields[2:3] == [entry.type] and bool(marks) and marks <= set("".join(fields[3:4]).split(","))


def array_line(path: str, uuid: str) -> str:
    """An ARRAY line of mdadm.conf, with the UUID as mdadm spells it."""
    digits = uuid.replace("-", "").replace(":", "")
    spelled = ":".join(digits[at : at + 8] for at in range(0, 32, 8))
    return f"ARRAY {path} metadata=1.2 UUID={spelled}"


def with_array(text: str, path: str, line: str) -> str:
    """The mdadm.conf with ``line`` in it, and without other ARRAY lines for the same path or UUID."""
    uuid = line.rpartition("UUID=")[2]
    joined = re.sub(r"\n[ \t]+(?=\S)", " ", text)
    kept = [old for old in joined.splitlines() if not _names_array(old, path, uuid)]
    return "\n".join([*kept, line]) + "\n"


def arrays_at(text: str, path: str, uuid: str = "") -> list[str]:
    """The ARRAY lines of an mdadm.conf for a path or a UUID."""
    joined = re.sub(r"\n[ \t]+(?=\S)", " ", text)
    return [line for line in joined.splitlines() if _names_array(line, path, uuid)]


def _names_array(line: str, path: str, uuid: str) -> bool:
    words = line.split("#", 1)[0].split()
    if len(words) < 2 or words[0].upper() != "ARRAY":
        return False
    return words[1] == path or (bool(uuid) and any(word.upper() == f"UUID={uuid}".upper() for word in words))
