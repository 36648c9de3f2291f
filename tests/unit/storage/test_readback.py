"""Reading back: break one thing of a finished server at a time, and it is named."""

import os

import pytest
from layouts import apply, wrong_with
from twin import blank_server
from twin.state import Mount


@pytest.fixture
def applied(tmp_path):
    server = blank_server(tmp_path)
    apply(server)
    return server


def break_member(server):
    server.arrays[0].members.pop("sdb1")
    server.disk("LAB-2").parts[0].member = None


def break_start(server):
    server.disk("LAB-1").parts[0].start = 63 * 512
    server.disk("LAB-1").physical = 4096


def break_data_offset(server):
    for disk in server.disks[:4]:
        disk.parts[0].member.data_offset += 512


def break_group_start(server):
    server.groups[0].start += 512


def break_stripe(server):
    server.groups[0].volumes[0].filesystem.unit = 0


def break_width(server):
    server.groups[0].volumes[0].filesystem.width = 65536


def break_log(server):
    server.groups[0].volumes[0].filesystem.log_unit = 0


def break_mount(server):
    server.mounts = [mount for mount in server.mounts if mount.path != "/srv/guests"]


def break_options(server):
    device = server.groups[0].volumes[2].device
    server.mounts = [mount for mount in server.mounts if mount.device != device]
    server.mounts.append(Mount(device, "/srv/guests", options="rw,relatime,inode64"))


def break_fstab(server):
    (server.root / "etc/fstab").write_text("/dev/data/guests /srv/guests xfs noatime,x-stackctl 0 0\n")


def break_conf(server):
    (server.root / "etc/mdadm/mdadm.conf").write_text("")


def break_boot(server):
    os.utime(server.root / "boot/initrd.img-6.1.0-1-cloud-amd64", (1, 1))


def break_tag(server):
    server.groups[0].tags.clear()


def break_table(server):
    server.disk("LAB-3").copies = 1


def break_volume(server):
    server.groups[0].volumes[1].tags.add("stackctl.new")


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (break_member, "array data, members: 3 of 4, expected 4 of 4"),
        (break_start, "alignment, partition LAB-1: 32256, off by 3584, expected a multiple of 4096 (physical block)"),
        (
            break_data_offset,
            "md data offset LAB-1: 2097664, off by 512, expected a multiple of 65536 (chunk)",
        ),
        (
            break_group_start,
            "PV data data: 1049088, off by 512, expected a multiple of 131072 (stripe width)",
        ),
        (break_stripe, "file system data/database, stripe unit: 0 B, expected 64 KiB"),
        (break_width, "file system data/database, stripe width: 64 KiB, expected 128 KiB"),
        (break_log, "file system data/database, log unit: 0 B, expected 64 KiB"),
        (break_mount, "mount /srv/guests: missing, expected present"),
        (
            break_options,
            "mount /srv/guests, options: inode64, relatime, rw, sunit=128, swidth=256, expected noatime, inode64",
        ),
        (break_fstab, "fstab /srv/guests: /dev/data/guests /srv/guests xfs noatime,x-stackctl, expected UUID="),
        (break_conf, "mdadm.conf /dev/md/data: no line, expected "),
        (break_boot, "older than mdadm.conf, expected newer than mdadm.conf"),
        (break_tag, "volume group data, tags: none, expected stackctl"),
        (break_table, "partition LAB-3, copies of the table: 1, expected 2"),
        (break_volume, "volume data/documents, complete: its file system is not complete, expected yes"),
    ],
)
def test_one_broken_thing_is_named(applied, broken, told):
    assert wrong_with(applied) == []
    broken(applied)
    assert any(told in str(finding) for finding in wrong_with(applied)), [str(f) for f in wrong_with(applied)]
