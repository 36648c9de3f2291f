"""The grammar of hints, and the answer for every disk that is not taken."""

import pytest
from layouts import HOST

from stackctl.errors import InputError
from stackctl.hardware.disk import Disk, Limits, natural
from stackctl.site.models import DiskSelector
from stackctl.storage.marks import Marks
from stackctl.storage.select import select

GB = 1000**3
MARKS = Marks(HOST, "data")


class Machine:
    """As much of a Machine as choosing looks at."""

    arrays = ()

    def __init__(self, *disks):
        self.disks = disks

    def named(self, name):
        return tuple(disk for disk in self.disks if name and name in (disk.serial, disk.wwn))

    def above(self, name):
        return ()

    def mounts_on(self, name):
        return ()


def disk(serial, size=500 * GB, **words):
    rotational = words.pop("rotational", True)
    known = {
        "name": serial.lower() or "sdx",
        "serial": serial,
        "wwn": "",
        "model": "ACME 500",
        "vendor": "",
        "transport": "sata",
        "size": size,
        "read_only": False,
        "removable": False,
        "alignment_offset": 0,
        "limits": Limits(512, 4096, 4096, 0, rotational),
        "table": "",
        "signatures": (),
        "lost": (),
        "partitions": (),
        "holders": (),
        "claim": None,
        "links": (),
        "fingerprint": "",
    }
    return Disk(**known | words)


def chosen(selector, *disks):
    return [found.serial for found in select(DiskSelector.model_validate(selector), Machine(*disks), MARKS)]


def test_without_a_hint_every_disk_matches():
    assert chosen({"count": 2}, disk("B"), disk("A")) == ["A", "B"]


@pytest.mark.parametrize(
    ("hint", "taken"),
    [
        ({"serial": ["B"]}, "B"),
        ({"model": "fast"}, "F"),
        ({"transport": "NVMe"}, "F"),
        ({"rotational": False}, "F"),
        ({"size": ">= 1 TB"}, "L"),
        ({"size": "< 480 GB"}, "S"),
        ({"size": "500 GB", "rotational": True}, "B"),
        ({"exclude": {"size": "< 1 TB"}}, "L"),
        ({"serial": ["wwn-of-S"]}, "S"),
        ({"size": "> 480 GB, < 1 TB", "rotational": True}, "B"),
        ({"path": "pci-0000:3b:00.0-*"}, "B"),
        ({"exclude": {"path": "pci-*"}, "size": "< 500 GB"}, "S"),
    ],
)
def test_every_word_that_is_given_must_hold(hint, taken):
    disks = [
        disk("B", links=("/dev/disk/by-id/ata-B", "/dev/disk/by-path/pci-0000:3b:00.0-ata-1")),
        disk("F", model="Acme FAST 9", transport="nvme", rotational=False),
        disk("L", 1000 * GB),
        disk("S", 400 * GB, wwn="wwn-of-S"),
    ]
    assert chosen({"count": 1, **hint}, *disks) == [taken]


def test_an_exclusion_beats_a_selection():
    with pytest.raises(InputError) as told:
        chosen({"count": 1, "serial": ["A"], "exclude": {"transport": "sata"}}, disk("A"))
    assert "excluded by transport sata" in str(told.value)


def test_an_exclusion_of_several_words_needs_them_all():
    hint = {"count": 1, "exclude": {"transport": "sata", "rotational": False}}
    assert chosen(hint, disk("A")) == ["A"]


def test_too_few_lists_every_disk_with_all_its_reasons():
    with pytest.raises(InputError) as told:
        chosen({"count": 2, "size": ">= 1 TB", "transport": "sas"}, disk("A"), disk("B", 2000 * GB, transport="sas"))
    assert str(told.value) == (
        "the layout takes 2 disks, but 1 disk matches:\n"
        "  A (465.7 GiB ACME 500, now a): its transport is sata, not sas; "
        "its size 465.7 GiB (500000000000 bytes) is not >= 1 TB\n"
        "  B (1.8 TiB ACME 500, now b): matches\n"
        "  hint: narrow or widen the layout's `disks` (serial, model, transport, rotational, size, path, exclude)"
    )


def test_too_many_is_an_error_as_well():
    with pytest.raises(InputError, match="takes 1 disk, but 2 disks match"):
        chosen({"count": 1}, disk("A"), disk("B"))


def test_none_at_all_is_said():
    with pytest.raises(InputError, match="but no disk matches:\n  the server has no disks"):
        chosen({"count": 1})


@pytest.mark.parametrize(
    ("words", "reason"),
    [({"read_only": True}, "it is read-only"), ({"serial": ""}, "neither a serial number nor a WWN")],
)
def test_a_disk_that_cannot_be_used_is_no_candidate(words, reason):
    serial = words.get("serial", "A")
    with pytest.raises(InputError, match=reason):
        chosen({"count": 1}, disk(serial, **{key: value for key, value in words.items() if key != "serial"}))


def test_numbers_in_serials_are_ordered_as_numbers():
    assert sorted(["LAB-10", "LAB-9", "LAB-1"], key=natural) == ["LAB-1", "LAB-9", "LAB-10"]
