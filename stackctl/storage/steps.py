"""The steps of a plan, one builder a kind: titles for people, parameters and commands for the server."""

import shlex
from collections.abc import Mapping, Sequence

from stackctl.hardware.disk import Disk
from stackctl.site.models import Raid, Volume
from stackctl.site.values import TITLES, FileSystem
from stackctl.storage.alignment import Geometry
from stackctl.storage.filesystems import KINDS, NOWHERE, options
from stackctl.storage.levels import level_of
from stackctl.storage.marks import FSTAB_OPTION, GROUP_TAG, NEW_TAG, Marks
from stackctl.storage.plan import Command, Step
from stackctl.storage.wiping import Release
from stackctl.units import KIB, MIB, format_size

_HEAD = 16 * MIB
"""Zeroed at either end of a new partition, and where the array's data begins: superblocks of every kind lie
within, and the group of an old array, which a new one laid over it would bring to light."""


def _command(*words: object, stdin: str = "") -> Command:
    return Command(tuple(map(str, words)), stdin)


def release(disks: Sequence[Disk], what: Release, *, unfinished: bool) -> Step:
    """Stop the groups and arrays on disks that are wiped, or that an unfinished run has left."""
    names = ", ".join(name for name, _ in (*what.groups, *what.arrays))
    commands = [_command("vgchange", "--activate", "n", "--select", f"vg_uuid={uuid}") for _, uuid in what.groups]
    commands += [_command("mdadm", "--stop", f"{{array:{uuid}}}") for _, uuid in what.arrays]
    return Step(
        id=f"release:{'unfinished' if unfinished else 'wiped'}",
        kind="release",
        title=f"Stop {names}, {'left by an unfinished run' if unfinished else 'released by --wipe'}",
        disks=tuple(disk.key for disk in disks),
        params={"groups": [uuid for _, uuid in what.groups], "arrays": [uuid for _, uuid in what.arrays]},
        commands=tuple(commands),
    )


