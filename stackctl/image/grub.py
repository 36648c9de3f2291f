"""GRUB for BIOS, put into a disk image without any block device."""

import struct
from pathlib import Path

from stackctl.process import Runner
from stackctl.units import MIB

MODULES_FOLDER = Path("/usr/lib/grub/i386-pc")
SECTOR = 512
_MODULES = (
    "biosdisk",
    "part_gpt",
    "ext2",
    "search",
    "search_fs_uuid",
    "linux",
    "normal",
    "serial",
    "terminal",
    "echo",
)

# Offsets of the two boot sectors, and the segment that the core is loaded to: grub-core/boot/i386/pc/boot.S and
# diskboot.S, include/grub/i386/pc/boot.h and kernel.h of GRUB 2.06.
_BOOT_CODE = 440
_KERNEL_SECTOR = 0x5C
_DRIVE_CHECK = 0x66
_BLOCKLIST = 0x1F4
_KERNEL_SEGMENT = 0x820
_NOPS = b"\x90\x90"


def make_core(root_uuid: str, folder: Path, runner: Runner) -> bytes:
    """GRUB's core, which finds the root file system by its UUID and reads /boot/grub/grub.cfg from it."""
    early, core = folder / "early.cfg", folder / "core.img"
    early.write_text(
        f"search --no-floppy --fs-uuid --set=root {root_uuid}\nset prefix=($root)/boot/grub\n", encoding="ascii"
    )
    runner.run(
        [
            "grub-mkimage",
            "-O",
            "i386-pc",
            "-p",
            "/boot/grub",
            "-c",
            early,
            "-o",
            core,
            "-d",
            MODULES_FOLDER,
            *_MODULES,
        ]
    )
    return core.read_bytes()


def boot_sector(boot: bytes, core_lba: int) -> bytes:
    """The first 440 bytes of the disk: ``boot`` (boot.img) told where the core begins."""
    code = bytearray(boot[:_BOOT_CODE])
    struct.pack_into("<Q", code, _KERNEL_SECTOR, core_lba)
    code[_DRIVE_CHECK : _DRIVE_CHECK + 2] = _NOPS  # believe the drive number that the BIOS gives
    return bytes(code)


def placed_core(core: bytes, core_lba: int) -> bytes:
    """The core with the list of its own blocks in its first sector; it lies in one piece from ``core_lba`` on."""
    padded = bytearray(core.ljust(-(-len(core) // SECTOR) * SECTOR, b"\0"))
    struct.pack_into("<QHH", padded, _BLOCKLIST, core_lba + 1, len(padded) // SECTOR - 1, _KERNEL_SEGMENT)
    return bytes(padded)


def embed(image: Path, core: bytes, partition_start: int, partition_size: int = MIB) -> None:
    """Write the boot sector and the core into ``image``; the BIOS boot partition is given in bytes."""
    lba = partition_start // SECTOR
    placed = placed_core(core, lba)
    if len(placed) > partition_size:
        raise ValueError(f"GRUB's core of {len(placed)} bytes does not fit a partition of {partition_size}")
    boot = (MODULES_FOLDER / "boot.img").read_bytes()
    with image.open("r+b") as disk:
        disk.write(boot_sector(boot, lba))
        disk.seek(partition_start)
        disk.write(placed)
