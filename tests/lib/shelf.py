"""A shelf of machines made up after what hosters have, each with its plan or refusal, worked out by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from machines import GIB, GPT, MIB, TB, Disk, Part, Sig, Upper, Volumes, blank, machine, member

from stackctl.errors import ExitCode

OLD = "11111111-2222-4333-8444-555555555555"
OTHER = "11111111-2222-4333-8444-666666666666"
NONE = "00000000-0000-0000-0000-000000000000"
NVME = {"transport": "nvme", "rotational": False, "model": "ACME NVMe"}


@dataclass(frozen=True)
class Aligned:
    """A plan from blank disks, and its numbers in bytes."""

    facts: Mapping[str, Any]
    width: int
    """The chunk of 64 KiB times the disks that hold data."""
    disks: Mapping[str, Any] = field(default_factory=lambda: {"count": 4})
    keys: Sequence[str] = ("D-1", "D-2", "D-3", "D-4")
    start: int = MIB
    offset: int = 128 * MIB
    """Where md's data begins on a member: at most 128 MiB, a multiple of chunk and grain and 1 MiB."""
    group: int = MIB
    """Where LVM's data begins."""
    extent: int = 4 * MIB


@dataclass(frozen=True)
class Refused:
    """What is told, and with which exit code; nothing is planned."""

    facts: Mapping[str, Any]
    told: Sequence[str]
    code: ExitCode = ExitCode.REFUSED
    wipe: frozenset[str] = frozenset()
    disks: Mapping[str, Any] = field(default_factory=lambda: {"count": 4})


def with_second(*disks: Disk, **words: Any) -> list[Disk]:
    """Four blank disks of which the second is another."""
    first, second, *rest = blank()
    return [first, replace(second, **words), *rest, *disks]


RAID1 = [member(OLD, "0", role, 2, homehost="rescue") for role in (0, 1)]
FOREIGN_MD = machine(
    *with_second(parts=[Part(MIB, TB - 2 * MIB, "primary", [RAID1[0]])], holds=GPT),
    Disk("E-1", parts=[Part(MIB, TB - 2 * MIB, "primary", [RAID1[1]])], holds=GPT),
    uppers=[Upper("md127", ["sdb1", "sde1"], array={"uuid": OLD})],
)
STALE_PV = machine(
    *with_second(holds=[member(OLD, "new", 0, 2), Sig("LVM2_member", 536, "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg")]),
    Disk("E-1", holds=[member(OLD, "new", 1, 2)]),
    uppers=[Upper("md0", ["sdb", "sde"], array={"uuid": OLD})],
)
ZFS = [
    Part(MIB, TB - 10 * MIB, "zfs-5a1b2c3d4e5f6071", [Sig("zfs_member", 262144, "8862115239478651232", "vault")]),
    Part(TB - 9 * MIB, 8 * MIB, "", type="6a945a3b-1dd2-11b2-99a6-080020736631", index=9),
]
GUEST = machine(
    *blank(),
    Disk("H-1", holds=[Sig("LVM2_member", 536, "hhhhhh-bbbb-cccc-dddd-eeee-ffff-gggggg")], size=500 * GIB),
    groups=[
        Volumes("vg0", "sde", "v" * 32, {"dm-0": ("guest1", "g" * 32)}),
        Volumes("data", "dm-0", "w" * 32),
    ],
)


def bios_raid(kind: str, container: str, *, path: str = "/mnt/photos") -> dict[str, Any]:
    """Two disks in a container of BIOS RAID, an array in it, and a file system on the array's partition."""
    sigs = [Sig(kind, TB - 1024)]
    first, second, *rest = blank(6)
    return machine(
        *(replace(disk, holds=sigs) for disk in (first, second)),
        *rest,
        uppers=[
            Upper("md127", ["sda", "sdb"], size=5288 * 1024, array=_external(f"external:{container}", "inactive")),
            Upper(
                "md126",
                ["sda", "sdb"],
                array=_external("external:/md127/0", "active"),
                parts=[Part(MIB, 100 * GIB, "", [Sig("ext4", 1080, OTHER, "photos")])],
            ),
        ],
        mounts=[("md126p1", path, "ext4"), ("nvme9n1p1", "/boot", "ext4")],
    )


def _external(metadata: str, state: str) -> dict[str, Any]:
    return {"metadata_version": metadata, "array_state": state, "uuid": NONE}


def multipath(*, running: bool) -> dict[str, Any]:
    """Four LUNs, each seen by two paths."""
    luns = [replace(disk, transport="fc", wwn=f"0x600508b1001c000{at}") for at, disk in enumerate(blank(), 1)]
    mapped = [
        Upper(f"dm-{at}", [f"sd{'abcd'[at]}", f"sd{'efgh'[at]}"], "dm", mapped=(f"mpath{'abcd'[at]}", f"mpath-3{at}"))
        for at in range(4)
    ]
    return machine(*luns, *luns, uppers=mapped if running else [])


