"""From a root tree to a disk image: partition table, file system, boot loader; no loop device, no mount."""

import os
from dataclasses import dataclass
from pathlib import Path

from stackctl.image import cage, grub
from stackctl.image.definition import Disk
from stackctl.image.tree import FileSystems
from stackctl.process import Runner
from stackctl.units import KIB, MIB

BIOS_BOOT = "21686148-6449-6E6F-744E-656564454649"
ROOT_X86_64 = "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709"


@dataclass(frozen=True)
class Partition:
    """A partition; ``start`` and ``size`` in bytes."""

    name: str
    kind: str
    start: int
    size: int
    uuid: str | None = None


def partitions(size: int, ids: FileSystems) -> tuple[Partition, Partition]:
    """The BIOS boot partition and the root of a disk of ``size`` bytes; the last MiB is the second table's."""
    bios = Partition("bios", BIOS_BOOT, MIB, MIB)
    start = bios.start + bios.size
    return bios, Partition("root", ROOT_X86_64, start, size - start - MIB, ids.root_partition)


def sfdisk_script(table: tuple[Partition, ...], disk_uuid: str) -> str:
    """The table in sfdisk's words."""
    lines = ["label: gpt", f"label-id: {disk_uuid}", "unit: sectors"]
    for part in table:
        words = [f"start={part.start // grub.SECTOR}", f"size={part.size // grub.SECTOR}", f"type={part.kind}"]
        words += [f'name="{part.name}"', *([f"uuid={part.uuid}"] if part.uuid else [])]
        lines.append(", ".join(words))
    return "\n".join(lines) + "\n"


def mke2fs_argv(tree: Path, image: Path, disk: Disk, root: Partition, uuid: str) -> list[str]:
    """mke2fs filling the root partition inside ``image`` with ``tree``.

    The features that GRUB 2.06 does not read are left out; the inode tables are the zeros the file is made of.
    """
    extended = f"offset={root.start},lazy_itable_init=0,nodiscard"
    words = ["mke2fs", "-q", "-F", "-t", disk.file_system, "-L", disk.label, "-U", uuid, "-m", "1"]
    words += ["-O", "^orphan_file,^metadata_csum_seed", "-E", extended, "-d", str(tree)]
    return [*words, str(image), f"{root.size // KIB}k"]


def make(tree: Path, disk: Disk, ids: FileSystems, workshop: Path, runner: Runner) -> Path:
    """A raw, sparse, bootable image of ``tree`` in ``workshop``."""
    image = workshop / "disk.raw"
    with image.open("wb") as file:
        os.truncate(file.fileno(), disk.size)
    bios, root = partitions(disk.size, ids)
    runner.run(cage.as_root(mke2fs_argv(tree, image, disk, root, ids.root)))
    runner.run(
        ["sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", image], input=sfdisk_script((bios, root), ids.disk)
    )
    grub.embed(image, grub.make_core(ids.root, workshop, runner), bios.start, bios.size)
    return image
