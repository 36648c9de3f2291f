"""What the twin does when a command is run: each changes the state as the real one would, or half of it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from stackctl.node.process import Result
from twin.state import MIB, Array, Filesystem, Group, Member, Mount, Part, Volume, new_uuid

if TYPE_CHECKING:
    from twin.server import TwinServer

_READERS = {"lsblk", "wipefs --no-act", "blkid", "lvm", "udevadm", "systemctl"}
Handler = Callable[["TwinServer", tuple[str, ...], str, bool], str]


def writes(words: tuple[str, ...]) -> bool:
    return words[0] not in _READERS and words[:2] != ("wipefs", "--no-act")


def run(server: TwinServer, words: tuple[str, ...], stdin: str, *, half: bool) -> Result:
    name = words[0] if words[:2] != ("wipefs", "--no-act") else "wipefs --no-act"
    try:
        return Result(words, 0, HANDLERS[name](server, words, stdin, half))
    except RefusalError as refusal:
        return Result(words, 1, "", str(refusal))


class RefusalError(Exception):
    """The command ends with an error."""


def _option(words: tuple[str, ...], name: str) -> str:
    for at, word in enumerate(words):
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
        if word == name:
            return words[at + 1]
    return ""


def _names(words: tuple[str, ...]) -> list[str]:
    return [re.sub(r"^.*/dev/", "", word) for word in words if "/dev/" in word]


# Tools that look.


def _lsblk(server, words, stdin, half):
    rows = []
    for disk in server.disks:
        own = {"kname": disk.name, "type": "disk", "size": disk.size, "serial": disk.serial or None}
        own |= {"wwn": disk.wwn or None, "model": disk.model, "vendor": disk.vendor, "tran": disk.transport}
        shown = disk.table if disk.table != "gpt" or disk.copies else None
        rows.append(own | {"pttype": shown, "ptuuid": disk.table_id if shown else None, "parttype": None})
        rows += [
            {"kname": disk.part_name(part), "type": "part", "size": part.size, "parttype": part.type}
            for part in (disk.parts if shown else ())
        ]
    return json.dumps({"blockdevices": rows})


def _signatures(server: TwinServer, name: str) -> list[dict]:
    found = []
    for disk in server.disks:
        if disk.name == name:
            if disk.table == "gpt":
                places = [disk.logical, disk.size - disk.logical][2 - disk.copies :] if disk.copies else []
                found += [("gpt", place, "", "") for place in places]
                found += [("PMBR", 510, "", "")]
            elif disk.table:
                found.append((disk.table, 510, "", ""))
            found += [(s.type, s.offset, s.uuid, s.label) for s in disk.signatures]
    part = server.parts().get(name)
    if part:
        found += [(s.type, s.offset, s.uuid, s.label) for s in part.signatures]
        if part.member:
            found.append(("linux_raid_member", 4096, part.member.array, f"any:{part.member.name}"))
        group = next((group for group in server.groups if group.device == name), None)
        if group or part.orphan:
            found.append(("LVM2_member", 536, group.physical_uuid if group else "orphan", ""))
    for array in server.arrays:
        if array.device == name and array.state != "inactive":
            found += [(s.type, s.offset, s.uuid, s.label) for s in array.signatures]
            group = next((group for group in server.groups if group.device == name), None)
            if group or array.orphan:
                found.append(("LVM2_member", 536, group.physical_uuid if group else "orphan", ""))
    for group in server.groups:
        for volume in group.volumes:
            if volume.device == name and volume.filesystem:
                here = volume.filesystem
                found.append((here.type, {"xfs": 0, "ext4": 1080, "swap": 4086}[here.type], here.uuid, here.label))
    return [
        {"device": name, "offset": hex(offset), "type": kind, "uuid": uuid or None, "label": label or None}
        for kind, offset, uuid, label in found
    ]


def _wipefs_look(server, words, stdin, half):
    return json.dumps({"signatures": [row for name in _names(words) for row in _signatures(server, name)]})


def _blkid(server, words, stdin, half):
    start = int(_option(words, "--offset"))
    blocks = []
    for word in words:
        if "/dev/" in word:
            disk = server.disk(_names((word,))[0])
            here = [s for s in disk.lost if s.offset == start]
            if not here:
                break  # as blkid does (util-linux 2.38): it asks no device behind one that holds nothing
            blocks += [f"DEVNAME={word}\nTYPE={s.type}\nUUID={s.uuid}\nLABEL={s.label}\n" for s in here]
    return "\n".join(blocks)


def _lvm(server, words, stdin, half):
    parts = []
    numbers = server.numbers()

    def physical(device, uuid, group, size, start):
        major, minor = numbers[device].split(":")
        known = {"pv_name": f"/dev/{device}", "pv_major": major, "pv_minor": minor, "pv_uuid": uuid}
        known |= {"vg_name": group.name if group else "", "vg_uuid": group.uuid if group else ""}
        return known | {"pe_start": str(start), "pv_size": str(size), "dev_size": str(size), "pv_missing": ""}

    running = {array.device: array for array in server.arrays if array.state != "inactive"}
    for group in server.groups:
        if group.device.startswith("md") and group.device not in running:
            continue
        used = sum(volume.extents for volume in group.volumes)
        vg = {"vg_name": group.name, "vg_uuid": group.uuid, "vg_tags": ",".join(sorted(group.tags))}
        vg |= {"vg_extent_size": str(group.extent_size), "vg_extent_count": str(group.extents)}
        vg |= {"vg_free_count": str(group.extents - used), "vg_missing_pv_count": "0"}
        size = group.extents * group.extent_size
        rows, segments = [], []
        for volume in group.volumes:
            opened = any(mount.device == volume.device for mount in server.mounts)
            attributes = f"-wi-{'a' if volume.active else '-'}{'o' if opened else '-'}----"
            rows.append(
                {
                    "lv_name": volume.name,
                    "lv_uuid": volume.uuid,
                    "lv_tags": ",".join(sorted(volume.tags)),
                    "lv_size": str(volume.extents * group.extent_size),
                    "lv_attr": attributes,
                    "lv_active": "active" if volume.active else "",
                }
            )
            ranges = f"/dev/{group.device}:{volume.start}-{volume.start + volume.extents - 1}"
            known = {"lv_uuid": volume.uuid, "segtype": "linear", "seg_start_pe": "0"}
            segments.append(known | {"seg_size_pe": str(volume.extents), "seg_pe_ranges": ranges})
        pv = physical(group.device, group.physical_uuid, group, size, group.start)
        parts.append({"vg": [vg], "pv": [pv], "lv": rows, "pvseg": [], "seg": segments})
    for array in running.values():
        if array.orphan and not any(group.device == array.device for group in server.groups):
            pv = physical(array.device, "orphan", None, array.size, 0)
            parts.append({"vg": [], "pv": [pv], "lv": [], "pvseg": [], "seg": []})
    for name, part in server.parts().items():
        if part.orphan and not any(group.device == name for group in server.groups):
            pv = physical(name, "orphan", None, part.size, 0)
            parts.append({"vg": [], "pv": [pv], "lv": [], "pvseg": [], "seg": []})
    return "  an advisory line\n" + json.dumps({"report": parts})


# Tools that write.


def _wipefs(server, words, stdin, half):
    for name in _names(words):
        for disk in server.disks:
            if disk.name == name:
                if any(server.holders()[disk.part_name(part)] for part in disk.parts):
                    raise RefusalError(f"{name}: Device or resource busy")
                disk.signatures.clear()
                if not half:
                    disk.table, disk.copies = "", 0
        part = server.parts().get(name)
        if part:
            part.signatures.clear()
            part.member, part.orphan = None, False
            server.groups = [group for group in server.groups if group.device != name]
        for array in server.arrays:
            if array.device == name or name == f"md/{array.name}":
                array.signatures.clear()
                array.orphan = False
                server.groups = [group for group in server.groups if group.device != array.device]
    return ""


def _blkdiscard(server, words, stdin, half):
    (name,) = _names(words)
    offset, length = int(_option(words, "--offset")), int(_option(words, "--length"))
    zeroed(server, name, offset, length)
    for disk in server.disks:
        if disk.name == name:
            disk.lost = [s for s in disk.lost if not offset <= s.offset < offset + length]
            for part in disk.parts:
                if offset <= part.start + 4096 < offset + length and not server.holders()[disk.part_name(part)]:
                    part.member = None
            if offset == 0:
                with (server.root / "dev" / name).open("r+b") as file:
                    file.write(bytes(MIB))
            for part in disk.parts:
                if offset <= part.start < offset + length:
                    part.orphan = False
    part = server.parts().get(name)
    if part and offset == 0 and not half:
        part.member = None
    return ""


def zeroed(server: TwinServer, name: str, offset: int, length: int) -> None:
    """A volume group whose beginning lies in zeroed bytes is no more, whether its array runs or not."""
    for disk in server.disks:
        shift = next((part.start for part in disk.parts if disk.part_name(part) == name), None)
        if name == disk.name or shift is not None:
            start = offset + (shift or 0)
            server.groups = [
                group
                for group in server.groups
                if not (group.anchor[0] == disk.serial and start <= group.anchor[1] < start + length)
            ]


def anchor(server: TwinServer, array: Array) -> tuple[str, int]:
    """The disk, and the byte on it, where the array's data begins."""
    first = next(name for name, slot in array.members.items() if slot == 0)
    disk = next(disk for disk in server.disks if any(disk.part_name(part) == first for part in disk.parts))
    part = server.part(first)
    return disk.serial, part.start + part.member.data_offset


