"""What is refused, in which words, what --wipe releases, and what not even that does."""

import pytest
from layouts import apply, layout, machine_of, plan_for, wrong_with
from twin import Disk, Part, Signature, blank_server
from twin.state import GIB, MIB, Array, Group, Member, Mount, Volume

from stackctl.errors import ExitCode, InputError, RefusedError
from stackctl.node import claim


@pytest.fixture
def server(tmp_path):
    return blank_server(tmp_path)


OLD = "11111111-2222-4333-8444-555555555555"


def gpt(disk, *parts):
    disk.table, disk.table_id, disk.copies, disk.parts = "gpt", "t", 2, list(parts)


def refused(server, *wipe):
    with pytest.raises(RefusedError) as told:
        plan_for(server, *wipe)
    assert told.value.code == ExitCode.REFUSED
    return str(told.value)


def old_array(server, *serials):
    """An md array that another system has made over whole-disk partitions, running."""
    names = []
    for role, serial in enumerate(serials):
        disk = server.disk(serial)
        gpt(disk, Part(1, MIB, 4094 * MIB))
        disk.parts[0].member = Member(OLD, "old", 65536, len(serials), 2 * MIB, role)
        names.append(disk.part_name(disk.parts[0]))
    slots = dict(zip(names, range(len(names)), strict=True))
    array = Array("md127", OLD, "old", 65536, len(serials), 4 * GIB, slots)
    server.arrays.append(array)
    return array


CONTENTS = {
    "ext4 file system 'photos' on the whole disk": lambda d: d.signatures.append(
        Signature("ext4", 1080, "u", "photos")
    ),
    "LVM physical volume on the whole disk": lambda d: d.signatures.append(Signature("LVM2_member", 536, "u")),
    "member of an md array 'old' on the whole disk": lambda d: d.signatures.append(
        Signature("linux_raid_member", 4096, "u", "x:old")
    ),
    "LUKS encryption on the whole disk": lambda d: d.signatures.append(Signature("crypto_LUKS", 0, "u")),
    "ZFS on the whole disk": lambda d: d.signatures.append(Signature("zfs_member", 0, "u")),
    "bcache on the whole disk": lambda d: d.signatures.append(Signature("bcache", 4096, "u")),
    "BIOS RAID (Intel) on the whole disk": lambda d: d.signatures.append(Signature("isw_raid_member", 99, "")),
    "swap space on the whole disk": lambda d: d.signatures.append(Signature("swap", 4086, "u")),
    "an empty partition table (PMBR, gpt)": lambda d: gpt(d),
    "partition 1 'EFI' of 512 MiB (vfat file system 'BOOT')": lambda d: gpt(
        d, Part(1, MIB, 512 * MIB, "EFI", "c12a7328", [Signature("vfat", 82, "u", "BOOT")])
    ),
    "xfs file system at 1 MiB, where a first partition begins": lambda d: d.lost.append(Signature("xfs", MIB, "u")),
}


@pytest.mark.parametrize("words", CONTENTS)
def test_a_disk_that_holds_anything_is_refused_and_named(server, words):
    CONTENTS[words](server.disk("LAB-2"))
    told = refused(server)
    assert "LAB-2" in told
    assert words in told
    assert "--wipe LAB-2" in told
    assert "LAB-1 (" not in told


@pytest.mark.parametrize("words", CONTENTS)
def test_the_operator_s_word_releases_it(server, words):
    CONTENTS[words](server.disk("LAB-2"))
    planned = plan_for(server, "LAB-2")
    (wipe,) = planned.destroys
    assert wipe.id == "wipe:LAB-2"
    assert words.partition(",")[0] in wipe.destroys
    apply(server, "LAB-2")
    assert wrong_with(server) == []


def test_the_word_for_one_disk_releases_no_other(server):
    for serial in ("LAB-1", "LAB-2"):
        server.disk(serial).signatures.append(Signature("ext4", 1080, "u"))
    told = refused(server, "LAB-1")
    assert "LAB-2 (" in told
    assert "LAB-1 (" not in told


def test_a_disk_is_released_by_its_wwn_too(server):
    server.disk("LAB-2").signatures.append(Signature("ext4", 1080, "u"))
    assert [step.id for step in plan_for(server, "0x5000000000000002").destroys] == ["wipe:LAB-2"]


