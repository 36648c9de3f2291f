"""Every RAID level: what is made of it, number by number, that it converges, and what a site may say."""

import pytest
from layouts import apply, layout, machine_of, plan_for, wrong_with
from pydantic import ValidationError
from twin import PowerCut, blank_server

from stackctl.errors import RefusedError
from stackctl.units import KIB, MIB

LEVELS = {
    "raid0": ({"level": 0}, 3),
    "raid1": ({"level": 1}, 2),
    "raid1-of-3": ({"level": 1}, 3),
    "raid5": ({"level": 5}, 4),
    "raid5-of-3": ({"level": 5, "chunk": 512 * KIB}, 3),
    "raid6": ({"level": 6}, 6),
    "raid6-of-12": ({"level": 6, "chunk": 256 * KIB}, 12),
    "raid10": ({"level": 10}, 4),
    "raid10-of-6": ({"level": 10, "chunk": 128 * KIB}, 6),
    "raid10-far": ({"level": 10, "layout": "far"}, 4),
    "raid10-offset": ({"level": 10, "layout": "offset"}, 4),
}
# chunk, data disks, mdadm's words, XFS's words: by hand
MADE = {
    "raid0": (64, 3, ["--level=0", "--chunk=64"], "su=64k,sw=3"),
    "raid1": (0, 1, ["--level=1", "--bitmap=internal"], "noalign"),
    "raid1-of-3": (0, 1, ["--level=1", "--bitmap=internal"], "noalign"),
    "raid5": (64, 3, ["--level=5", "--layout=left-symmetric", "--chunk=64", "--force"], "su=64k,sw=3"),
    "raid5-of-3": (512, 2, ["--level=5", "--chunk=512", "--force"], "su=512k,sw=2"),
    "raid6": (64, 4, ["--level=6", "--layout=left-symmetric", "--force"], "su=64k,sw=4"),
    "raid6-of-12": (256, 10, ["--level=6", "--chunk=256"], "su=256k,sw=10"),
    "raid10": (64, 2, ["--level=10", "--layout=n2", "--bitmap=internal"], "su=64k,sw=2"),
    "raid10-of-6": (128, 3, ["--level=10", "--layout=n2", "--chunk=128"], "su=128k,sw=3"),
    "raid10-far": (64, 2, ["--level=10", "--layout=f2"], "su=64k,sw=2"),
    "raid10-offset": (64, 2, ["--level=10", "--layout=o2"], "su=64k,sw=2"),
}


def wanted(name):
    raid, count = LEVELS[name]
    return layout(disks={"count": count, "size": ">= 1 GB"}, raid=raid), count


@pytest.mark.parametrize("name", LEVELS)
def test_from_blank_disks_to_file_systems_aligned_and_read_back(tmp_path, name):
    site, count = wanted(name)
    server = blank_server(tmp_path, count)
    planned = plan_for(server, wanted=site)
    chunk, data, words, stripes = MADE[name]
    (array,) = (step for step in planned.steps if step.kind == "array")
    create = array.commands[-1].argv
    assert set(words) <= set(create)
    assert ("--bitmap=internal" in create) == (name != "raid0"), "mdadm takes no word of bitmaps for RAID0"
    assert ("--force" in create) == (LEVELS[name][0]["level"] in (5, 6))
    filesystems = [step.commands[0].argv for step in planned.steps if step.kind == "filesystem"]
    assert all(stripes in argv for argv in filesystems)
    width = chunk * data * KIB
    assert {link.multiple_of for link in planned.alignment if link.layer == "LV"} == {width or 4 * KIB}
    assert [link for link in planned.alignment if not link.aligned] == []
    apply(server, wanted=site)
    assert wrong_with(server, site) == []
    assert plan_for(server, wanted=site).steps == ()
    machine = machine_of(server)
    (found,) = machine.arrays
    assert found.chunk == chunk * KIB
    for filesystem in machine.filesystems:
        assert (filesystem.stripe_unit, filesystem.stripe_width) == (chunk * KIB, width)
    assert [link.off for link in plan_for(server, wanted=site).alignment if link.off] == []