def partition_anchor(server: TwinServer, device: str) -> tuple[str, int]:
    """The same for a partition that carries a group itself."""
    return next(
        (disk.serial, part.start) for disk in server.disks for part in disk.parts if disk.part_name(part) == device
    )


def _blockdev(server, words, stdin, half):
    (name,) = _names(words)
    disk = server.disk(name)
    if not disk.table:
        disk.parts.clear()
    return ""


def _sfdisk(server, words, stdin, half):
    (name,) = _names(words)
    disk = server.disk(name)
    if any(server.holders()[disk.part_name(part)] for part in disk.parts):
        raise RefusalError("This disk is currently in use")
    fields = dict(re.findall(r'(\w+)="?([^",\s]+)"?', stdin.splitlines()[1]))
    part = Part(1, int(fields["start"]) * disk.logical, int(fields["size"]) * disk.logical, fields["name"])
    part.type = fields["type"].lower()
    if disk.parts and disk.parts[0].start == part.start:
        part.member, part.orphan = (
            disk.parts[0].member,
            disk.parts[0].orphan,
        )  # the table is written, not what it describes
    disk.table, disk.table_id, disk.copies, disk.parts = "gpt", new_uuid(), 1 if half else 2, [part]
    if half:
        disk.parts = []
    return ""