class TestInUse:
    """A disk in use is refused even when it is named: whoever uses it must let go of it first."""

    def test_mounted(self, server):
        server.disk("LAB-3").signatures.append(Signature("ext4", 1080, "u"))
        server.mounts.append(Mount("sdc", "/mnt", "ext4", "rw"))
        assert "mounted at /mnt" in refused(server)
        assert "unmount it first" in refused(server, "LAB-3")

    def test_swap(self, server):
        server.disk("LAB-3").signatures.append(Signature("swap", 4086, "u"))
        server.swaps.append("sdc")
        assert "in use as swap" in refused(server)
        assert "swapoff first" in refused(server, "LAB-3")

    def test_a_partition_mounted(self, server):
        gpt(server.disk("LAB-3"), Part(1, MIB, GIB, "data", signatures=[Signature("xfs", 0, "u")]))
        server.mounts.append(Mount("sdc1", "/data"))
        assert "mounted at /data" in refused(server)
        assert "mounted at /data" in refused(server, "LAB-3")


class TestHeldByAnArray:
    def test_it_is_named(self, server):
        old_array(server, "LAB-1", "LAB-2")
        assert "held by md array 'old' (md127)" in refused(server)

    def test_it_is_stopped_when_all_its_disks_are_released(self, server):
        old_array(server, "LAB-1", "LAB-2")
        planned = plan_for(server, "LAB-1", "LAB-2")
        assert [step.id for step in planned.steps][:3] == ["release:wiped", "wipe:LAB-1", "wipe:LAB-2"]
        apply(server, "LAB-1", "LAB-2")
        assert wrong_with(server) == []

    def test_it_is_refused_while_a_member_is_not_named(self, server):
        old_array(server, "LAB-1", "LAB-2")
        assert "--wipe LAB-2" in refused(server, "LAB-1")

    def test_it_is_refused_while_a_member_is_not_of_the_layout(self, tmp_path):
        server = blank_server(tmp_path, 5)
        old_array(server, "LAB-4", "LAB-5")
        wanted = layout(disks={"count": 4, "serial": ["LAB-1", "LAB-2", "LAB-3", "LAB-4"]})
        with pytest.raises(RefusedError, match="also lies on LAB-5"):
            plan_for(server, "LAB-4", wanted=wanted)

    def test_a_member_of_an_array_that_does_not_run_counts_as_well(self, server):
        old_array(server, "LAB-1", "LAB-2")
        server.arrays.clear()
        assert "--wipe LAB-2" in refused(server, "LAB-1")
        assert plan_for(server, "LAB-1", "LAB-2").destroys

    def test_a_leftover_that_a_running_array_does_without_may_go(self, tmp_path):
        server = blank_server(tmp_path, 5)
        array = old_array(server, "LAB-3", "LAB-4", "LAB-5")
        array.members.pop("sdc1")  # it was taken out, and its superblock is still there
        wanted = layout(disks={"count": 4, "exclude": {"serial": ["LAB-4"]}})
        server.arrays[0].members = {"sdd1": 1}
        gpt(server.disk("LAB-5"))
        server.disk("LAB-5").table = ""
        server.disk("LAB-5").copies = 0
        planned = plan_for(server, "LAB-3", wanted=wanted)
        assert [step.id for step in planned.destroys] == ["wipe:LAB-3"]


def test_a_volume_group_is_stopped_when_all_of_it_is_released(server):
    array = old_array(server, "LAB-1", "LAB-2")
    group = Group("vg0", array.device, 4 * MIB, 1000, MIB)
    group.volumes.append(Volume("root", 0, 100, device="dm-0"))
    server.groups.append(group)
    assert "held by LVM volume vg0/root" in refused(server)
    planned = plan_for(server, "LAB-1", "LAB-2")
    assert [command.argv[0] for command in planned.steps[0].commands] == ["vgchange", "mdadm"]
    apply(server, "LAB-1", "LAB-2")
    assert wrong_with(server) == []


def test_a_volume_of_it_that_is_mounted_is_not(server):
    array = old_array(server, "LAB-1", "LAB-2")
    server.groups.append(Group("vg0", array.device, 4 * MIB, 1000, MIB))
    server.groups[0].volumes.append(Volume("root", 0, 100, device="dm-0"))
    server.mounts.append(Mount("dm-0", "/old"))
    assert "mounted at /old" in refused(server, "LAB-1", "LAB-2")


