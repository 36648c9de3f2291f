"""Shows a twin as files: sysfs, device nodes, /proc."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twin.raw import beginning, md_superblock

if TYPE_CHECKING:
    from twin.server import TwinServer
    from twin.state import Array, Group, Volume

PROGRAMS = ("mdadm", "lvm", "mkfs.xfs", "mkfs.ext4", "sfdisk", "update-initramfs")


def base(root: Path) -> None:
    """What is there from the beginning."""
    folders = "usr/sbin etc/mdadm boot proc/self proc/sys/kernel dev run srv sys/class/block"
    for folder in folders.split():
        (root / folder).mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        (root / "usr/sbin" / program).touch()
    (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
    (root / "etc/fstab").write_text("UUID=3c6f1d2e-0000-4000-8000-000000000001 / ext4 errors=remount-ro 0 1\n")
    (root / "etc/mdadm/mdadm.conf").write_text("HOMEHOST <system>\nMAILADDR root\n")
    for name in ("vmlinuz-", "initrd.img-"):
        (root / f"boot/{name}6.1.0-1-cloud-amd64").touch()
    (root / "proc/meminfo").write_text("MemTotal:        2097152 kB\n")
    (root / "proc/cpuinfo").write_text("model name\t: twin\n")
    (root / "proc/sys/kernel/hostname").write_text("twin\n")
    (root / "proc/sys/kernel/osrelease").write_text("6.1.0-1-cloud-amd64\n")


def show(server: TwinServer) -> None:
    """Bring the files in step with the twin: those that differ are written, those that are left over go."""
    root = server.root
    want = Files()
    _devices(server, want)
    stripes = {  # as XFS shows them, in sectors
        volume.device: f",sunit={volume.filesystem.unit // 512},swidth={volume.filesystem.width // 512}"
        for group in server.groups
        for volume in group.volumes
        if volume.filesystem and volume.filesystem.type == "xfs" and volume.filesystem.unit
    }
    lines = [
        f"{40 + at} 1 {server.numbers()[mount.device]} / {mount.path} {mount.options} shared:1 - {mount.type} "
        f"/dev/{mount.device} {mount.options}{stripes.get(mount.device, '')}"
        for at, mount in enumerate(server.mounts)
    ]
    swaps = [f"/dev/{name} partition 1024 0 -2" for name in server.swaps]
    want.write("proc/self/mountinfo", "\n".join(lines))
    want.write("proc/swaps", "\n".join(["Filename Type Size Used Priority", *swaps]))
    want.bring(root, server.shown)
    server.shown = want


class Files:
    """Files, links and device nodes to be, by their paths below the root."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.nodes: dict[str, int] = {}
        self.raw: dict[tuple[str, int], bytes] = {}

    def write(self, path: str, value: object) -> None:
        self.texts[path] = f"{value}\n"

    def values(self, folder: str, **values: object) -> None:
        for name, value in values.items():
            self.write(f"{folder}/{name}", value)

    def bring(self, root: Path, old: Files) -> None:
        for path in [*(old.texts.keys() - self.texts.keys()), *(old.links.keys() - self.links.keys())]:
            (root / path).unlink()
            folder = (root / path).parent
            while folder != root and not any(folder.iterdir()):  # a folder of sysfs is there only while it holds
                folder.rmdir()
                folder = folder.parent
        for path, text in self.texts.items():
            if old.texts.get(path) != text:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
        for path, target in self.links.items():
            if old.links.get(path) != target:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).unlink(missing_ok=True)
                (root / path).symlink_to(root / target)
        for name in old.nodes.keys() - self.nodes.keys():
            (root / "dev" / name).unlink()
        for name, size in self.nodes.items():
            if old.nodes.get(name) != size:
                with (root / "dev" / name).open("wb") as file:
                    file.truncate(size)
        for (name, offset), data in self.raw.items():
            if old.raw.get((name, offset)) != data or old.nodes.get(name) != self.nodes[name]:
                with (root / "dev" / name).open("r+b") as file:
                    file.seek(offset)
                    file.write(data)


