"""A disk is lost: the array lives on, and a blank disk that the layout takes gets its place at the next apply."""

import pytest
from layouts import LAYOUT, apply, layout, machine_of, plan_for, wrong_with
from twin import Disk, PowerCut, Signature, blank_server
from twin.state import GIB, MIB

from stackctl.errors import InputError, RefusedError
from stackctl.storage.audit import audit

SPARED = layout(disks={"count": 5}, raid={"spares": 1})


@pytest.fixture
def server(tmp_path):
    server = blank_server(tmp_path)
    apply(server)
    return server


def lose(server, key):
    """The disk is gone from the server."""
    disk = server.disk(key)
    for part in disk.parts:
        for array in server.arrays:
            array.members.pop(disk.part_name(part), None)
    server.disks.remove(disk)
    server.starts_degraded = True


def put_out(server, key):
    """The array has put the disk out, which hangs in it as faulty."""
    disk = server.disk(key)
    server.arrays[0].failed.add(disk.part_name(disk.parts[0]))
    server.starts_degraded = True


def plug_in(server, key="NEW-1", **words):
    server.disks.insert(-1, Disk(key, name="sdx", **words))


def ids(server, *wipe, wanted=LAYOUT):
    return [step.id for step in plan_for(server, *wipe, wanted=wanted).steps]


def test_without_another_disk_it_lives_on_and_is_told(server):
    lose(server, "LAB-2")
    planned = plan_for(server)
    assert planned.steps == ()
    assert planned.notes == (
        "the array data runs without 1 of its 4 members: plug in a disk that the layout takes, and apply again",
    )
    assert "array data, members: 3 of 4, expected 4 of 4" in [str(finding) for finding in wrong_with(server)]


def test_the_rest_of_the_layout_is_still_looked_after(server):
    lose(server, "LAB-2")
    server.mounts = [mount for mount in server.mounts if mount.path != "/srv/guests"]
    assert ids(server) == ["mount:/srv/guests"]
    apply(server)


def test_a_blank_disk_takes_the_place(server):
    lose(server, "LAB-2")
    plug_in(server)
    planned = plan_for(server)
    assert [step.id for step in planned.steps] == ["partition:NEW-1", "join:NEW-1", "unclaim:data"]
    assert [step.disks for step in planned.steps] == [("NEW-1",)] * 3
    assert planned.destroys == ()
    (fate,) = [disk.fate for disk in planned.disks if disk.key == "NEW-1"]
    assert fate == "it takes a place in the array that a lost disk has left"
    said = [" ".join(command.argv) for step in planned.steps for command in step.commands]
    assert "mdadm --manage /dev/md/data --add {partition:NEW-1}" in said
    apply(server)
    assert wrong_with(server) == []
    assert ids(server) == []
    server.reboot()
    assert wrong_with(server) == []
    assert audit(machine_of(server)).faults == ()


def test_a_larger_disk_is_parted_like_the_others(server):
    lose(server, "LAB-2")
    plug_in(server, size=16 * GIB)
    apply(server)
    sizes = {disk.parts[0].size for disk in server.disks if disk.parts}
    assert len(sizes) == 1
    assert wrong_with(server) == []


def test_the_plan_proves_its_alignment_too(server):
    lose(server, "LAB-2")
    plug_in(server, physical=4096, size=8 * GIB)
    links = {link.layer: link for link in plan_for(server).alignment if link.subject == "NEW-1"}
    assert (links["partition"].value, links["partition"].multiple_of) == (MIB, 4096)
    assert links["md data"].aligned
    apply(server)
    assert wrong_with(server) == []


def test_one_whose_stripe_does_not_fit_the_array_is_refused(server):
    lose(server, "LAB-2")
    plug_in(server, physical=4096, optimal=768 * 1024, size=8 * GIB)
    with pytest.raises(RefusedError, match=r"NEW-1.* asks for starts at multiples of 768 KiB"):
        plan_for(server)


def test_one_that_is_too_small_is_refused(server):
    lose(server, "LAB-2")
    plug_in(server, size=4 * GIB - 8 * MIB)
    with pytest.raises(RefusedError, match=r"NEW-1 .* is too small to take a place in the array data"):
        plan_for(server)


def test_of_other_sectors_is_refused(server):
    lose(server, "LAB-2")
    plug_in(server, logical=4096, physical=4096)
    with pytest.raises(InputError, match="logical sectors of different sizes"):
        plan_for(server)


