"""The Machine: everything that was found on a server, frozen."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from stackctl.errors import InputError
from stackctl.hardware import array as md
from stackctl.hardware.array import Array, Superblock
from stackctl.hardware.controllers import controllers_from_facts
from stackctl.hardware.controllers.matching import virtual_disk
from stackctl.hardware.controllers.model import Controller, VirtualDisk
from stackctl.hardware.disk import Disk, Signature, disks_from_facts, partitions_from_facts
from stackctl.hardware.filesystem import READERS, Filesystem
from stackctl.hardware.lvm import LogicalVolume, PhysicalVolume, VolumeGroup, groups_from_facts
from stackctl.hardware.tables import ArrayEntry, FstabEntry, Mount, fstab, mdadm_conf

_T = TypeVar("_T")

FORMAT = 1
"""The format of the facts that this reader knows."""


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The server itself; memory in bytes."""

    name: str
    kernel: str
    architecture: str
    system: str
    version: str
    vendor: str
    product: str
    memory: int
    processors: int
    processor: str


@dataclass(frozen=True, slots=True)
class Folder:
    """What stands where a file system is to be mounted."""

    exists: bool
    folder: bool
    empty: bool


@dataclass(frozen=True)
class Machine:
    """A server with its disks and all that lies on them."""

    host: HostFacts
    missing: tuple[str, ...]
    """Programs that are not installed there."""
    errors: tuple[str, ...]
    disks: tuple[Disk, ...]
    arrays: tuple[Array, ...]
    members: tuple[Superblock, ...]
    """The md superblocks on devices, whether their arrays run or not."""
    groups: tuple[VolumeGroup, ...]
    orphans: tuple[PhysicalVolume, ...]
    """Physical volumes without a group."""
    filesystems: tuple[Filesystem, ...]
    """Those whose superblocks are read: XFS, ext4, swap space."""
    mounts: tuple[Mount, ...]
    swaps: tuple[str, ...]
    fstab: tuple[FstabEntry, ...]
    mdadm_conf: tuple[ArrayEntry, ...]
    mdadm_conf_changed: int
    """When mdadm.conf was written, in nanoseconds; 0 where there is none."""
    initramfs: Mapping[str, int]
    """The boot images, and when each was made."""
    folders: Mapping[str, Folder]
    signatures: Mapping[str, tuple[Signature, ...]]
    """What is written on devices that are neither disks nor partitions."""
    controllers: tuple[Controller, ...]
    """Hardware RAID controllers, as far as their tools are installed there."""
    _partitions: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Of disks, and of arrays that are partitioned."""
    _holders: Mapping[str, tuple[str, ...]] = field(repr=False)
    _kinds: Mapping[str, str] = field(repr=False)
    _mapped: Mapping[str, tuple[str, str]] = field(repr=False)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Machine":
        """Read the facts that the node collected. Raises InputError when they are of a format unknown here."""
        if facts.get("format") != FORMAT:
            raise InputError(
                f"the facts are of format {facts.get('format')!r}, this stackctl reads format {FORMAT}",
                hint="collect them again with this version",
            )
        try:
            return _read(facts)
        except (KeyError, TypeError, ValueError) as failure:
            raise InputError(f"the facts of the server do not read: {failure!r}") from failure

    def to_json(self) -> dict[str, Any]:
        """The machine as plain values, for people and programs to read."""
        plain = {name: value for name, value in asdict(self).items() if not name.startswith("_")}
        return dict(_plain(plain))

    def disk(self, key: str) -> Disk | None:
        """The disk with that serial number or WWN; None where there is none, or more than one."""
        found = self.named(key)
        return found[0] if len(found) == 1 else None

    def named(self, name: str) -> tuple[Disk, ...]:
        """The disks with that serial number or WWN: more than one where they cannot be told apart."""
        return self._named.get(name, ())

    @cached_property
    def _named(self) -> Mapping[str, tuple[Disk, ...]]:
        return _grouped((name, disk) for disk in self.disks for name in {disk.serial, disk.wwn} - {""})

    def virtual_disk(self, disk: Disk) -> VirtualDisk | None:
        """What of a controller is behind a disk; None for disks that are none of a controller that is known."""
        found = virtual_disk(disk, self.controllers)
        return found[1] if found else None

    def above(self, name: str) -> tuple[str, ...]:
        """Every device that lies on the named one, the nearest first: partitions, arrays, mappings."""
        found: dict[str, None] = {}
        waiting = [*self._upper(name)]
        while waiting:
            current = waiting.pop(0)
            if current not in found:
                found[current] = None
                waiting.extend(self._upper(current))
        return tuple(found)

    def disks_below(self, name: str) -> tuple[Disk, ...]:
        """The disks that the named device lies on; itself, where it is one."""
        return tuple(disk for disk in self.disks if name == disk.name or name in self.above(disk.name))

    def _upper(self, name: str) -> Iterator[str]:
        yield from self._partitions.get(name, ())
        yield from self._holders.get(name, ())

    @cached_property
    def _disk_of(self) -> Mapping[str, str]:
        own = {disk.name: disk.name for disk in self.disks}
        return own | {part.name: disk.name for disk in self.disks for part in disk.partitions}

    def disk_of(self, device: str) -> str:
        """The disk that a disk or partition is, or is on; nothing for other devices."""
        return self._disk_of.get(device, "")

    def kind(self, name: str) -> str:
        """`disk`, `partition`, `md`, `dm`, `loop`, `stacked` (bcache…), or nothing for an unknown device."""
        return self._kinds.get(name, "")

    def mapped(self, name: str) -> tuple[str, str]:
        """The device-mapper name and UUID of a device; empty for others."""
        return self._mapped.get(name, ("", ""))

    def mounts_on(self, name: str) -> tuple[Mount, ...]:
        """What is mounted from the named device itself."""
        return self._mounts_on.get(name, ())

    @cached_property
    def _mounts_on(self) -> Mapping[str, tuple[Mount, ...]]:
        return _grouped((mount.device, mount) for mount in self.mounts)

    def filesystem(self, device: str) -> Filesystem | None:
        """The file system (or swap space) on the named device."""
        return next((found for found in self.filesystems if device and found.device == device), None)

    def group_of(self, device: str) -> VolumeGroup | None:
        """The volume group that has the named device as a physical volume."""
        return next((group for group in self.groups if any(pv.device == device for pv in group.physical)), None)

    def volume_of(self, device: str) -> tuple[VolumeGroup, LogicalVolume] | None:
        """The group and logical volume behind the named device."""
        pairs = ((group, volume) for group in self.groups for volume in group.logical)
        return next((pair for pair in pairs if device and pair[1].device == device), None)


def _read(facts: Mapping[str, Any]) -> Machine:
    blocks = facts["blocks"]
    raw = facts["superblocks"]
    told = {
        name: found
        for name, text in raw.get("linux_raid_member", {}).items()
        if (found := md.superblock(name, bytes.fromhex(text)))
    }
    groups, orphans = groups_from_facts(facts)
    partitions = partitions_from_facts(facts)
    conf = facts["files"].get("/etc/mdadm/mdadm.conf")
    table = facts["files"].get("/etc/fstab")
    controllers, unread = controllers_from_facts(facts)
    return Machine(
        host=HostFacts(**facts["host"]),
        missing=tuple(facts["missing"]),
        errors=(*facts["errors"], *unread),
        disks=tuple(_with_striping(disk, controllers) for disk in disks_from_facts(facts, partitions)),
        arrays=tuple(
            md.array_from_facts(name, facts, told, partitions.get(name, ()))
            for name, block in blocks.items()
            if block["kind"] == "md"
        ),
        members=tuple(told.values()),
        groups=groups,
        orphans=orphans,
        filesystems=tuple(
            known
            for kind, read in READERS.items()
            for name, text in raw.get(kind, {}).items()
            if (known := read(name, bytes.fromhex(text)))
        ),
        mounts=tuple(
            Mount(item["device"], item["path"], item["type"], frozenset(item["options"].split(",")), item["root"])
            for item in facts["mounts"]
        ),
        swaps=tuple(facts["swaps"]),
        fstab=fstab(table["text"]) if table else (),
        mdadm_conf=mdadm_conf(conf["text"]) if conf else (),
        mdadm_conf_changed=conf["changed"] if conf else 0,
        initramfs=dict(facts["initramfs"]),
        folders={path: Folder(**folder) for path, folder in facts["folders"].items()},
        signatures={
            name: tuple(Signature.from_facts(item) for item in found)
            for name, found in facts["signatures"].items()
            if blocks[name]["kind"] not in ("disk", "partition")
        },
        controllers=controllers,
        _partitions=_partitions(blocks),
        _holders={name: tuple(block["holders"]) for name, block in blocks.items()},
        _kinds={name: block["kind"] for name, block in blocks.items()},
        _mapped={
            name: (str(block["dm"]["name"] or ""), str(block["dm"]["uuid"] or ""))
            for name, block in blocks.items()
            if "dm" in block
        },
    )


def _with_striping(disk: Disk, controllers: tuple[Controller, ...]) -> Disk:
    found = virtual_disk(disk, controllers)
    return replace(disk, striping=found[1].striping) if found else disk


def _partitions(blocks: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    parts = {name: block for name, block in blocks.items() if block["kind"] == "partition"}
    in_order = sorted(parts.items(), key=lambda item: item[1]["partition"])
    return _grouped((block["disk"], name) for name, block in in_order)


def _grouped(pairs: Iterable[tuple[str, _T]]) -> dict[str, tuple[_T, ...]]:
    """The values of each key, in their order."""
    found: dict[str, list[_T]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in found.items()}


def _plain(value: Any) -> Any:
    """Tuples and sets as lists, so that JSON takes them; sets in order."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(_plain(item) for item in value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
