"""Volumes of every kind: XFS, ext4 and swap space are made, named, used, read back, and survive power cuts."""

import pytest
from layouts import EVERY_KIND, apply, layout, machine_of, plan_for, wrong_with
from pydantic import ValidationError
from twin import PowerCut, blank_server

from stackctl.errors import StackctlError
from stackctl.site.models import Volume
from stackctl.storage.audit import audit
from stackctl.storage.filesystems import options
from stackctl.storage.marks import Marks

MIXED = layout(volumes=EVERY_KIND)
MARKS = Marks("metal-1", "data")


@pytest.fixture
def made(tmp_path):
    server = blank_server(tmp_path)
    apply(server, wanted=MIXED)
    return server


def commands(plan):
    return [" ".join(command.argv) for step in plan.steps for command in step.commands]


def test_each_is_made_with_its_own_words(tmp_path):
    said = commands(plan_for(blank_server(tmp_path), wanted=MIXED))
    assert "mkfs.xfs -q -f -L database -d su=64k,sw=2 -l su=64k /dev/data/database" in said
    assert "mkfs.ext4 -q -F -L documents -b 4096 -E stride=16,stripe_width=32 /dev/data/documents" in said
    assert "mkswap --quiet -L swap /dev/data/swap" in said
    assert "swapon --options=pri=5,discard /dev/data/swap" in said
    assert [line for line in said if line.startswith("mount ")] == [
        "mount /srv/database",
        "mount /srv/documents",
        "mount /srv/guests",
    ]


def test_the_plan_proves_what_each_is_told(tmp_path):
    links = {
        (link.layer, link.subject): link.value for link in plan_for(blank_server(tmp_path), wanted=MIXED).alignment
    }
    assert links["ext4 stripe unit", "documents"] == 65536
    assert links["ext4 stripe width", "documents"] == 131072
    assert links["XFS stripe width", "database"] == 131072
    assert links["LV", "data/swap"] % 131072 == 0
    assert not [layer for layer, subject in links if subject == "swap"]


def test_it_is_there_and_stays(made):
    assert wrong_with(made, MIXED) == []
    assert plan_for(made, wanted=MIXED).steps == ()
    made.reboot()
    assert wrong_with(made, MIXED) == []
    assert plan_for(made, wanted=MIXED).steps == ()
    assert audit(machine_of(made)).faults == ()


def test_fstab(made):
    lines = [line.split()[1:] for line in (made.root / "etc/fstab").read_text().splitlines()]
    assert lines[1:] == [
        ["/srv/database", "xfs", "noatime,nodev,logbsize=256k,x-stackctl", "0", "0"],
        ["/srv/documents", "ext4", "relatime,x-stackctl", "0", "2"],
        ["none", "swap", "pri=5,discard,x-stackctl,x-stackctl.volume=data/swap", "0", "0"],
        ["/srv/guests", "xfs", "noatime,x-stackctl", "0", "0"],
    ]


def test_swap_that_is_off_is_found_and_put_on(made):
    made.swaps.clear()
    assert [str(finding) for finding in wrong_with(made, MIXED)] == [
        "swap data/swap: not in use, expected in use",
    ]
    assert [step.id for step in plan_for(made, wanted=MIXED).steps] == ["swapon:data/swap"]
    apply(made, wanted=MIXED)
    assert wrong_with(made, MIXED) == []


def test_a_line_of_swap_that_is_no_more_does_not_stay(made):
    """A boot would wait for it."""
    table = made.root / "etc/fstab"
    foreign = "UUID=00000000-0000-4000-8000-000000000001 none swap sw 0 0"
    (uuid,) = [volume.filesystem.uuid for volume in made.groups[0].volumes if volume.name == "swap"]
    table.write_text(table.read_text().replace(uuid, "00000000-0000-4000-8000-000000000002") + foreign + "\n")
    assert any(finding.layer == "fstab" for finding in wrong_with(made, MIXED))
    apply(made, wanted=MIXED)
    swaps = [line.split()[0] for line in table.read_text().splitlines() if " swap " in line]
    assert sorted(swaps) == ["UUID=00000000-0000-4000-8000-000000000001", f"UUID={uuid}"]