def _mdadm(server, words, stdin, half):
    if "--stop" in words:
        for name in _names(words):
            if any(group.device == name and any(v.active for v in group.volumes) for group in server.groups):
                raise RefusalError("Cannot get exclusive access")
            server.arrays = [array for array in server.arrays if array.device != name]
        return ""
    if "--assemble" in words:
        server.arrays = assembled(server)
        for group in server.groups:
            if any(array.device == group.device and array.state != "inactive" for array in server.arrays):
                for volume in group.volumes:
                    volume.active = True
        return ""
    if "--grow" in words:
        array, wanted = _array(server, words), _option(words, "--bitmap") == "internal"
        if array.sync != "idle":
            raise RefusalError("array is resyncing: Device or resource busy")
        if not half:
            for name in array.members:
                server.part(name).member.bitmap = wanted
            array.bitmap = wanted
        return ""
    if "--add" in words or "--remove" in words:
        return _manage(server, words, half)
    members = [name for name in _names(words) if not name.startswith("md/")]
    disks = int(_option(words, "--raid-devices"))
    if len(members) - disks != int(_option(words, "--spare-devices") or 0):
        raise RefusalError(f"You have listed more devices ({len(members)}) than are in the array({disks})!")
    parts = server.parts()
    level = int(_option(words, "--level"))
    # RAID1 and RAID0 have one layout, whose number is 0; far and offset copies are two parts of each disk
    layout = {"": 0, "left-symmetric": 2, "n2": 0x102, "f2": 0x201, "o2": 0x10201}[_option(words, "--layout")]
    chunk = int(_option(words, "--chunk") or 0) * 1024
    if (level == 1) == bool(chunk) or (level == 0) == any(word.startswith("--bitmap") for word in words):
        raise RefusalError(f"not supported for raid{level}")
    offset = int(_option(words, "--data-offset").removesuffix("K")) * 1024
    if any(server.holders()[name] for name in members):
        raise RefusalError("cannot open: Device or resource busy")
    uuid = new_uuid()
    for role, name in enumerate(members[: 2 if half else None]):
        parts[name].member = Member(
            uuid, _option(words, "--name"), chunk, disks, offset, role, level, layout,
            bitmap=_option(words, "--bitmap") == "internal",
        )  # fmt: skip
    if not half:
        server.arrays += [array for array in assembled(server) if array.uuid == uuid]
        for group in server.groups:
            if group.anchor == anchor(server, server.arrays[-1]):
                group.device = server.arrays[-1].device  # what lay there comes to light again
    return ""


