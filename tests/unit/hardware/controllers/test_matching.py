"""Which virtual disk is behind a disk of the kernel: never a wrong one."""

import json

import pytest
from controlled import facts_with, machine_with, record

from stackctl.hardware.machine import Machine

KIB = 1 << 10
NAA = "600605b00d1e2f302d8a41c80f3b5a77"
"""Of the virtual disk in raid10-of-4, which storcli calls /dev/sda."""


def behind(name, *records, **disks):
    machine = machine_with(*records, disks=disks)
    return machine.virtual_disk(next(disk for disk in machine.disks if disk.name == name))


@pytest.fixture
def raid10():
    return record("raid10-of-4")


def test_by_the_scsi_name_whatever_the_kernel_calls_it_today(raid10):
    assert behind("sdc", raid10, sdc={"wwn": f"0x{NAA.upper()}"}).naa == NAA


def test_the_kernel_s_name_does_not_count_where_the_scsi_names_say_another_disk(raid10):
    assert behind("sda", raid10, sda={"wwn": "0x600605b00d1e2f302d8a41c80f3b5a78"}) is None
    assert behind("sda", raid10, sda={"wwn": "0x5000c500a1b2c3d4"}) is None


def test_by_a_link_where_lsblk_gives_the_wwn_cut_short(raid10):
    links = ["/dev/disk/by-id/wwn-0x" + NAA]
    assert behind("sdb", raid10, sdb={"wwn": "0x600605b00d1e2f30", "links": links}).naa == NAA


def test_the_controller_s_part_of_the_name_alone_names_no_disk(raid10):
    assert behind("sdb", raid10, sdb={"wwn": "0x600605b00d1e2f30", "links": []}) is None


def test_by_the_kernel_s_name_where_the_disk_tells_no_whole_scsi_name(raid10):
    assert behind("sda", raid10, sda={"wwn": "0x600605b00d1e2f30", "links": []}).naa == NAA
    assert behind("sda", raid10, sda={"wwn": None, "links": []}).naa == NAA


def test_by_the_kernel_s_name_where_the_tool_tells_no_scsi_name(raid10):
    old = json.loads(json.dumps(raid10).replace(f'"SCSI NAA Id": "{NAA}", ', ""))
    assert behind("sda", old).device == "sda"
    assert behind("sdb", old) is None


def test_hpe_s_unique_identifier_is_a_scsi_name():
    disk = behind("sdd", record("ssacli-raid6"), sdd={"wwn": "0x600508b1001c8cc3c673a109dd661010"})
    assert (disk.level, disk.striping.width) == ("RAID6", 1024 * KIB)


def test_no_controller_no_virtual_disk():
    assert behind("sda") is None


def test_the_disk_has_the_stripes_of_its_virtual_disk(raid10):
    machine = machine_with(raid10, disks={"sdb": {"wwn": f"0x{NAA}"}})
    found = {disk.name: disk.striping for disk in machine.disks}
    assert (found["sdb"].unit, found["sdb"].width) == (64 * KIB, 128 * KIB)
    assert found["sdc"] is None


def test_a_machine_with_controllers_goes_into_json():
    plain = json.loads(json.dumps(machine_with(record("perc-failed-battery")).to_json()))
    (controller,) = plain["controllers"]
    assert (controller["battery"]["healthy"], controller["virtual_disks"][0]["write_policy"]) == (False, "WT")


def test_facts_of_before_read_and_what_does_not_read_is_an_error_of_the_machine():
    facts = facts_with()
    del facts["controllers"]
    assert Machine.from_facts(facts).controllers == ()
    machine = machine_with({"tool": "storcli", "documents": [7]})
    assert machine.controllers == ()
    assert machine.errors[0].startswith("controllers: what storcli says does not read")
