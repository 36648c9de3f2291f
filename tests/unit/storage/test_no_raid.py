"""One disk as it is: a controller's virtual disk, or a plain one; LVM lies on its partition, without md."""

import pytest
from controlled import machine_with, record
from layouts import EVERY_KIND, apply, layout, machine_of, plan_for, wrong_with
from pydantic import ValidationError
from twin import PowerCut, blank_server
from twin.state import MIB, Group, Signature, Volume

from stackctl.errors import InputError, RefusedError
from stackctl.site.models import Layout
from stackctl.storage.audit import audit
from stackctl.storage.planner import plan

KIB = 1 << 10
BARE = layout(disks={"count": 1}, raid={"level": "none"}, volumes=EVERY_KIND)
PERC = {"minimum": 64 * KIB, "optimal": 256 * KIB, "physical": 4096}
"""A virtual disk of five drives in RAID5 that tells its strip and its stripe."""


def bare_server(folder, **words):
    return blank_server(folder, count=1, **words)


def said(found):
    return [" ".join(command.argv) for step in found.steps for command in step.commands]


def test_a_plain_disk(tmp_path):
    found = plan_for(bare_server(tmp_path), wanted=BARE)
    kinds = [step.kind for step in found.steps]
    assert kinds[:3] == ["partition", "group", "unclaim"]
    assert not {"array", "mdadm_conf", "initramfs"} & set(kinds)
    lines = said(found)
    assert (
        "vgcreate --yes --addtag=stackctl --dataalignment=4k --physicalextentsize=4096k data {partition:LAB-1}"
        in lines
    )
    assert "mkfs.xfs -q -f -L database -d noalign /dev/data/database" in lines
    (table,) = [c.input for step in found.steps for c in step.commands if c.argv[0] == "sfdisk"]
    assert "type=E6D6D379-F507-44C2-A23C-238F2A3DF928" in table
    layers = {link.layer for link in found.alignment}
    assert {"partition", "PV data", "LV"} <= layers
    assert not any("md" in layer for layer in layers)
    assert all(link.aligned for link in found.alignment)


def test_a_virtual_disk_that_tells_its_stripe(tmp_path):
    """By what the kernel shows of it, as for a PERC without its tool: su=64k, sw=4."""
    server = bare_server(tmp_path, **PERC)
    lines = said(plan_for(server, wanted=BARE))
    assert "mkfs.xfs -q -f -L database -d su=64k,sw=4 -l su=64k /dev/data/database" in lines
    assert "mkfs.ext4 -q -F -L documents -b 4096 -E stride=16,stripe_width=64 /dev/data/documents" in lines
    apply(server, wanted=BARE)
    assert wrong_with(server, BARE) == []
    assert audit(machine_of(server)).faults == ()


def test_the_controller_s_word_counts_before_the_kernel_s():
    """RAID50 of 24: 21 strips of 256 KiB, behind a request size that is a lie."""
    lie = {"sda": {"wwn": "0x600605b00f5c6d702d8a41c82b3c4d5e", "optimal_io_size": 33553920}}
    wanted = layout(disks={"count": 1, "serial": ["LAB-DISKS-1-1"]}, raid={"level": "none"})
    found = plan("lab-disks-1", wanted, machine_with(record("raid50-of-24"), disks=lie))
    assert "mkfs.xfs -q -f -L database -d su=256k,sw=21 -l su=256k /dev/data/database" in said(found)
    starts = [step.params["start"] for step in found.steps if step.kind == "partition"]
    assert starts == [5376 * KIB]
    assert {link.multiple_of for link in found.alignment if link.layer in ("PV data", "LV")} == {5376 * KIB}
    assert all(link.aligned for link in found.alignment)


@pytest.mark.parametrize("disk", [{}, PERC, {"logical": 4096, "physical": 4096}], ids=["plain", "perc", "4Kn"])
def test_it_is_there_and_stays(tmp_path, disk):
    server = bare_server(tmp_path, **disk)
    apply(server, wanted=BARE)
    for _ in range(2):
        assert wrong_with(server, BARE) == []
        found = plan_for(server, wanted=BARE)
        assert found.steps == ()
        assert all(link.aligned for link in found.alignment)
        server.reboot()


@pytest.mark.parametrize("disk", [{}, PERC], ids=["plain", "perc"])
def test_any_cut_is_followed_by_an_apply_that_finishes(tmp_path, sample, disk):
    whole = bare_server(tmp_path / "whole", **disk)
    apply(whole, wanted=BARE)
    cuts = [(number, moment) for number in range(len(whole.writes)) for moment in ("before", "middle", "after")]
    for number, moment in sample(cuts, 12):
        server = bare_server(tmp_path / f"{number}-{moment}", **disk)
        canary = server.snapshot()[-1]
        server.cut, server.moment = number, moment
        with pytest.raises(PowerCut):
            apply(server, wanted=BARE)
        server.reboot()
        apply(server, wanted=BARE)
        assert wrong_with(server, BARE) == [], (number, moment)
        assert plan_for(server, wanted=BARE).steps == ()
        assert server.snapshot()[-1] == canary