class TestWhatIsOurs:
    def test_is_kept_whatever_the_word(self, server):
        apply(server)
        planned = plan_for(server, "LAB-1", "LAB-2", "LAB-3", "LAB-4")
        assert planned.steps == ()

    def test_is_not_ours_on_another_host(self, server):
        apply(server)
        for disk in server.disks[:4]:
            disk.parts[0].label = "stackctl:data:metal-2"
        assert "volume group data of host metal-2" in refused(server)

    def test_is_refused_when_the_site_wants_another_chunk(self, server):
        apply(server)
        server.mounts = server.mounts[:1]
        with pytest.raises(RefusedError, match="chunk of 64 KiB; the site says 128 KiB"):
            plan_for(server, wanted=layout(raid={"chunk": 131072}))

    def test_is_made_anew_when_it_differs_and_is_released(self, server):
        apply(server)
        server.mounts = server.mounts[:1]
        wanted = layout(raid={"chunk": 131072})
        serials = ("LAB-1", "LAB-2", "LAB-3", "LAB-4")
        apply(server, *serials, wanted=wanted)
        assert wrong_with(server, wanted) == []
        assert plan_for(server, *serials, wanted=wanted).steps == ()

    def test_is_not_made_anew_while_it_is_mounted(self, server):
        apply(server)
        with pytest.raises(RefusedError, match="mounted at /srv/database"):
            plan_for(server, "LAB-1", "LAB-2", "LAB-3", "LAB-4", wanted=layout(raid={"chunk": 131072}))

    def test_is_not_touched_by_a_partition_of_ours_that_is_empty(self, server):
        apply(server)
        server.arrays.clear()
        server.groups.clear()
        server.mounts = server.mounts[:1]
        for disk in server.disks[:4]:
            disk.parts[0].member = None
        assert "no array lies in it" in refused(server)


class TestAnUnfinishedArray:
    """A claim says that nothing of worth is there, but not against what is found."""

    @pytest.fixture
    def unfinished(self, server):
        from twin import PowerCut

        server.cut = 16  # the array is there, the group is not
        with pytest.raises(PowerCut):
            apply(server)
        server.reboot()
        assert server.arrays
        assert not [group for group in server.groups if group.volumes]
        return server

    def test_is_gone_on_with(self, unfinished):
        assert plan_for(unfinished).steps[0].kind == "group"

    def test_with_a_file_system_on_it_is_refused(self, unfinished):
        unfinished.groups.clear()
        unfinished.arrays[0].signatures.append(Signature("ext4", 1080, "u", "mine"))
        assert "its unfinished array holds ext4 file system 'mine'" in refused(unfinished)

    def test_with_another_s_volume_group_is_refused(self, unfinished):
        unfinished.groups[:] = [Group("mine", unfinished.arrays[0].device, 4 * MIB, 100, MIB)]
        assert "holds the volume group mine" in refused(unfinished)

    def test_a_claim_of_another_disk_is_none(self, unfinished):
        system = unfinished.system()
        claim.write(system, "sdb", claim.read(system, "sda"))
        assert machine_of(unfinished).disk("LAB-2").claim.disk == "LAB-1"
        assert "LAB-2" in refused(unfinished)


def test_a_disk_that_the_layout_does_not_take_is_never_wiped(server):
    with pytest.raises(InputError, match="which the layout does not take"):
        plan_for(server, "SYSTEM")


def test_two_disks_with_one_serial_number_are_refused(tmp_path):
    server = blank_server(tmp_path)
    server.disk("LAB-2").serial = "LAB-1"
    assert "more than one disk reports the serial number LAB-1" in refused(server)


def test_a_disk_that_cannot_be_read_is_no_candidate_whatever_the_word(server):
    server.disk("LAB-2").signatures.append(Signature("unreadable"))
    for wipe in ((), ("LAB-2",)):
        with pytest.raises(InputError, match=r"LAB-2 .*: it cannot be read, or not all of it: it may be failing"):
            plan_for(server, *wipe)


def test_a_word_that_names_two_disks_releases_neither(server):
    server.disk("LAB-3").wwn = server.disk("LAB-2").wwn
    with pytest.raises(InputError, match=r"--wipe 0x5000000000000002 names LAB-2 .* and LAB-3 .*"):
        plan_for(server, "0x5000000000000002")


def test_sectors_of_different_sizes_are_told(server):
    server.disk("LAB-4").logical = server.disk("LAB-4").physical = 4096
    with pytest.raises(InputError, match="logical sectors of different sizes"):
        plan_for(server)


class TestNamesThatAreTaken:
    def test_a_group_on_another_disk(self, server):
        server.disks.append(
            Disk("OTHER", size=900 * MIB, name="sdx", signatures=[Signature("LVM2_member", 536, "u")])
        )
        server.groups.append(Group("data", "sdx", 4 * MIB, 100, MIB))
        with pytest.raises(InputError, match="name of another volume group, on OTHER"):
            plan_for(server)

    def test_a_mount_point(self, server):
        server.mounts.append(Mount("vda", "/srv/guests", "ext4", "rw"))
        with pytest.raises(Exception, match="/srv/guests is where vda"):
            plan_for(server)

    def test_a_line_of_fstab(self, server):
        with (server.root / "etc/fstab").open("a") as file:
            file.write("UUID=x /srv/guests ext4 defaults 0 2\n")
        with pytest.raises(Exception, match="/etc/fstab already mounts UUID=x"):
            plan_for(server)

    def test_a_folder_with_files(self, server):
        (server.root / "srv/guests").mkdir()
        (server.root / "srv/guests/file").touch()
        with pytest.raises(Exception, match="holds files that the mount would hide"):
            plan_for(server)
