"""The twin itself: its state, its reboots, and the moments at which it loses power."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from stackctl.node.collect import collect
from stackctl.node.process import ProcessError, Result
from stackctl.node.system import System
from twin import commands, tree
from twin.state import GIB, Array, Disk, Group, Mount, Part, Signature


class PowerCut(BaseException):
    """The twin has lost its power."""


class TwinServer:
    """A server in a folder. ``cut`` is the number of the write (from 0) at which it loses power."""

    def __init__(self, root: Path, disks: Sequence[Disk]) -> None:
        self.root = root
        self.disks = list(disks)
        for at, disk in enumerate(self.disks):
            disk.name = disk.name or f"sd{chr(ord('a') + at)}"
        self.arrays: list[Array] = []
        self.groups: list[Group] = []
        self.mounts: list[Mount] = []
        self.swaps: list[str] = []
        self.calls: list[tuple[str, ...]] = []
        self.writes: list[str] = []
        self.cut: int | None = None
        self.moment = "after"
        self.boots = 0
        self.starts_degraded = False
        """Whether arrays that lack members are started, as udev does a while after the last of them."""
        self.stale = False
        self.shown = tree.Files()
        self._numbers: dict[str, str] = {}
        tree.base(root)
        tree.show(self)

    # What the node's code works with.

    def system(self) -> System:
        self.stale = True
        return _TwinSystem(self)

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Result:
        words = tuple(argv)
        self.calls.append(words)
        if commands.writes(words):
            with _Write(self, " ".join(words)) as write:
                result = commands.run(self, words, input or "", half=write.half)
        else:
            result = commands.run(self, words, input or "", half=False)
        if check and result.returncode:
            raise ProcessError(result)
        return result

    def facts(self, *paths: str) -> dict:
        tree.show(self)
        return collect(self.system(), paths=paths)

    def reboot(self) -> None:
        """Start again: what was running is put together anew from what is on the disks."""
        self.cut = None
        self.boots += 1
        self.mounts = [mount for mount in self.mounts if mount.path == "/"]
        self.swaps.clear()
        self.arrays = commands.assembled(self)
        running = {array.device for array in self.arrays if array.state != "inactive"}
        moved = {commands.anchor(self, array): array.device for array in self.arrays}
        running |= set(self.parts())
        for group in self.groups:
            group.device = moved.get(group.anchor, group.device)
            for volume in group.volumes:
                volume.active = group.device in running
        tree.show(self)
        for line in (self.root / "etc/fstab").read_text().splitlines():
            source, path, kind, *_ = line.split()
            for volume in (volume for group in self.groups for volume in group.volumes if volume.active):
                if volume.filesystem and source == f"UUID={volume.filesystem.uuid}":
                    if kind == "swap":
                        self.swaps.append(volume.device)
                    else:
                        self.mounts.append(Mount(volume.device, path, kind))
        tree.show(self)

    # Lookups.

    def part(self, name: str) -> Part:
        return next(part for disk in self.disks for part in disk.parts if disk.part_name(part) == name)

    def disk(self, key: str) -> Disk:
        return next(disk for disk in self.disks if key in (disk.serial, disk.wwn, disk.name))

    def sequence(self, disk: Disk) -> int:
        return self.disks.index(disk) + 1

    def parts(self) -> dict[str, Part]:
        return {
            disk.part_name(part): part
            for disk in self.disks
            if disk.table != "gpt" or disk.copies
            for part in disk.parts
        }

    def holders(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {disk.name: [] for disk in self.disks}
        found |= {disk.part_name(part): [] for disk in self.disks for part in disk.parts}
        found |= {array.device: [] for array in self.arrays}
        for array in self.arrays:
            for member in array.members:
                found[member].append(array.device)
        for group in self.groups:
            found.setdefault(group.device, [])
            found[group.device] += [volume.device for volume in group.volumes if volume.active]
        return found

    def numbers(self) -> dict[str, str]:
        names = [*self.holders(), *(volume.device for group in self.groups for volume in group.volumes)]
        for name in names:
            major = 9 if name.startswith("md") else 253 if name.startswith("dm") else 8
            self._numbers.setdefault(name, f"{major}:{len(self._numbers)}")
        return self._numbers

    def next_device(self, kind: str) -> str:
        taken = {array.device for array in self.arrays}
        taken |= {volume.device for group in self.groups for volume in group.volumes}
        order = range(127, 0, -1) if kind == "md" else range(100)
        return next(
            f"{kind}{sep}{at}"
            for sep in ["" if kind == "md" else "-"]
            for at in order
            if f"{kind}{sep}{at}" not in taken
        )

    def snapshot(self) -> list[dict]:
        """The disks as plain values, for comparing."""
        return [dataclasses.asdict(disk) for disk in self.disks]


class _TwinSystem(System):
    def __init__(self, server: TwinServer) -> None:
        super().__init__(server, server.root)
        self._server = server

    def path(self, path: str) -> Path:
        if self._server.stale:
            self._server.stale = False
            tree.show(self._server)
        return super().path(path)

    def sync(self, descriptor: int) -> None:
        """The twin has no medium to wait for."""

    def write_at(self, name: str, offset: int, data: bytes) -> None:
        with _Write(self._server, f"sector of {name}") as write:
            if not write.half:
                super().write_at(name, offset, data)

    def replace_text(self, path: str, text: str) -> None:
        with _Write(self._server, path) as write:
            if not write.half:
                super().replace_text(path, text)


class _Write:
    """One write, at which the power may go: before it, in the middle, or after it."""

    def __init__(self, server: TwinServer, what: str) -> None:
        self._server = server
        self._due = server.cut == len(server.writes)
        server.writes.append(what)
        self.half = self._due and server.moment == "middle"

    def __enter__(self) -> "_Write":
        if self._due and self._server.moment == "before":
            raise PowerCut
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._server.stale = True
        if self._due and kind is None:
            raise PowerCut


def blank_server(root: Path, count: int = 4, **words: object) -> TwinServer:
    """A server with a system disk and ``count`` blank disks, LAB-1 and on."""
    system = Disk(serial="SYSTEM", name="vda", size=8 * GIB, signatures=[Signature("ext4", 1080, "u", "root")])
    blank = [Disk(serial=f"LAB-{at}", wwn=f"0x500000000000000{at}", **words) for at in range(1, count + 1)]
    server = TwinServer(root, [*blank, system])
    server.mounts.append(Mount("vda", "/", "ext4", "rw,relatime"))
    tree.show(server)
    return server
