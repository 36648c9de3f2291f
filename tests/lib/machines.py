"""Machines made up for tests: a few words give facts as the collector prints them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twin.raw import md_superblock
from twin.state import Member

from stackctl.node.fingerprint import of_disk

MIB = 1 << 20
GIB = 1 << 30
TB = 1000**4
RAID_TYPE = "a19d880f-05fc-4d3b-a006-743f0f84911e"
_COLUMNS = "serial wwn model vendor rev tran hctl pttype ptuuid parttype partuuid"


@dataclass
class Sig:
    """A signature; of md members the superblock is made too."""

    type: str
    offset: int = 0
    uuid: str = ""
    label: str = ""
    member: Member | None = None


@dataclass
class Part:
    start: int
    size: int
    label: str = ""
    holds: Sequence[Sig] = ()
    type: str = RAID_TYPE
    index: int = 0


@dataclass
class Disk:
    serial: str | None
    size: int = TB
    sectors: tuple[int, int] = (512, 512)
    minimum_io: int = 0
    """As the physical block, where nothing is said."""
    optimal_io: int = 0
    name: str = ""
    wwn: str | None = None
    model: str = "ACME HD"
    transport: str | None = "sata"
    rotational: bool = True
    read_only: bool = False
    removable: bool = False
    holds: Sequence[Sig] = ()
    parts: Sequence[Part] = ()
    lost: Sequence[Sig] = ()
    claim: Mapping[str, str] | None = None


@dataclass
class Upper:
    """A device on others: `md`, `dm` or `stacked`."""

    name: str
    on: Sequence[str]
    kind: str = "md"
    size: int = TB
    holds: Sequence[Sig] = ()
    array: Mapping[str, Any] = field(default_factory=dict)
    mapped: tuple[str, str] = ("", "")
    parts: Sequence[Part] = ()


@dataclass
class Volumes:
    """A volume group on one device, with volumes by the kernel's names; names and UUIDs of 32 letters."""

    name: str
    on: str
    uuid: str
    volumes: Mapping[str, tuple[str, str]] = field(default_factory=dict)


GPT = (Sig("gpt", 512), Sig("gpt", TB - 512), Sig("PMBR", 510))


def lvm(text: str) -> str:
    """LVM's spelling of a UUID of 32 letters."""
    return "-".join([text[:6], *(text[at : at + 4] for at in range(6, 26, 4)), text[26:]])


def blank(count: int = 4, **words: Any) -> list[Disk]:
    """Blank disks, D-1 and on."""
    return [Disk(f"D-{at}", wwn=f"0x5000c500a000{at:04x}", **words) for at in range(1, count + 1)]


def system(**words: Any) -> Disk:
    """The disk with the running system."""
    root = Part(MIB, 200 * GIB, "root", [Sig("ext4", 1080, "6d1e9a0c-1111-4222-8333-000000000001", "root")])
    return Disk(
        "SYS", 250 * GIB, name="nvme9n1", transport="nvme", rotational=False, holds=GPT, parts=[root], **words
    )


def member(array: str, name: str, role: int, disks: int, *, offset: int = 4096, homehost: str = "any") -> Sig:
    """The superblock of an md array's member."""
    found = Member(array, name, 65536, disks, 128 * MIB, role, homehost=homehost)
    return Sig("linux_raid_member", offset, array, f"{homehost}:{name}", found)


def machine(
    *disks: Disk,
    uppers: Sequence[Upper] = (),
    groups: Sequence[Volumes] = (),
    mounts: Sequence[tuple[str, str, str]] = (("nvme9n1p1", "/", "ext4"),),
    swaps: Sequence[str] = (),
    errors: Sequence[str] = (),
    fstab: str = "UUID=6d1e9a0c-1111-4222-8333-000000000001 / ext4 errors=remount-ro 0 1\n",
    host: str = "metal-1",
) -> dict[str, Any]:
    """The facts of a server with these disks, and a system disk."""
    facts = _Facts()
    for at, disk in enumerate([*disks, *([] if any(d.serial == "SYS" for d in disks) else [system()])]):
        facts.disk(disk, disk.name or f"sd{chr(ord('a') + at)}", at + 1)
    for upper in uppers:
        facts.upper(upper)
    facts.place(groups)
    return facts.document(host, mounts, swaps, errors, fstab)