def test_other_options_in_the_site_reach_fstab(made):
    changed = layout(
        volumes={**EVERY_KIND, "guests": {"size": "rest", "mount": "/srv/guests", "options": ["noexec"]}}
    )
    assert [step.id for step in plan_for(made, wanted=changed).steps] == ["fstab:data"]
    apply(made, wanted=changed)
    assert "noatime,noexec,x-stackctl" in (made.root / "etc/fstab").read_text()
    assert plan_for(made, wanted=changed).steps == ()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("ext4", "data/database was completed once, and holds XFS; the site says ext4"),
        ("swap", "data/database was completed once, and holds XFS; the site says swap space"),
    ],
)
def test_a_volume_that_is_complete_keeps_its_file_system(made, kind, said):
    words = {"size": "50%", "filesystem": kind} | ({} if kind == "swap" else {"mount": "/srv/database"})
    changed = layout(volumes={**EVERY_KIND, "database": words})
    with pytest.raises(StackctlError) as told:
        plan_for(made, wanted=changed)
    assert said in str(told.value)


def test_stripes_that_ext4_does_not_know_are_found(made):
    (volume,) = [volume for volume in made.groups[0].volumes if volume.name == "documents"]
    volume.filesystem.unit = volume.filesystem.width = 0
    found = [str(finding) for finding in wrong_with(made, MIXED)]
    assert "file system data/documents, stripe unit: 0 B, expected 64 KiB" in found
    (fault,) = audit(machine_of(made)).faults
    assert (fault.subject, fault.in_place) == ("data/documents", True)
    assert "tune2fs -E stride=16,stripe_width=32" in fault.mend


def test_any_cut_is_followed_by_an_apply_that_finishes(tmp_path, sample):
    whole = blank_server(tmp_path / "whole")
    apply(whole, wanted=MIXED)
    cuts = [(number, moment) for number in range(len(whole.writes)) for moment in ("before", "middle", "after")]
    for number, moment in sample(cuts, 10):
        server = blank_server(tmp_path / f"{number}-{moment}")
        server.cut, server.moment = number, moment
        with pytest.raises(PowerCut):
            apply(server, wanted=MIXED)
        server.reboot()
        apply(server, wanted=MIXED)
        assert wrong_with(server, MIXED) == [], (number, moment)
        assert plan_for(server, wanted=MIXED).steps == ()


def test_a_mirror_has_no_stripes_to_tell(tmp_path):
    mirror = layout(disks={"count": 2, "size": ">= 1 GB"}, raid={"level": 1}, volumes=EVERY_KIND)
    said = commands(plan_for(blank_server(tmp_path, count=2), wanted=mirror))
    assert "mkfs.ext4 -q -F -L documents -b 4096 /dev/data/documents" in said


@pytest.mark.parametrize(
    ("kernel", "words", "said"),
    [
        ("6.1.0-1-cloud-amd64", {}, ("noatime", "x-stackctl")),
        ("3.2.0-4-amd64", {}, ("noatime", "inode64", "x-stackctl")),
        ("3.2.0-4-amd64", {"filesystem": "ext4"}, ("noatime", "x-stackctl")),
        ("6.12.3", {"options": ("strictatime", "nodev")}, ("strictatime", "nodev", "x-stackctl")),
    ],
)
def test_options(kernel, words, said):
    volume = Volume.model_validate({"size": "rest", "mount": "/srv/x", **words})
    assert options(MARKS, "x", volume, kernel) == said


@pytest.mark.parametrize(
    "words",
    [
        {"filesystem": "swap", "mount": "/srv/x"},
        {"filesystem": "xfs"},
        {"filesystem": "ext4"},
        {"filesystem": "btrfs", "mount": "/srv/x"},
        {"mount": "/srv/x", "options": ["sunit=128"]},
        {"mount": "/srv/x", "options": ["nobarrier"]},
        {"mount": "/srv/x", "options": ["noauto"]},
        {"mount": "/srv/x", "options": ["a b"]},
        {"mount": "/srv/x", "options": ["nodev,noexec"]},
        {"mount": "/srv/x", "size": "299 MiB"},
        {"mount": "/srv/x", "size": "7 MiB", "filesystem": "ext4"},
    ],
)
def test_what_a_volume_cannot_be(words):
    with pytest.raises(ValidationError):
        Volume.model_validate({"size": "rest", **words})