SHELF: dict[str, Aligned | Refused] = {
    "512n": Aligned(machine(*blank()), 131072),
    "512e": Aligned(machine(*blank(sectors=(512, 4096))), 131072),
    "4Kn": Aligned(machine(*blank(sectors=(4096, 4096))), 131072),
    "NVMe with a 4 KiB format": Aligned(machine(*blank(sectors=(4096, 4096), **NVME)), 131072),
    # an optimal request of 128 KiB that is no lie: 1 MiB is a multiple of it already
    "NVMe that likes 128 KiB": Aligned(machine(*blank(sectors=(512, 4096), optimal_io=131072, **NVME)), 131072),
    # 65535 x 512: the field's largest count. Believed, with blocks of 4096, the start would be 8 x 33553920
    "a controller whose optimum is 33553920": Aligned(
        machine(*blank(sectors=(512, 4096), optimal_io=33553920, transport="sas")), 131072
    ),
    "a controller whose optimum is 65535 sectors of 4096": Aligned(
        machine(*blank(sectors=(4096, 4096), optimal_io=268431360, transport="sas")), 131072
    ),
    # RAID5 of 4 with 64 KiB behind the controller: a multiple of 4096, so it is believed; 1 MiB rounds up to six of
    # 196608, and 128 MiB to a multiple of 3 MiB, which is what 196608 and 1 MiB have in common
    "a virtual disk that tells its stripe of 192 KiB": Aligned(
        machine(*blank(sectors=(512, 512), minimum_io=65536, optimal_io=196608, transport=None)),
        131072,
        start=1179648,
        offset=129 * MIB,
    ),
    "PERC virtual disks of 4096/4096": Aligned(
        machine(*blank(sectors=(4096, 4096), transport=None, model="PERC H730 Mini")), 131072
    ),
    # six chunks of data: 393216; 1 MiB rounds up to three of them, 4 MiB to eleven
    "RAID10 over 12 disks": Aligned(
        machine(*blank(12)),
        393216,
        {"count": 12},
        [f"D-{at}" for at in range(1, 13)],
        group=1179648,
        extent=4325376,
    ),
    "a USB stick that the layout excludes": Aligned(
        machine(*blank(), Disk("STICK", 32 * GIB, transport="usb", removable=True)),
        131072,
        {"count": 4, "exclude": {"transport": "usb"}},
    ),
    "a read-only disk beside four others": Aligned(machine(*blank(), Disk("RO", read_only=True)), 131072),
    "a failing disk beside four others": Aligned(machine(*blank(), Disk("BAD", holds=[Sig("unreadable")])), 131072),
    "disks without serial numbers": Aligned(
        machine(*(replace(disk, serial=None) for disk in blank())),
        131072,
        keys=[f"0x5000c500a000000{at}" for at in range(1, 5)],
    ),
    "disks with the same WWN but their own serial numbers": Aligned(
        machine(*(replace(disk, wwn="0x5000000000000000") for disk in blank())), 131072
    ),
    "one of 4096 among 512": Refused(
        machine(*with_second(sectors=(4096, 4096))),
        ["logical sectors of different sizes", "D-1 (931.3 GiB ACME HD, now sda): 512 bytes", "now sdb): 4096 bytes"],
        ExitCode.USAGE,
    ),
    "a partition at LBA 34 on a disk that tells 4096": Refused(
        machine(*with_second(minimum_io=4096, holds=GPT, parts=[Part(34 * 512, TB - MIB, "Basic data partition")])),
        ["D-2 (", "partition 1 'Basic data partition'", "--wipe D-2"],
    ),
    "a foreign array": Refused(
        FOREIGN_MD,
        ["D-2 (", "held by md array '0' (md127)", "also lies on E-1", "--wipe D-2"],
        disks={"count": 4, "serial": ["D-1", "D-2", "D-3", "D-4"]},
    ),
    "a stale PV under a new array": Refused(
        STALE_PV,
        ["D-2 (", "member of an md array 'new' on the whole disk", "LVM physical volume on the whole disk"],
        disks={"count": 4, "serial": ["D-1", "D-2", "D-3", "D-4"]},
    ),
    "ZFS on a whole disk": Refused(
        machine(*with_second(holds=GPT, parts=ZFS)),
        ["D-2 (", "partition 1 'zfs-5a1b2c3d4e5f6071' of 931.3 GiB (ZFS 'vault')", "partition 9", "--wipe D-2"],
    ),
    "bcache": Refused(
        machine(*with_second(holds=[Sig("bcache", 4096, OLD)]), uppers=[Upper("bcache0", ["sdb"], "stacked")]),
        [
            "D-2 (",
            "bcache on the whole disk",
            "held by device bcache0",
            "it is held by device bcache0: close that first",
        ],
    ),
    "a guest's volume group that the host sees": Refused(
        GUEST,
        ["data is the name of another volume group, on H-1 (", "give the layout's volume group another name"],
        ExitCode.USAGE,
        disks={"count": 4, "size": ">= 1 TB"},
    ),
    "the disk of a host whose guests are on LVM": Refused(
        GUEST,
        ["H-1 (", "LVM physical volume on the whole disk", "held by LVM volume vg0/guest1"],
        disks={"count": 4, "exclude": {"serial": ["D-4"]}},
    ),
    "BIOS RAID of Intel": Refused(
        bios_raid("isw_raid_member", "imsm"),
        ["BIOS RAID (Intel) on the whole disk", "held by md array md126", "mounted at /mnt/photos", "--wipe D-1"],
        disks={"count": 6},
    ),
    "BIOS RAID of Intel that is released": Refused(
        bios_raid("isw_raid_member", "imsm"),
        ["it is mounted at /mnt/photos", "it is part of md array md127: stop that first", "part of md array md126"],
        wipe=frozenset({"D-1", "D-2"}),
        disks={"count": 6},
    ),
    "BIOS RAID by the DDF": Refused(
        bios_raid("ddf_raid_member", "ddf"), ["BIOS RAID (DDF) on the whole disk"], disks={"count": 6}
    ),
    "a disk in use as swap": Refused(
        machine(*with_second(holds=[Sig("swap", 4086, OLD)]), swaps=["sdb"]),
        ["D-2 (", "swap space on the whole disk", "in use as swap", "swapoff first"],
    ),
    "the system on an array of BIOS RAID": Refused(
        bios_raid("isw_raid_member", "imsm", path="/"),
        ["takes 6 disks, but 4 disks match", "D-1 (931.3 GiB ACME HD, now sda): it carries the running system (/)"],
        ExitCode.USAGE,
        disks={"count": 6},
    ),
    "a USB stick that nothing excludes": Refused(
        machine(*blank(), Disk("STICK", 32 * GIB, transport="usb", removable=True)),
        ["takes 4 disks, but 5 disks match", "STICK (32 GiB ACME HD, now sde): matches", "exclude"],
        ExitCode.USAGE,
    ),
    "a read-only disk": Refused(
        machine(*with_second(read_only=True)),
        ["takes 4 disks, but 3 disks match", "D-2 (931.3 GiB ACME HD, now sdb): it is read-only"],
        ExitCode.USAGE,
    ),
    "a failing disk": Refused(
        machine(*with_second(holds=[Sig("unreadable")]), errors=["wipefs: error: /dev/sdb: Input/output error"]),
        ["takes 4 disks, but 3 disks match", "now sdb): it cannot be read, or not all of it: it may be failing"],
        ExitCode.USAGE,
    ),
    "a disk of which a partition cannot be read": Refused(
        machine(*with_second(holds=GPT, parts=[Part(MIB, 100 * GIB, holds=[Sig("unreadable")])])),
        ["now sdb): it cannot be read, or not all of it: it may be failing"],
        ExitCode.USAGE,
        frozenset({"D-2"}),
    ),
    "two disks with one serial number": Refused(
        machine(*with_second(serial="D-1")),
        ["more than one disk reports the serial number D-1 (now sda, sdb): they cannot be told apart"],
    ),
    "two disks with one serial number, and one too many": Refused(
        machine(*blank(), Disk("D-3", wwn="0x5000c500b0000001")),
        ["more than one disk reports the serial number D-3 (now sdc, sde)"],
    ),
    "two paths to each disk": Refused(
        multipath(running=False),
        ["sda, sde are paths to one disk, D-1 (WWN 0x600508b1001c0001)", "leave it one path"],
    ),
    "two paths to each disk under multipath": Refused(
        multipath(running=True),
        ["sda, sde are paths to one disk, D-1 (WWN 0x600508b1001c0001), held by multipath mpatha"],
    ),
    "one path to a disk under multipath": Refused(
        machine(*blank(), uppers=[Upper("dm-0", ["sdb"], "dm", mapped=("mpatha", "mpath-35000c500a0000002"))]),
        ["D-2 (", "held by multipath mpatha", "close that first"],
    ),
    "a disk that is too small": Refused(
        machine(*with_second(size=64 * MIB)),
        [
            "volumes.database: 50% comes to 56 MiB, and XFS wants 300 MiB at least",
            "the array takes no more of each than D-2 (64 MiB ACME HD, now sdb) has",
        ],
        ExitCode.USAGE,
    ),
    "a disk that is smaller than what is reserved": Refused(
        machine(*with_second(size=MIB)), ["50% comes to 0 B,", "D-2 (1 MiB ACME HD, now sdb)"], ExitCode.USAGE
    ),
}