class _Facts:
    def __init__(self) -> None:
        self.blocks: dict[str, Any] = {}
        self.lsblk: list[dict[str, Any]] = []
        self.links: dict[str, list[str]] = {}
        self.signatures: dict[str, list[dict[str, Any]]] = {}
        self.lost: dict[str, list[dict[str, Any]]] = {}
        self.raw: dict[str, dict[str, str]] = {}
        self.claims: dict[str, dict[str, str]] = {}
        self.lvm: list[dict[str, Any]] = []

    def disk(self, disk: Disk, name: str, sequence: int) -> None:
        logical, physical = disk.sectors
        limits = _limits(logical, physical, disk.minimum_io or physical, disk.optimal_io, int(disk.rotational))
        self._block(name, "disk", disk.size, diskseq=sequence, removable=disk.removable, limits=limits)
        self.blocks[name]["read_only"] = disk.read_only
        table = "gpt" if any(sig.type == "gpt" for sig in disk.holds) else None
        words = {"serial": disk.serial, "wwn": disk.wwn, "model": disk.model, "tran": disk.transport}
        self._describe(name, "disk", disk.size, **words, pttype=table)
        if disk.serial:
            self.links[name] = [f"/dev/disk/by-id/ata-{disk.model.replace(' ', '_')}_{disk.serial}"]
        self._holds(name, disk.holds)
        self._parts(name, disk.parts, disk.wwn)
        if disk.lost:
            self.lost[name] = [_signature(sig) for sig in disk.lost]
        if disk.claim:
            self.claims[name] = dict(disk.claim)

    def upper(self, upper: Upper) -> None:
        self._block(
            upper.name, upper.kind, upper.size, diskseq=90, removable=False, limits=_limits(512, 512, 0, 0, 1)
        )
        self.blocks[upper.name]["slaves"] = list(upper.on)
        for name in upper.on:
            self.blocks[name]["holders"].append(upper.name)
        if upper.kind == "md":
            self.blocks[upper.name]["array"] = _array(upper)
        if upper.kind == "dm":
            self.blocks[upper.name]["dm"] = dict(zip(("name", "uuid"), upper.mapped, strict=True))
        self._describe(upper.name, upper.kind, upper.size)
        self._holds(upper.name, upper.holds)
        self._parts(upper.name, upper.parts, None)

    def place(self, groups: Sequence[Volumes]) -> None:
        for group in groups:
            for name, (volume, uuid) in group.volumes.items():
                names = [text.replace("-", "--") for text in (group.name, volume)]
                mapped = ("-".join(names), f"LVM-{group.uuid}{uuid}")
                self.upper(Upper(name, [group.on], "dm", 64 * GIB, mapped=mapped))
            self.lvm.append(_report(group, self.blocks[group.on]["number"].split(":")))

    def document(
        self,
        host: str,
        mounts: Sequence[tuple[str, str, str]],
        swaps: Sequence[str],
        errors: Sequence[str],
        fstab: str,
    ) -> dict[str, Any]:
        facts = {
            "format": 1,
            "host": {
                "name": host,
                "kernel": "6.1.0-28-amd64",
                "architecture": "x86_64",
                "system": "debian",
                "version": "12",
                "vendor": "ACME",
                "product": "R1",
                "memory": 64 * GIB,
                "processors": 16,
                "processor": "ACME CPU",
            },
            "missing": [],
            "blocks": self.blocks,
            "lsblk": self.lsblk,
            "links": self.links,
            "mounts": [
                {"device": device, "root": "/", "path": path, "type": kind, "options": "rw,relatime"}
                for device, path, kind in mounts
            ],
            "swaps": list(swaps),
            "mdstat": "",
            "lvm": self.lvm,
            "files": {"/etc/fstab": {"text": fstab, "changed": 1}, "/etc/mdadm/mdadm.conf": None},
            "initramfs": {"/boot/initrd.img-6.1.0-28-amd64": 2},
            "folders": {},
            "signatures": self.signatures,
            "lost": self.lost,
            "superblocks": self.raw,
            "claims": self.claims,
            "errors": list(errors),
        }
        facts["fingerprints"] = {
            name: of_disk(facts, name) for name, block in self.blocks.items() if block["kind"] == "disk"
        }
        return facts

    def _block(self, name: str, kind: str, size: int, **words: Any) -> None:
        number = f"{9 if name.startswith('md') else 253 if name.startswith('dm') else 8}:{len(self.blocks)}"
        self.blocks[name] = {
            "kind": kind,
            "number": number,
            "size": size,
            "read_only": False,
            "alignment_offset": 0,
            "holders": [],
            "slaves": [],
            **words,
        }

    def _describe(self, name: str, kind: str, size: int, **words: Any) -> None:
        self.lsblk.append({"kname": name, "type": kind, "size": size, **dict.fromkeys(_COLUMNS.split()), **words})

    def _holds(self, name: str, signatures: Sequence[Sig]) -> None:
        if signatures:
            self.signatures[name] = [_signature(sig) for sig in signatures]
        for sig in signatures:
            if sig.member:
                self.raw.setdefault("linux_raid_member", {})[name] = md_superblock(sig.member).hex()

    def _parts(self, disk: str, parts: Sequence[Part], wwn: str | None) -> None:
        for at, part in enumerate(parts, 1):
            index = part.index or at
            name = f"{disk}p{index}" if disk[-1].isdigit() else f"{disk}{index}"
            self._block(name, "partition", part.size, partition=index, disk=disk, start=part.start, label=part.label)
            self._describe(name, "part", part.size, wwn=wwn, pttype="gpt", parttype=part.type)
            self._holds(name, part.holds)