def test_what_is_broken_is_told(tmp_path):
    server = bare_server(tmp_path, **PERC)
    apply(server, wanted=BARE)
    server.disks[0].parts[0].start += 4 * KIB
    server.groups[0].start += 512
    server.disks[0].copies = 1
    told = "\n".join(map(str, wrong_with(server, BARE)))
    assert "alignment, partition LAB-1: 1052672, off by 4096, expected a multiple of 262144" in told
    assert "alignment, PV data data: 1049088, off by 512, expected a multiple of 262144 (stripe width)" in told
    assert "partition LAB-1, copies of the table: 1, expected 2" in told


class TestRefusals:
    @pytest.fixture
    def made(self, tmp_path):
        server = bare_server(tmp_path)
        apply(server, wanted=BARE)
        return server

    def refused(self, server, wanted=BARE):
        with pytest.raises(RefusedError) as refusal:
            plan_for(server, wanted=wanted)
        return str(refusal.value)

    def test_another_group_in_our_partition(self, made):
        made.groups[0].name = "theirs"
        assert "held by LVM volume theirs/database" in self.refused(made)

    def test_a_group_without_our_tag(self, made):
        made.groups[0].tags.clear()
        assert "its partition holds the volume group data, not ours" in self.refused(made)

    def test_nothing_in_our_partition(self, made):
        made.groups.clear()
        made.mounts[:] = [mount for mount in made.mounts if mount.path == "/"]
        made.swaps.clear()
        assert "carries this layout's partition, but no volume group lies in it" in self.refused(made)

    def test_something_else_in_our_partition(self, made):
        made.disks[0].parts[0].signatures.append(Signature("crypto_LUKS"))
        assert "LUKS encryption in our partition" in self.refused(made)

    def test_a_physical_volume_on_the_whole_disk(self, tmp_path):
        server = bare_server(tmp_path)
        server.disks[0].signatures.append(Signature("LVM2_member", 536, "x"))
        assert "LVM physical volume on the whole disk" in self.refused(server)

    def test_someone_s_volumes_in_a_half_prepared_partition(self, tmp_path):
        server = bare_server(tmp_path)
        server.cut = next(
            at for at, write in enumerate(writes_of(tmp_path / "whole")) if write.startswith("vgcreate")
        )
        server.moment = "before"
        with pytest.raises(PowerCut):
            apply(server, wanted=BARE)
        server.reboot()
        server.groups.append(Group("vg0", "sda1", 4 * MIB, 900, MIB, anchor=("LAB-1", MIB)))
        server.groups[0].volumes.append(Volume("root", 0, 100, device="dm-0"))
        told = self.refused(server)
        assert "already holds volumes" in told or "held by LVM volume vg0/root" in told

    def test_an_array_that_the_site_no_longer_wants(self, tmp_path):
        server = blank_server(tmp_path, count=2)
        apply(server, wanted=layout(disks={"count": 2}, raid={"level": 1}, volumes=EVERY_KIND))
        wanted = layout(disks={"count": 1, "serial": ["LAB-1"]}, raid={"level": "none"}, volumes=EVERY_KIND)
        with pytest.raises(InputError, match="disks that carry this layout are not among those it takes now"):
            plan_for(server, wanted=wanted)

    def test_a_plain_disk_for_which_the_site_now_wants_an_array(self, tmp_path):
        server = blank_server(tmp_path, count=2)
        one = layout(disks={"count": 1, "serial": ["LAB-1"]}, raid={"level": "none"}, volumes=EVERY_KIND)
        apply(server, wanted=one)
        told = self.refused(server, layout(disks={"count": 2}, raid={"level": 1}, volumes=EVERY_KIND))
        assert "LVM physical volume in our partition" in told


def writes_of(folder):
    whole = bare_server(folder)
    apply(whole, wanted=BARE)
    return whole.writes


def test_a_release_takes_what_lies_on_it(tmp_path):
    server = bare_server(tmp_path)
    apply(server, wanted=BARE)
    server.groups[0].tags.clear()
    server.mounts[:] = [mount for mount in server.mounts if mount.path == "/"]
    server.swaps.clear()
    apply(server, "LAB-1", wanted=BARE)
    assert wrong_with(server, BARE) == []


@pytest.mark.parametrize(
    ("count", "raid"),
    [
        (2, {"level": "none"}),
        (1, {"level": "none", "chunk": "64 KiB"}),
        (1, {"level": "none", "spares": 1}),
        (1, {"level": "none", "bitmap": "internal"}),
        (1, {"level": 1}),
    ],
)
def test_what_does_not_add_up(count, raid):
    with pytest.raises(ValidationError):
        Layout.model_validate(
            {"disks": {"count": count}, "raid": raid, "volumes": {"a": {"size": "rest", "mount": "/srv/a"}}}
        )
