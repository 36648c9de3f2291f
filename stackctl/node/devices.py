"""From the names that a plan uses to the kernel's names of the day: disks by serial, arrays by UUID."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .blocks import block_devices
from .errors import NodeError
from .system import System

_WORD = re.compile(r"\{(disk|partition|partitions|array):(.+)\}")


class Devices:
    """Resolves the words of a plan's commands, and watches that a disk stays the one that it was."""

    def __init__(self, system: System, disks: Mapping[str, str], blocks: dict[str, dict[str, Any]]) -> None:
        self._system = system
        self._disks = dict(disks)
        self._sequence = {name: blocks[name]["diskseq"] for name in disks.values()}
        self._resolvers: dict[str, Callable[[str], list[str]]] = {
            "disk": lambda key: [self.disk(key)],
            "partition": lambda key: [self.partition(key)],
            "partitions": self.partitions,
            "array": self.arrays,
        }

    def disk(self, key: str) -> str:
        """The kernel's name of the disk. Raises NodeError when another has taken its place."""
        name = self._disks[key]
        if self._system.number(f"/sys/class/block/{name}/diskseq") != self._sequence[name]:
            raise NodeError(
                f"disk {key} (it was {name}) is gone, or another has taken its place",
                kind="refused",
                hint="look at the cabling and the kernel's log, then run the same command again",
            )
        return name

    def partitions(self, key: str) -> list[str]:
        """The kernel's names of the disk's partitions."""
        disk = self.disk(key)
        names = self._system.names(f"/sys/class/block/{disk}")
        return [name for name in names if self._system.number(f"/sys/class/block/{name}/partition")]

    def partition(self, key: str) -> str:
        """The kernel's name of the disk's one partition. Raises NodeError when it has none or several."""
        names = self.partitions(key)
        if len(names) != 1:
            raise NodeError(f"disk {key} has {len(names)} partitions where one was expected")
        return names[0]

    def arrays(self, uuid: str) -> list[str]:
        """The md devices with that UUID, running or not."""
        blocks = block_devices(self._system)
        return [name for name, device in blocks.items() if device.get("array", {}).get("uuid") == uuid]

    def argv(self, words: Iterable[str]) -> list[str] | None:
        """A command's words with devices in them; None when what it is for is not there (any more)."""
        found: list[str] = []
        for word in words:
            match = _WORD.fullmatch(word)
            if match is None:
                found.append(word)
                continue
            names = self._resolvers[match.group(1)](match.group(2))
            if not names:
                return None
            found += [f"/dev/{name}" for name in names]
        return found