def wipe(disk: Disk, holds: Sequence[str]) -> Step:
    """Take every signature off a disk that the operator has released."""
    key = disk.key
    head = min(_HEAD, disk.size // 2)
    return Step(
        id=f"wipe:{key}",
        kind="wipe",
        title=f"Wipe {key}",
        disks=(key,),
        destroys=f"everything on {disk.title}: {'; '.join(holds) or 'nothing that is known'}",
        commands=(
            _command("wipefs", "--all", "--lock", f"{{partitions:{key}}}"),
            _command("wipefs", "--all", "--lock", f"{{disk:{key}}}"),
            _command("blkdiscard", "--zeroout", "--offset", 0, "--length", head, f"{{disk:{key}}}"),
            _command("blkdiscard", "--zeroout", "--offset", disk.size - head, "--length", head, f"{{disk:{key}}}"),
            _command("blockdev", "--rereadpt", f"{{disk:{key}}}"),
        ),
    )


def partition(disk: Disk, marks: Marks, geometry: Geometry, kind: str) -> Step:
    """Claim a disk, clear the place of its partition, and write the table; ``kind`` is the partition's GPT type."""
    key, sector = disk.key, disk.limits.logical_block
    start, size = geometry.start_on(disk), geometry.partition_size
    table = (
        "label: gpt\n"
        f"start={start // sector}, size={size // sector}, type={kind.upper()}, "
        f'name="{marks.partition_label}"\n'
    )
    return Step(
        id=f"partition:{key}",
        kind="partition",
        title=f"Partition {key}: one of {format_size(size)} from {format_size(start)}",
        disks=(key,),
        params={
            "claim": marks.claim(key),
            "label": marks.partition_label,
            "start": start,
            "size": size,
        },
        commands=(
            *_clear(f"{{disk:{key}}}", start, size, geometry.data_offset),
            _command("sfdisk", "--lock", "--wipe=always", "--wipe-partitions=always", f"{{disk:{key}}}", stdin=table),
        ),
    )


def _clear(device: str, start: int, size: int, data_offset: int) -> tuple[Command, ...]:
    """Zero a member's beginning, until well into where its data begins, and its end."""
    head, tail = min(data_offset + _HEAD, size), min(_HEAD, size)
    return (
        _command("blkdiscard", "--zeroout", "--offset", start, "--length", head, device),
        _command("blkdiscard", "--zeroout", "--offset", start + size - tail, "--length", tail, device),
    )


def array(disks: Sequence[Disk], marks: Marks, raid: Raid, geometry: Geometry, *, again: Sequence[Disk]) -> Step:
    """Make the array; the last disks are its spares, ``again`` those whose partitions an unfinished run has
    written to."""
    keys, level = tuple(disk.key for disk in disks), level_of(raid)
    create = _command(
        "mdadm",
        "--create",
        marks.array_path,
        "--run",
        "--metadata=1.2",
        f"--name={marks.array_name}",
        "--homehost=any",
        f"--level={level.name.removeprefix('raid')}",
        *([f"--layout={level.layout}"] if level.layout else []),
        *([f"--chunk={geometry.chunk // KIB}"] if level.striped else []),
        *([f"--bitmap={raid.bitmap}"] if level.redundant else []),
        # else mdadm makes RAID5 one disk short and rebuilds that, which looks like a loss
        *(["--force"] if level.parity else []),
        f"--data-offset={geometry.data_offset // KIB}K",
        f"--raid-devices={geometry.disks}",
        *([f"--spare-devices={raid.spares}"] if raid.spares else []),
        *(f"{{partition:{key}}}" for key in keys),
    )
    cleared = [
        command
        for disk in again
        for command in _clear(f"{{partition:{disk.key}}}", 0, geometry.partition_size, geometry.data_offset)
    ]
    return Step(
        id=f"array:{marks.group}",
        kind="array",
        title=f"Make the array {marks.array_name}: {level.name}{' ' if level.layout else ''}{level.layout}, "
        + (f"chunk {format_size(geometry.chunk)}, " if level.striped else "")
        + f"over {', '.join(keys[: geometry.disks])}"
        + (f"; spare: {', '.join(keys[geometry.disks :])}" if raid.spares else ""),
        disks=keys,
        params={
            "path": marks.array_path,
            "level": level.name,
            "layout": level.layout_number,
            "chunk": geometry.chunk,
            "spares": raid.spares,
            "data_offset": geometry.data_offset,
        },
        commands=(*cleared, create),
    )


def bitmap(marks: Marks, raid: Raid) -> Step:
    """Give a finished array its write-intent bitmap, or take it away."""
    return Step(
        id=f"bitmap:{marks.group}",
        kind="bitmap",
        title=f"Set the bitmap of {marks.array_name} to {raid.bitmap}",
        disks=(),
        params={"path": marks.array_path, "bitmap": raid.bitmap},
        commands=(_command("mdadm", "--grow", f"--bitmap={raid.bitmap}", marks.array_path),),
    )


def leave(disk: Disk, marks: Marks) -> Step:
    """Take a disk that has failed out of its array, which has done without it already."""
    return Step(
        id=f"leave:{disk.key}",
        kind="leave",
        title=f"Take {disk.key} out of the array {marks.array_name}, which has put it out",
        disks=(disk.key,),
        params={"path": marks.array_path},
        commands=(_command("mdadm", "--manage", marks.array_path, "--remove", f"{{partition:{disk.key}}}"),),
    )


def join(disk: Disk, marks: Marks) -> Step:
    """Let a disk take a place in the array; the array rebuilds in the background, or it waits as a spare."""
    return Step(
        id=f"join:{disk.key}",
        kind="join",
        title=f"Add {disk.key} to the array {marks.array_name}",
        disks=(disk.key,),
        params={"path": marks.array_path},
        commands=(_command("mdadm", "--manage", marks.array_path, "--add", f"{{partition:{disk.key}}}"),),
    )


def assemble(disks: Sequence[Disk], marks: Marks, uuid: str) -> Step:
    """Start an array that is complete and does not run."""
    keys = tuple(disk.key for disk in disks)
    plain = uuid.replace("-", "")
    spelled = ":".join(plain[at : at + 8] for at in range(0, 32, 8))
    members = (f"{{partition:{key}}}" for key in keys)
    return Step(
        id=f"assemble:{marks.group}",
        kind="assemble",
        title=f"Assemble the array {marks.array_name}",
        disks=keys,
        params={"path": marks.array_path, "uuid": uuid},
        commands=(
            _command("mdadm", "--stop", f"{{array:{uuid}}}"),
            _command("mdadm", "--assemble", marks.array_path, f"--uuid={spelled}", *members),
        ),
    )


def group(disks: Sequence[Disk], marks: Marks, geometry: Geometry, *, array: bool, orphan: bool) -> Step:
    """Make the volume group on the array, or without one on the disk; what an unfinished run has left goes first."""
    keys = tuple(disk.key for disk in disks)
    below = marks.array_path if array else f"{{partition:{keys[0]}}}"
    create = _command(
        "vgcreate",
        "--yes",
        f"--addtag={GROUP_TAG}",
        f"--dataalignment={geometry.width // KIB}k",
        f"--physicalextentsize={geometry.extent_size // KIB}k",
        marks.group,
        below,
    )
    cleared = _command("wipefs", "--all", below)
    return Step(
        id=f"group:{marks.group}",
        kind="group",
        title=f"Make the volume group {marks.group}: data aligned to {format_size(geometry.width)}, "
        f"extents of {format_size(geometry.extent_size)}",
        disks=keys,
        params={"name": marks.group, "tag": GROUP_TAG, "path": marks.array_path if array else ""},
        commands=(cleared, create) if orphan else (create,),
    )


def unclaim(disks: Sequence[Disk], marks: Marks) -> Step:
    """Take the claims off: from here on the marks of partition and group speak for the disks."""
    return Step(
        id=f"unclaim:{marks.group}",
        kind="unclaim",
        title="Mark the disks as prepared",
        disks=tuple(disk.key for disk in disks),
    )


def activate(marks: Marks) -> Step:
    """Bring up the volumes of a group that is complete."""
    return Step(
        id=f"activate:{marks.group}",
        kind="activate",
        title=f"Activate the volume group {marks.group}",
        disks=(),
        params={"name": marks.group},
        commands=(_command("vgchange", "--activate", "y", marks.group),),
    )


def volume(marks: Marks, name: str, extents: int, extent_size: int, *, redo: bool) -> Step:
    """Make a logical volume, tagged as new until its file system is complete."""
    remove = _command("lvremove", "--yes", f"{marks.group}/{name}")
    create = _command(
        "lvcreate",
        "--yes",
        "--wipesignatures=y",
        "--zero=y",
        f"--name={name}",
        f"--extents={extents}",
        f"--addtag={GROUP_TAG}",
        f"--addtag={NEW_TAG}",
        marks.group,
    )
    return Step(
        id=f"volume:{marks.group}/{name}",
        kind="volume",
        title=f"Make the volume {marks.group}/{name} of {format_size(extents * extent_size)}",
        disks=(),
        params={"group": marks.group, "name": name, "size": extents * extent_size},
        commands=(remove, create) if redo else (create,),
    )


def filesystem(marks: Marks, name: str, filesystem: FileSystem, geometry: Geometry) -> Step:
    """Make the file system on a new volume; the volume's tag goes when it is whole and on the medium."""
    kind, device = KINDS[filesystem], f"/dev/{marks.group}/{name}"
    striped = kind.stripes(geometry.chunk, geometry.data_disks) is not None and geometry.chunk
    return Step(
        id=f"filesystem:{marks.group}/{name}",
        kind="filesystem",
        title=f"Make {TITLES[filesystem]} on {marks.group}/{name}"
        + (f": su {format_size(geometry.chunk)}, sw {geometry.data_disks}" if striped else ""),
        disks=(),
        params={"group": marks.group, "name": name, "type": filesystem, "tag": NEW_TAG},
        commands=(
            _command(*kind.tool, "-L", kind.label(name), *kind.words(geometry.chunk, geometry.data_disks), device),
            _command("sync", device),
            _command("lvchange", "--deltag", NEW_TAG, f"{marks.group}/{name}"),
        ),
    )


def fstab(marks: Marks, volumes: Mapping[str, Volume], kernel: str) -> Step:
    """Name volumes in fstab by the UUIDs of their file systems, for a server that runs ``kernel``."""
    return Step(
        id=f"fstab:{marks.group}",
        kind="fstab",
        title=f"Name {', '.join(volume.mount or name for name, volume in volumes.items())} in /etc/fstab, by UUID",
        disks=(),
        params={
            "mark": FSTAB_OPTION,
            "volumes": [
                {
                    "device": f"/dev/{marks.group}/{name}",
                    "path": volume.mount or NOWHERE,
                    "type": volume.filesystem,
                    "options": list(options(marks, name, volume, kernel)),
                    "check": KINDS[volume.filesystem].check,
                }
                for name, volume in volumes.items()
            ],
        },
        commands=(_command("systemctl", "daemon-reload"),),
    )


def use(marks: Marks, name: str, volume: Volume) -> Step:
    """Mount a volume as fstab says, or swap to it."""
    device = f"/dev/{marks.group}/{name}"
    if volume.mount is None:
        # in one word: swapon takes the option's value from no other (util-linux 2.38)
        words = (f"--options={','.join(volume.options)}",) if volume.options else ()
        return Step(
            id=f"swapon:{marks.group}/{name}",
            kind="swapon",
            title=f"Swap to {marks.group}/{name}",
            disks=(),
            params={"device": device},
            commands=(_command("swapon", *words, device),),
        )
    return Step(
        id=f"mount:{volume.mount}",
        kind="mount",
        title=f"Mount {marks.group}/{name} at {volume.mount}",
        disks=(),
        params={"device": device, "path": volume.mount},
        commands=(_command("mount", volume.mount),),
    )


def mdadm_conf(marks: Marks) -> Step:
    """Name the array in mdadm.conf, so that it gets its name at boot."""
    return Step(
        id="mdadm-conf",
        kind="mdadm_conf",
        title=f"Name {marks.array_path} in /etc/mdadm/mdadm.conf",
        disks=(),
        params={"path": marks.array_path},
    )


def initramfs() -> Step:
    """Bring the boot images up to date with mdadm.conf."""
    return Step(
        id="initramfs",
        kind="initramfs",
        title="Renew the initramfs, which carries mdadm.conf",
        disks=(),
        commands=(_command("update-initramfs", "-u", "-k", "all"),),
    )


def shown(command: Command) -> str:
    """A command for people, as it would be typed."""
    return shlex.join(command.argv).replace("'{", "{").replace("}'", "}")