def _manage(server: TwinServer, words: tuple[str, ...], half: bool) -> str:
    array, name = _array(server, words), _names(words[-1:])[0]
    if "--remove" in words:
        if name not in array.members:
            raise RefusalError(f"hot remove failed for /dev/{name}: No such device or address")
        if name not in array.failed:
            raise RefusalError(f"hot remove failed for /dev/{name}: Device or resource busy")
        if not half:
            del array.members[name]
            array.failed.discard(name)
        return ""
    if server.holders()[name]:
        raise RefusalError(f"Cannot open /dev/{name}: Device or resource busy")
    old = server.part(next(other for other in array.members if other not in array.failed))
    if server.part(name).size < old.size:
        raise RefusalError(f"/dev/{name} not large enough to join array")
    if half:
        return ""
    taken = {slot for other, slot in array.members.items() if other not in array.failed}
    role = next(at for at in range(99) if at not in taken)
    server.part(name).member = dataclasses.replace(old.member, role=role)
    array.members[name] = role if role < array.disks else None
    return ""


def assembled(server: TwinServer) -> list[Array]:
    """The arrays that the superblocks on the disks make; whole ones run, others wait for their members."""
    here = {array.uuid: array for array in server.arrays}
    found: dict[str, Array] = {}
    for name, part in sorted(server.parts().items()):
        member = part.member
        if member is None:
            continue
        array = found.get(member.array)
        if array is None:
            old = here.get(member.array)
            array = found[member.array] = Array(
                device=old.device if old else "",
                uuid=member.array,
                name=member.name,
                chunk=member.chunk,
                disks=member.disks,
                size=_array_size(member, part.size - member.data_offset),
                level=f"raid{member.level}",
                layout=member.layout,
                signatures=old.signatures if old else [],
                orphan=old.orphan if old else False,
                bitmap=member.bitmap,
                sync=old.sync if old else "resync",
            )
            if not array.device:
                taken = {other.device for other in [*found.values(), *here.values()]}
                array.device = next(f"md{at}" for at in range(127, 0, -1) if f"md{at}" not in taken)
        array.members[name] = member.role if member.role < member.disks else None
    for array in found.values():
        placed = sum(1 for slot in array.members.values() if slot is not None)
        array.state = "clean" if placed == array.disks or server.starts_degraded else "inactive"
    return list(found.values())


