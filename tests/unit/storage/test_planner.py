"""Plans: what they say, what they keep, and that they can be saved and compared."""

import json
import os

import pytest
from layouts import LAYOUT, apply, layout, machine_of, plan_for, wrong_with
from twin import Disk, blank_server
from twin.state import GIB

from stackctl.errors import InputError, StackctlError
from stackctl.storage.plan import Plan
from stackctl.storage.readback import check


@pytest.fixture
def server(tmp_path):
    return blank_server(tmp_path)


@pytest.fixture
def applied(server):
    apply(server)
    return server


class TestForBlankDisks:
    def test_the_steps_go_from_the_disks_upwards(self, server):
        assert [step.id for step in plan_for(server).steps] == [
            *(f"partition:LAB-{number}" for number in (1, 2, 3, 4)),
            "array:data",
            "group:data",
            "unclaim:data",
            "mdadm-conf",
            *(f"volume:data/{name}" for name in LAYOUT.volumes),
            *(f"filesystem:data/{name}" for name in LAYOUT.volumes),
            "fstab:data",
            *(f"mount:{volume.mount}" for volume in LAYOUT.volumes.values()),
            "initramfs",
        ]

    def test_nothing_is_destroyed(self, server):
        assert plan_for(server).destroys == ()

    def test_every_disk_is_named_with_what_it_holds_and_what_becomes_of_it(self, server):
        first = plan_for(server).disks[0]
        assert (first.key, first.holds, first.fate) == ("LAB-1", (), "prepared: it is blank")
        assert first.title == "LAB-1 (4 GiB QEMU HARDDISK, now sda)"

    def test_no_command_holds_a_name_of_the_kernel(self, server):
        words = [word for step in plan_for(server).steps for command in step.commands for word in command.argv]
        assert not [word for word in words if word.startswith(("/dev/sd", "/dev/vd", "/dev/nvme"))]

    def test_the_alignment_of_every_layer_is_there_with_its_number(self, server):
        shown = {(link.layer, link.subject): (link.value, link.multiple_of) for link in plan_for(server).alignment}
        assert shown["partition", "LAB-1"] == (1 << 20, 512)
        assert shown["md data", "LAB-4"] == (3 << 20, 512)
        assert shown["md data offset", "LAB-4"] == (2 << 20, 65536)
        assert shown["PV data", "data"] == (1 << 20, 131072)
        assert shown["extent", "data"] == (4 << 20, 131072)
        assert shown["LV", "data/database"] == (1 << 20, 131072)
        assert shown["LV", "data/documents"] == ((1 << 20) + 1022 * (4 << 20), 131072)
        assert shown["XFS stripe unit", "database"] == (65536, 65536)
        assert shown["XFS stripe width", "database"] == (131072, 131072)
        assert shown["XFS log unit", "database"] == (65536, 65536)

    def test_what_is_planned_is_what_is_read_back(self, server):
        planned = plan_for(server).alignment
        apply(server)
        assert plan_for(server).alignment == planned


def test_a_layout_that_is_complete_needs_nothing(applied):
    planned = plan_for(applied)
    assert planned.steps == ()
    assert {disk.fate for disk in planned.disks} == {"kept: it carries this layout"}
    assert all(finding.ok for finding in check(LAYOUT, machine_of(applied)))


class TestTheDigest:
    def test_is_the_same_for_the_same_server(self, server):
        assert plan_for(server).digest == plan_for(server).digest

    def test_does_not_depend_on_the_kernel_s_names(self, server):
        before = plan_for(server).digest
        first, second = server.disk("LAB-1"), server.disk("LAB-2")
        first.name, second.name = second.name, first.name
        assert plan_for(server).digest == before

    def test_does_not_depend_on_the_tools_that_are_installed(self, server):
        before = plan_for(server).digest
        for program in ("mdadm", "lvm", "mkfs.xfs", "sfdisk"):
            (server.root / "usr/sbin" / program).unlink()
        assert plan_for(server).digest == before

    def test_changes_with_a_disk(self, server):
        before = plan_for(server).digest
        server.disk("LAB-2").size += 1 << 20
        assert plan_for(server).digest != before

    def test_changes_with_the_layout(self, server):
        assert plan_for(server).digest != plan_for(server, wanted=layout(raid={"chunk": 131072})).digest


class TestAsJson:
    def test_it_comes_back_as_it_was(self, server):
        planned = plan_for(server)
        again = Plan.from_json(json.loads(json.dumps(planned.to_json())))
        assert again == planned
        assert again.digest == planned.digest

    @pytest.mark.parametrize("plain", [{"format": 99}, {"format": 1}, {}])
    def test_anything_else_is_an_error(self, plain):
        with pytest.raises(InputError):
            Plan.from_json(plain)