class TestADiskThatHoldsSomething:
    @pytest.fixture
    def full(self, server):
        lose(server, "LAB-2")
        plug_in(server)
        server.disk("NEW-1").signatures.append(Signature("ext4", 1080, "u", "photos"))
        return server

    def test_is_left_alone_and_named(self, full):
        planned = plan_for(full)
        assert planned.steps == ()
        assert planned.notes == ("the array data runs without 1 of its 4 members: --wipe NEW-1",)

    def test_takes_the_place_by_the_operator_s_word(self, full):
        planned = plan_for(full, "NEW-1")
        assert [step.id for step in planned.steps] == [
            "wipe:NEW-1", "partition:NEW-1", "join:NEW-1", "unclaim:data",
        ]  # fmt: skip
        assert [step.disks for step in planned.destroys] == [("NEW-1",)]
        apply(full, "NEW-1")
        assert wrong_with(full) == []

    def test_is_not_taken_while_it_is_in_use(self, full):
        full.swaps.append("sdx")
        with pytest.raises(RefusedError, match="it is in use as swap"):
            plan_for(full, "NEW-1")


class TestAMemberThatWasPutOut:
    def test_does_not_come_back_by_itself(self, server):
        put_out(server, "LAB-2")
        planned = plan_for(server)
        assert planned.steps == ()
        assert planned.notes == ("the array data runs without 1 of its 4 members: --wipe LAB-2",)

    def test_comes_back_by_the_operator_s_word(self, server):
        """It is taken out, wiped, and rebuilt: what is on it is old."""
        put_out(server, "LAB-2")
        assert ids(server, "LAB-2") == [
            "leave:LAB-2", "wipe:LAB-2", "partition:LAB-2", "join:LAB-2", "unclaim:data",
        ]  # fmt: skip
        apply(server, "LAB-2")
        assert wrong_with(server) == []

    def test_no_word_takes_one_that_works(self, server):
        put_out(server, "LAB-2")
        assert ids(server, "LAB-3") == []
        assert ids(server, "LAB-3", "LAB-2")[:2] == ["leave:LAB-2", "wipe:LAB-2"]

    def test_nothing_of_the_array_is_stopped_for_it(self, server):
        put_out(server, "LAB-2")
        assert not [step for step in plan_for(server, "LAB-2").steps if step.kind == "release"]


def test_a_lost_spare_is_told_and_another_waits_in_its_place(tmp_path):
    server = blank_server(tmp_path, count=5)
    apply(server, wanted=SPARED)
    lose(server, "LAB-5")
    assert plan_for(server, wanted=SPARED).notes == (
        "the array data runs without 1 of its spares: plug in a disk that the layout takes, and apply again",
    )
    plug_in(server)
    assert ids(server, wanted=SPARED) == ["partition:NEW-1", "join:NEW-1", "unclaim:data"]
    apply(server, wanted=SPARED)
    assert wrong_with(server, SPARED) == []


def test_two_are_lost_and_one_is_there(server):
    lose(server, "LAB-2")
    lose(server, "LAB-4")
    plug_in(server)
    planned = plan_for(server)
    assert [step.id for step in planned.steps] == ["partition:NEW-1", "join:NEW-1", "unclaim:data"]
    assert planned.notes == (
        "the array data runs without 2 of its 4 members: plug in a disk that the layout takes, and apply again",
    )


def test_fewer_disks_without_an_array_that_runs_are_still_an_error(tmp_path):
    server = blank_server(tmp_path, count=3)
    with pytest.raises(InputError, match="the layout takes 4 disks, but 3 disks match"):
        plan_for(server)


def others(server):
    return [disk for disk in server.snapshot() if disk["serial"] != "NEW-1"]


def test_any_cut_while_a_disk_joins(tmp_path, sample):
    def begun(folder):
        server = blank_server(folder)
        apply(server)
        lose(server, "LAB-2")
        plug_in(server)
        server.writes.clear()
        return server

    whole = begun(tmp_path / "whole")
    apply(whole)
    cuts = [(number, moment) for number in range(len(whole.writes)) for moment in ("before", "middle", "after")]
    for number, moment in sample(cuts, 10):
        server = begun(tmp_path / f"{number}-{moment}")
        kept = others(server)
        server.cut, server.moment = number, moment
        with pytest.raises(PowerCut):
            apply(server)
        server.reboot()
        apply(server)
        assert wrong_with(server) == [], (number, moment)
        assert ids(server) == []
        assert others(server) == kept