def _limits(logical: int, physical: int, minimum: int, optimal: int, rotational: int) -> dict[str, Any]:
    return {
        "logical_block_size": logical,
        "physical_block_size": physical,
        "minimum_io_size": minimum,
        "optimal_io_size": optimal,
        "rotational": rotational,
        "discard_granularity": 0,
        "read_ahead_kb": 128,
        "scheduler": "[mq-deadline] none",
        "write_cache": "write back",
    }


def _array(upper: Upper) -> dict[str, Any]:
    members = {name: {"slot": at, "state": "in_sync", "offset": 0, "size": 1} for at, name in enumerate(upper.on)}
    return {
        "level": "raid1",
        "layout": 0,
        "chunk_size": 0,
        "raid_disks": len(upper.on),
        "metadata_version": "1.2",
        "array_state": "clean",
        "degraded": 0,
        "sync_action": "idle",
        "sync_completed": "none",
        "component_size": upper.size // 1024,
        "uuid": "",
        "bitmap/location": "none",
        **upper.array,
        "members": members,
    }


def _signature(sig: Sig) -> dict[str, Any]:
    return {"type": sig.type, "offset": sig.offset, "uuid": sig.uuid, "label": sig.label}


def _report(group: Volumes, number: Sequence[str]) -> dict[str, Any]:
    uuid = lvm(group.uuid)
    return {
        "vg": [
            {
                "vg_name": group.name,
                "vg_uuid": uuid,
                "vg_tags": "",
                "vg_extent_size": str(4 * MIB),
                "vg_extent_count": "1000",
                "vg_free_count": "1000",
                "vg_missing_pv_count": "0",
            }
        ],
        "pv": [
            {
                "pv_name": f"/dev/{group.on}",
                "pv_major": number[0],
                "pv_minor": number[1],
                "pv_uuid": lvm(group.uuid[::-1]),
                "vg_name": group.name,
                "vg_uuid": uuid,
                "pe_start": str(MIB),
                "pv_size": str(4000 * MIB),
                "dev_size": str(4001 * MIB),
                "pv_missing": "",
            }
        ],
        "lv": [
            {
                "lv_name": name,
                "lv_uuid": lvm(text),
                "lv_tags": "",
                "lv_size": str(64 * GIB),
                "lv_attr": "-wi-a-----",
                "lv_active": "active",
            }
            for name, text in group.volumes.values()
        ],
        "pvseg": [],
        "seg": [],
    }