class TestWhatIsLeft:
    def test_a_group_that_is_not_active_is_brought_up_first(self, applied):
        applied.mounts = applied.mounts[:1]
        for volume in applied.groups[0].volumes:
            volume.active = False
        planned = plan_for(applied)
        assert [step.id for step in planned.steps] == ["activate:data"]
        assert planned.more
        apply(applied)
        apply(applied)
        assert wrong_with(applied) == []

    def test_an_array_that_does_not_run_is_assembled_first(self, applied):
        applied.mounts = applied.mounts[:1]
        applied.arrays.clear()
        for volume in applied.groups[0].volumes:
            volume.active = False
        planned = plan_for(applied)
        assert [step.id for step in planned.steps] == ["assemble:data"]
        assert planned.more
        apply(applied)
        apply(applied)
        assert wrong_with(applied) == []

    def test_a_volume_that_was_added_to_the_site_is_made(self, tmp_path):
        server = blank_server(tmp_path)
        few = layout(volumes={"database": {"size": "50%", "mount": "/srv/database"}})
        apply(server, wanted=few)
        outcome = apply(server)
        assert [step["id"] for step in outcome.steps if step["changed"]] == [
            "volume:data/documents",
            "volume:data/guests",
            "filesystem:data/documents",
            "filesystem:data/guests",
            "fstab:data",
            "mount:/srv/documents",
            "mount:/srv/guests",
        ]
        assert wrong_with(server) == []

    def test_an_array_with_a_disk_missing_is_left_as_it_is_and_told(self, applied):
        applied.arrays[0].members.pop("sdb1")
        applied.disk("LAB-2").parts[0].member = None
        planned = plan_for(applied)
        assert planned.steps == ()
        assert "runs without 1 of its 4 members" in planned.notes[0]

    def test_a_disk_that_is_plugged_in_later_changes_nothing(self, applied):
        applied.disks.append(Disk("NEW-1", name="sdx"))
        assert plan_for(applied).steps == ()

    def test_a_line_that_was_lost_from_fstab_is_written_again(self, applied):
        table = applied.root / "etc/fstab"
        table.write_text("".join(line for line in table.open() if "/srv/guests" not in line))
        assert [step.id for step in plan_for(applied).steps] == ["fstab:data"]
        apply(applied)
        assert wrong_with(applied) == []

    def test_a_line_that_was_lost_from_mdadm_conf_is_written_again_and_the_boot_image_renewed(self, applied):
        (applied.root / "etc/mdadm/mdadm.conf").write_text("")
        assert [step.id for step in plan_for(applied).steps] == ["mdadm-conf", "initramfs"]
        apply(applied)
        assert wrong_with(applied) == []


def test_a_complete_volume_without_a_file_system_is_not_formatted(applied):
    applied.mounts = applied.mounts[:1]
    applied.groups[0].volumes[0].filesystem = None
    with pytest.raises(StackctlError, match="completed once, and holds no XFS now"):
        plan_for(applied)


def test_disks_that_have_gone_from_the_choice_are_told(applied):
    with pytest.raises(InputError, match="disks that carry this layout are not among those it takes now"):
        plan_for(applied, wanted=layout(disks={"count": 4, "size": ">= 1 TB"}))


def test_disks_that_are_too_small_for_the_volumes_are_told(tmp_path):
    server = blank_server(tmp_path, size=GIB)
    with pytest.raises(InputError, match="XFS wants 300 MiB"):
        plan_for(
            server, wanted=layout(volumes={"a": {"size": "10%", "mount": "/a"}}, disks={"count": 4, "size": "1 GiB"})
        )


def test_lvm_that_is_not_installed_is_told_when_it_is_needed_to_look(applied):
    (applied.root / "usr/sbin/lvm").unlink()
    with pytest.raises(StackctlError, match="lvm2 is not installed"):
        plan_for(applied)


@pytest.mark.parametrize("count", [4, 6, 10])
@pytest.mark.parametrize("chunk", [4096, 65536, 1 << 20])
def test_other_widths_are_made_and_read_back(tmp_path, count, chunk):
    server = blank_server(tmp_path, count, size=8 * GIB)
    wanted = layout(disks={"count": count}, raid={"chunk": chunk})
    apply(server, wanted=wanted)
    assert wrong_with(server, wanted) == []
    assert plan_for(server, wanted=wanted).steps == ()


def test_copies_of_the_boot_image_do_not_count(applied):
    copy = applied.root / "boot/initrd.img-6.1.0-1-cloud-amd64.dpkg-bak"
    copy.touch()
    os.utime(copy, (1, 1))
    assert plan_for(applied).steps == ()