def _devices(server: TwinServer, want: Files) -> None:
    holders = server.holders()
    numbers = server.numbers()
    for disk in server.disks:
        folder = f"sys/devices/pci/{disk.name}"
        _block(want, folder, disk.size, numbers[disk.name], holders[disk.name])
        want.values(folder, ro=int(disk.read_only), removable=int(disk.removable), diskseq=server.sequence(disk))
        want.values(folder, alignment_offset=disk.alignment_offset)
        smallest = disk.minimum or disk.physical
        _limits(want, folder, disk.logical, disk.physical, smallest, disk.optimal, int(disk.rotational))
        want.links[f"sys/class/block/{disk.name}"] = folder
        want.nodes[disk.name] = disk.size
        for part in disk.parts if disk.table != "gpt" or disk.copies else ():
            name = disk.part_name(part)
            inner = f"{folder}/{name}"
            _block(want, inner, part.size, numbers[name], holders[name])
            want.values(inner, partition=part.index, start=part.start // 512, ro=0, alignment_offset=0)
            want.write(f"{inner}/uevent", f"DEVTYPE=partition\nPARTN={part.index}\nPARTNAME={part.label}")
            want.links[f"sys/class/block/{name}"] = inner
            want.nodes[name] = part.size
            want.raw[name, 4096] = md_superblock(part.member) if part.member else bytes(512)
    for array in server.arrays:
        _array(server, array, want, numbers[array.device], holders[array.device])
    for group in server.groups:
        for volume in group.volumes:
            if volume.active:
                _volume(group, volume, want, numbers[volume.device])


def _array(server: TwinServer, array: Array, want: Files, number: str, holders: list[str]) -> None:
    folder = f"sys/devices/virtual/{array.device}"
    running = array.state != "inactive"
    _block(want, folder, array.size if running else 0, number, holders)
    want.values(folder, ro=0, alignment_offset=0, diskseq=90)
    _limits(want, folder, 512, 512, array.chunk, array.chunk * array.disks // 2, 1)
    redundant = array.level != "raid0"
    if redundant:
        want.write(f"{folder}/md/bitmap/location", "+8" if array.bitmap else "none")
        active = sum(1 for name, slot in array.members.items() if slot is not None and name not in array.failed)
        want.values(f"{folder}/md", degraded=array.disks - active, sync_action=array.sync)
    want.values(
        f"{folder}/md",
        level=array.level,
        layout=array.layout,
        chunk_size=array.chunk,
        raid_disks=array.disks,
        metadata_version="1.2",
        array_state=array.state,
        sync_completed="1 / 2",
        component_size=array.size // 1024 // (array.disks // 2),
        uuid=array.uuid,
    )
    for member, slot in array.members.items():
        offset = server.part(member).member.data_offset // 512
        place, state = ("none", "spare") if slot is None else (slot, "in_sync")
        if member in array.failed:
            place, state = "none", "faulty"
        want.values(f"{folder}/md/dev-{member}", slot=place, state=state, offset=offset, size=1)
        want.write(f"{folder}/slaves/{member}", "")
    want.links[f"sys/class/block/{array.device}"] = folder
    want.nodes[array.device] = max(array.size, 4096)
    want.links[f"dev/md/{array.name}"] = f"dev/{array.device}"


def _volume(group: Group, volume: Volume, want: Files, number: str) -> None:
    folder = f"sys/devices/virtual/{volume.device}"
    size = volume.extents * group.extent_size
    _block(want, folder, size, number, [])
    want.values(folder, ro=0, alignment_offset=0, diskseq=91)
    _limits(want, folder, 512, 512, 65536, 131072, 1)
    want.write(f"{folder}/slaves/{group.device}", "")
    identity = f"LVM-{group.uuid.replace('-', '')}{volume.uuid.replace('-', '')}"
    name = "-".join(text.replace("-", "--") for text in (group.name, volume.name))
    want.values(f"{folder}/dm", name=name, uuid=identity)
    want.links[f"sys/class/block/{volume.device}"] = folder
    want.nodes[volume.device] = size
    want.raw[volume.device, 0] = beginning(volume.filesystem, size)
    want.links[f"dev/{group.name}/{volume.name}"] = f"dev/{volume.device}"


def _block(want: Files, folder: str, size: int, number: str, holders: list[str]) -> None:
    want.values(folder, size=size // 512, dev=number)
    for holder in holders:
        want.write(f"{folder}/holders/{holder}", "")


def _limits(
    want: Files, folder: str, logical: int, physical: int, minimum: int, optimal: int, rotational: int
) -> None:
    want.values(
        f"{folder}/queue",
        logical_block_size=logical,
        physical_block_size=physical,
        minimum_io_size=minimum,
        optimal_io_size=optimal,
        rotational=rotational,
    )