def _array_size(member: Member, component: int) -> int:
    """As drivers/md count it: whole chunks (KiB in a mirror), in as many parts as there are far copies."""
    piece = (member.chunk or 1024) * (member.layout >> 8 & 0xFF if member.level == 10 else 1)
    data = {0: member.disks, 1: 1, 5: member.disks - 1, 6: member.disks - 2, 10: member.disks // 2}[member.level]
    return component // piece * piece * data


def _array(server: TwinServer, words: tuple[str, ...]) -> Array:
    path = next(word for word in words if "/dev/md" in word)
    return next(array for array in server.arrays if path in (f"/dev/md/{array.name}", f"/dev/{array.device}"))


def _vgcreate(server, words, stdin, half):
    part = server.parts().get(_names(words[-1:])[0])
    below = part or _array(server, words)
    if half:
        below.orphan = True
        return ""
    width = int(_option(words, "--dataalignment").removesuffix("k")) * 1024
    extent = int(_option(words, "--physicalextentsize").removesuffix("k")) * 1024
    name = words[-2]
    if any(group.name == name for group in server.groups):
        raise RefusalError(f'A volume group called "{name}" already exists.')
    start = -(-MIB // width) * width
    device = _names(words[-1:])[0] if part else below.device
    server.groups.append(
        Group(name, device, extent, (below.size - start) // extent, start, {_option(words, "--addtag")})
    )
    server.groups[-1].anchor = partition_anchor(server, device) if part else anchor(server, below)
    below.orphan = False
    return ""


def _group(server: TwinServer, name: str) -> Group:
    return next(group for group in server.groups if group.name == name)


def _lvcreate(server, words, stdin, half):
    group = _group(server, words[-1])
    extents = int(_option(words, "--extents"))
    used = [(volume.start, volume.start + volume.extents) for volume in group.volumes]
    at = 0
    for start, end in sorted(used):
        if start - at >= extents:
            break
        at = end
    if half:
        return ""
    if at + extents > group.extents:
        raise RefusalError("insufficient free space")
    tags = {word.partition("=")[2] for word in words if word.startswith("--addtag=")}
    group.volumes.append(Volume(_option(words, "--name"), at, extents, tags, server.next_device("dm")))
    return ""


def _volume(server: TwinServer, path: str) -> tuple[Group, Volume]:
    group, _, name = path.removeprefix("/dev/").partition("/")
    found = _group(server, group)
    return found, next(volume for volume in found.volumes if volume.name == name)


def _lvremove(server, words, stdin, half):
    group, volume = _volume(server, words[-1])
    if not half:
        group.volumes.remove(volume)
    return ""


def _lvchange(server, words, stdin, half):
    _, volume = _volume(server, words[-1])
    if not half:
        volume.tags.discard(_option(words, "--deltag"))
    return ""


def _vgchange(server, words, stdin, half):
    wanted = _option(words, "--activate") == "y"
    select = _option(words, "--select").removeprefix("vg_uuid=")
    for group in server.groups:
        if select == group.uuid or group.name == words[-1]:
            for volume in group.volumes:
                if any(mount.device == volume.device for mount in server.mounts) and not wanted:
                    raise RefusalError("contains a filesystem in use")
                volume.active = wanted
    return ""


def _mkfs_ext4(server, words, stdin, half):
    _, volume = _volume(server, words[-1])
    stripes = re.search(r"stride=(\d+),stripe_width=(\d+)", " ".join(words))
    unit, width = (int(stripes[1]) * 4096, int(stripes[2]) * 4096) if stripes else (0, 0)
    if not half:  # mke2fs wipes the beginning, and writes the superblock at the very end
        volume.filesystem = Filesystem(_option(words, "-L"), unit, width, 0, type="ext4")
    return ""


def _mkswap(server, words, stdin, half):
    _, volume = _volume(server, words[-1])
    if not half:
        volume.filesystem = Filesystem(_option(words, "-L"), 0, 0, 0, type="swap")
    return ""


def _swapon(server, words, stdin, half):
    if "--options" in words:
        raise RefusalError("cannot open the options: No such file or directory")  # as util-linux 2.38 does
    _, volume = _volume(server, words[-1])
    if volume.filesystem is None or volume.filesystem.type != "swap":
        raise RefusalError("read swap header failed")
    if not half:
        server.swaps.append(volume.device)
    return ""


def _mkfs(server, words, stdin, half):
    _, volume = _volume(server, words[-1])
    said = " ".join(words)
    data, log_unit = re.search(r"su=(\d+)k,sw=(\d+)", said), re.search(r"-l su=(\d+)k", said)
    if (data is None) != ("-d noalign" in said):
        raise RefusalError("the twin wants stripes, or a word that there are none")
    unit, count = (int(data[1]) * 1024, int(data[2])) if data else (0, 0)
    log = int(log_unit[1]) * 1024 if log_unit else 0
    volume.filesystem = Filesystem(_option(words, "-L"), unit, unit * count, log, complete=not half)
    return ""


def _mount(server, words, stdin, half):
    path = words[-1]
    for line in (server.root / "etc/fstab").read_text().splitlines():
        source, where, kind, *_ = line.split()
        if where == path:
            volume = next(
                volume
                for group in server.groups
                for volume in group.volumes
                if volume.filesystem and source == f"UUID={volume.filesystem.uuid}"
            )
            if not half:
                server.mounts.append(Mount(volume.device, path, kind))
            return ""
    raise RefusalError(f"{path} not found in /etc/fstab")


def _initramfs(server, words, stdin, half):
    if not half:
        image = server.root / "boot/initrd.img-6.1.0-1-cloud-amd64"
        image.unlink()
        image.touch()
    return ""


HANDLERS: dict[str, Handler] = {
    "lsblk": _lsblk,
    "wipefs --no-act": _wipefs_look,
    "blkid": _blkid,
    "lvm": _lvm,
    "udevadm": lambda *_: "",
    "systemctl": lambda *_: "",
    "sync": lambda *_: "",
    "wipefs": _wipefs,
    "blkdiscard": _blkdiscard,
    "blockdev": _blockdev,
    "sfdisk": _sfdisk,
    "mdadm": _mdadm,
    "vgcreate": _vgcreate,
    "lvcreate": _lvcreate,
    "lvremove": _lvremove,
    "lvchange": _lvchange,
    "vgchange": _vgchange,
    "mkfs.xfs": _mkfs,
    "mkfs.ext4": _mkfs_ext4,
    "mkswap": _mkswap,
    "swapon": _swapon,
    "mount": _mount,
    "update-initramfs": _initramfs,
}
