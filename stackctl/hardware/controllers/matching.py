"""Which virtual disk of which controller a disk of the kernel is."""

import re
from collections.abc import Iterator, Sequence

from stackctl.hardware.controllers.model import Controller, VirtualDisk
from stackctl.hardware.disk import Disk

_WHOLE = 32
"""Hexadecimal digits of a virtual disk's SCSI name. The first 16 alone name the controller: they tell nothing."""
_LINK = re.compile(r"/(?:wwn-0x|scsi-3)([0-9a-fA-F]{32})$")


def virtual_disk(disk: Disk, controllers: Sequence[Controller]) -> tuple[Controller, VirtualDisk] | None:
    """By its SCSI name; by the kernel's name where the one or the other side does not tell a SCSI name.

    The kernel's name is of the time when the tool looked, which is that of the facts.
    """
    pairs = [(controller, found) for controller in controllers for found in controller.virtual_disks]
    if not pairs:
        return None
    names = set(_names(disk))
    for pair in pairs:
        if pair[1].naa in names:
            return pair
    return next((pair for pair in pairs if pair[1].device == disk.name and not _another(disk, names, pair[1])), None)


def _another(disk: Disk, names: set[str], found: VirtualDisk) -> bool:
    """Whether the SCSI names, as far as they are told, say that it is another disk."""
    if names:
        return bool(found.naa)
    return bool(disk.wwn and found.naa) and not found.naa.startswith(disk.wwn.lower().removeprefix("0x"))


def _names(disk: Disk) -> Iterator[str]:
    """The disk's whole SCSI names: from its WWN, and from its links, where udev gives the WWN cut short."""
    wwn = disk.wwn.lower().removeprefix("0x")
    if len(wwn) == _WHOLE:
        yield wwn
    for link in disk.links:
        if match := _LINK.search(link):
            yield match.group(1).lower()