def test_extents_are_whole_stripes_where_the_width_is_no_power_of_two(tmp_path):
    """Three data disks of 64 KiB: 192 KiB; LVM wants multiples of 128 KiB: 384 KiB; the first from 4 MiB on."""
    site, count = wanted("raid5")
    (group,) = (s for s in plan_for(blank_server(tmp_path, count), wanted=site).steps if s.kind == "group")
    assert "--physicalextentsize=4224k" in group.commands[-1].argv
    assert "--dataalignment=192k" in group.commands[-1].argv


@pytest.mark.parametrize("name", ["raid0", "raid1", "raid5", "raid6", "raid10-far"])
def test_any_cut_is_followed_by_an_apply_that_finishes(tmp_path, name, sample):
    site, count = wanted(name)
    whole = blank_server(tmp_path / "whole", count)
    apply(whole, wanted=site)
    cuts = [(number, moment) for number in range(len(whole.writes)) for moment in ("before", "middle", "after")]
    for number, moment in sample(cuts, 3):
        server = blank_server(tmp_path / f"{number}-{moment}", count)
        canary = server.snapshot()[-1]
        server.cut, server.moment = number, moment
        with pytest.raises(PowerCut):
            apply(server, wanted=site)
        server.reboot()
        apply(server, wanted=site)
        assert wrong_with(server, site) == [], (name, number, moment)
        assert plan_for(server, wanted=site).steps == ()
        assert server.snapshot()[-1] == canary


@pytest.mark.parametrize(
    ("made", "asked", "words"),
    [
        ("raid10", {"level": 10, "layout": "far"}, "raid10, layout 0x102; the site says raid10, f2"),
        ("raid10", {"level": 5}, "raid10, layout 0x102; the site says raid5, left-symmetric"),
        ("raid5", {"level": 6}, "raid5, layout 0x2; the site says raid6"),
        ("raid5", {"level": 0}, "raid5, layout 0x2; the site says raid0"),
    ],
)
def test_another_level_is_refused(tmp_path, made, asked, words):
    site, count = wanted(made)
    server = blank_server(tmp_path, count)
    apply(server, wanted=site)
    other = layout(disks={"count": count, "size": ">= 1 GB"}, raid=asked)
    with pytest.raises(RefusedError) as told:
        plan_for(server, wanted=other)
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("raid", "count", "words"),
    [
        ({"level": 0}, 1, "RAID0 needs at least 2 disks, not 1"),
        ({"level": 1}, 1, "RAID1 needs at least 2 disks, not 1"),
        ({"level": 5}, 2, "RAID5 needs at least 3 disks, not 2"),
        ({"level": 6}, 3, "RAID6 needs at least 4 disks, not 3"),
        ({"level": 10}, 5, "RAID10 needs an even number of disks, at least 4, not 5"),
        ({"level": 4}, 4, "0, 1, 5, 6, 10 or 'none'"),
        ({"level": 5, "layout": "far"}, 4, "a matter of RAID10, not of RAID5"),
        ({"level": 1, "chunk": "64 KiB"}, 2, "RAID1 has no chunk"),
        ({"level": 10, "layout": "near3"}, 4, "'near', 'far' or 'offset'"),
    ],
)
def test_what_no_array_can_be(raid, count, words):
    with pytest.raises(ValidationError) as told:
        layout(disks={"count": count}, raid=raid)
    assert words in str(told.value)


def test_a_mirror_is_aligned_to_the_physical_blocks(tmp_path):
    site, count = wanted("raid1")
    server = blank_server(tmp_path, count, physical=4096)
    planned = plan_for(server, wanted=site)
    assert {(link.multiple_of, link.why) for link in planned.alignment if link.layer == "PV data"} == {
        (4096, "physical block")
    }
    assert [link.value for link in planned.alignment if link.layer == "partition"] == [MIB, MIB]
