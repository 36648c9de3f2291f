"""Values as the tools of controllers print them: sizes, counts, flags, temperatures."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stackctl.units import GIB, KIB, MIB, TIB

_BINARY = {"": 1, "B": 1, "KB": KIB, "MB": MIB, "GB": GIB, "TB": TIB, "PB": 1024 * TIB}
_DECIMAL = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGTP]?i?B?)\b", re.IGNORECASE)
_SECTORS = re.compile(r"\[0x([0-9a-fA-F]+) Sectors\]")
_NUMBER = re.compile(r"\s*(-?\d+)")


def mapping(value: Any) -> Mapping[str, Any]:
    """The object, or an empty one where there is something else."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> Sequence[Mapping[str, Any]]:
    """The rows of a table; none where there is something else."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """A word: without the blanks that vendors fill their fields with; nothing for what is not available."""
    words = " ".join(str(value).split()) if value is not None else ""
    return "" if words.upper() in ("-", "NA", "N/A") else words


def size(value: Any, *, decimal: bool = False) -> int:
    """Bytes of ``58.207 TB``, as exact as that is; 0 for what is no size.

    MegaRAID's tools mean powers of 1024 by KB to TB, HPE's powers of 1000 where they tell of drives.
    """
    match = _SIZE.match(str(value))
    if not match:
        return 0
    unit = match.group(2).upper()
    factors = _DECIMAL if decimal and "I" not in unit else _BINARY
    return round(float(match.group(1)) * factors.get(unit.replace("I", ""), 0))


def exact_size(count: int, rough: int, blocks: Iterable[int]) -> int:
    """Bytes of ``count`` blocks, of that size among ``blocks`` which comes nearest to the ``rough`` size."""
    return min((count * block for block in blocks), key=lambda found: abs(found - rough)) if count else rough


def sectors(value: Any) -> int:
    """How many there are in ``10.691 TB [0x558900000 Sectors]``; 0 where that is not told."""
    match = _SECTORS.search(str(value))
    return int(match.group(1), 16) if match else 0


def number(value: Any) -> int | None:
    """A count at the beginning of a value: ``38C (100.40 F)`` is 38; None where there is none."""
    match = _NUMBER.match(str(value))
    return int(match.group(1)) if match else None


def flag(value: Any) -> bool | None:
    """`Yes`, `On`, `Enabled`, `True` and their contraries; None for anything else."""
    return {
        "yes": True, "on": True, "enabled": True, "enable": True, "true": True,
        "no": False, "off": False, "disabled": False, "disable": False, "false": False,
    }.get(text(value).lower())  # fmt: skip


def naa(value: Any) -> str:
    """A SCSI name in small letters, without ``naa.`` or ``0x`` before it."""
    return text(value).lower().removeprefix("naa.").removeprefix("0x")


def device(value: Any) -> str:
    """The kernel's name in ``/dev/sda``; nothing for other words."""
    words = text(value).split()
    return words[0].removeprefix("/dev/") if words and words[0].startswith("/dev/") else ""
