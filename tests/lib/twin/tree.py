"""Shows a twin as files: sysfs, device nodes, /proc."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from twin.raw import md_superblock, xfs_superblock

if TYPE_CHECKING:
    from twin.server import TwinServer

PROGRAMS = ("mdadm", "lvm", "mkfs.xfs", "sfdisk", "update-initramfs")


def base(root: Path) -> None:
    """What is there from the beginning."""
    for folder in ("usr/sbin", "etc/mdadm", "boot", "proc/self", "proc/sys/kernel", "dev", "run", "srv"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        (root / "usr/sbin" / program).touch()
    (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
    (root / "etc/fstab").write_text("UUID=3c6f1d2e-0000-4000-8000-000000000001 / ext4 errors=remount-ro 0 1\n")
    (root / "etc/mdadm/mdadm.conf").write_text("HOMEHOST <system>\nMAILADDR root\n")
    (root / "boot/initrd.img-6.1.0-1-cloud-amd64").touch()
    (root / "proc/meminfo").write_text("MemTotal:        2097152 kB\n")
    (root / "proc/cpuinfo").write_text("model name\t: twin\n")
    (root / "proc/sys/kernel/hostname").write_text("twin\n")
    (root / "proc/sys/kernel/osrelease").write_text("6.1.0-1-cloud-amd64\n")


def show(server: TwinServer) -> None:
    """Write the whole twin anew."""
    root = server.root
    shutil.rmtree(root / "sys", ignore_errors=True)
    (root / "sys/class/block").mkdir(parents=True)
    holders = server.holders()
    numbers = server.numbers()
    for disk in server.disks:
        folder = root / "sys/devices/pci" / disk.name
        _block(folder, disk.size, numbers[disk.name], holders[disk.name])
        _write(folder, ro=int(disk.read_only), removable=int(disk.removable), diskseq=server.sequence(disk))
        _write(folder, alignment_offset=disk.alignment_offset)
        _limits(folder, disk.logical, disk.physical, disk.physical, disk.optimal, int(disk.rotational))
        _link(root, disk.name, folder)
        _node(root, disk.name, disk.size)
        for part in disk.parts if disk.table != "gpt" or disk.copies else ():
            name = disk.part_name(part)
            inner = folder / name
            _block(inner, part.size, numbers[name], holders[name])
            _write(inner, partition=part.index, start=part.start // 512, ro=0, alignment_offset=0)
            (inner / "uevent").write_text(f"DEVTYPE=partition\nPARTN={part.index}\nPARTNAME={part.label}\n")
            _link(root, name, inner)
            _node(root, name, part.size)
            raw = md_superblock(part.member) if part.member else bytes(512)
            _put(root, name, 4096, raw)
    for array in server.arrays:
        folder = root / "sys/devices/virtual" / array.device
        running = array.state != "inactive"
        _block(folder, array.size if running else 0, numbers[array.device], holders[array.device])
        _write(folder, ro=0, alignment_offset=0, diskseq=90)
        _limits(folder, 512, 512, array.chunk, array.chunk * array.disks // 2, 1)
        (folder / "md/bitmap").mkdir(parents=True)
        (folder / "md/bitmap/location").write_text("+8\n")
        _write(
            folder / "md",
            level=array.level,
            layout=array.layout,
            chunk_size=array.chunk,
            raid_disks=array.disks,
            metadata_version="1.2",
            array_state=array.state,
            degraded=array.disks - len(array.members),
            sync_action="resync",
            sync_completed="1 / 2",
            component_size=array.size // 1024 // (array.disks // 2),
            uuid=array.uuid,
        )
        for member, slot in array.members.items():
            offset = server.part(member).member.data_offset // 512
            _write(folder / f"md/dev-{member}", slot=slot, state="in_sync", offset=offset, size=1)
            (folder / "slaves" / member).touch()
        _link(root, array.device, folder)
        _node(root, array.device, max(array.size, 4096))
        _symlink(root, f"/dev/md/{array.name}", array.device)
    for group in server.groups:
        for volume in group.volumes:
            if not volume.active:
                continue
            folder = root / "sys/devices/virtual" / volume.device
            size = volume.extents * group.extent_size
            _block(folder, size, numbers[volume.device], [])
            _write(folder, ro=0, alignment_offset=0, diskseq=91)
            _limits(folder, 512, 512, 65536, 131072, 1)
            (folder / "slaves" / group.device).touch()
            identity = f"LVM-{group.uuid.replace('-', '')}{volume.uuid.replace('-', '')}"
            _write(folder / "dm", name=f"{group.name}-{volume.name}", uuid=identity)
            _link(root, volume.device, folder)
            _node(root, volume.device, size)
            raw = xfs_superblock(volume.filesystem, size) if volume.filesystem else bytes(512)
            _put(root, volume.device, 0, raw)
            _symlink(root, f"/dev/{group.name}/{volume.name}", volume.device)
    lines = [
        f"{40 + at} 1 {numbers[mount.device]} / {mount.path} {mount.options} shared:1 - {mount.type} "
        f"/dev/{mount.device} {mount.options}"
        for at, mount in enumerate(server.mounts)
    ]
    (root / "proc/self/mountinfo").write_text("\n".join(lines) + "\n")
    swaps = [f"/dev/{name} partition 1024 0 -2" for name in server.swaps]
    (root / "proc/swaps").write_text("\n".join(["Filename Type Size Used Priority", *swaps]) + "\n")


def _block(folder: Path, size: int, number: str, holders: list[str]) -> None:
    (folder / "holders").mkdir(parents=True)
    (folder / "slaves").mkdir()
    _write(folder, size=size // 512, dev=number)
    for holder in holders:
        (folder / "holders" / holder).touch()


def _limits(folder: Path, logical: int, physical: int, minimum: int, optimal: int, rotational: int) -> None:
    _write(
        folder / "queue",
        logical_block_size=logical,
        physical_block_size=physical,
        minimum_io_size=minimum,
        optimal_io_size=optimal,
        rotational=rotational,
    )


def _write(folder: Path, **values: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / name).write_text(f"{value}\n")


def _link(root: Path, name: str, folder: Path) -> None:
    (root / "sys/class/block" / name).symlink_to(folder)


def _node(root: Path, name: str, size: int) -> None:
    node = root / "dev" / name
    if not node.exists() or node.stat().st_size != size:
        with node.open("wb") as file:
            file.truncate(size)


def _put(root: Path, name: str, offset: int, data: bytes) -> None:
    with (root / "dev" / name).open("r+b") as file:
        file.seek(offset)
        file.write(data)


def _symlink(root: Path, path: str, name: str) -> None:
    link = root / path.lstrip("/")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(root / "dev" / name)
