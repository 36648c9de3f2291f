"""What the tools of RAID controllers say is read right. The records follow real outputs of the tools, with serials
of our own; the values expected here are worked out from what stands in them."""

import copy
import json
from pathlib import Path

import pytest

from stackctl.hardware.controllers import READERS, controllers_from_facts, values
from stackctl.hardware.controllers.model import (
    BatteryKind,
    DriveCache,
    DriveState,
    VolumeState,
    WritePolicy,
    data_disks,
)
from stackctl.node import controllers as node

HERE = Path(__file__).parent
KIB, MIB, TIB = 1 << 10, 1 << 20, 1 << 40
SECTOR = 512


def told(name):
    """A record as the node would have collected it."""
    if (file := HERE / f"{name}.json").exists():
        return json.loads(file.read_text())
    tool = name.partition("-")[0]
    document = {"command": "ctrl all show config detail", "text": (HERE / f"{name}.txt").read_text()}
    return {"tool": tool, "documents": [document]}


def read(*records):
    found, errors = controllers_from_facts({"controllers": list(records)})
    assert errors == ()
    return found


def one(name):
    (controller,) = read(told(name))
    return controller


class TestRaid10OfFour:
    """The reference server's: two mirrors, strip 64 KiB, written back behind a battery."""

    def test_the_controller(self):
        found = one("raid10-of-4")
        assert (found.name, found.model, found.serial) == ("c0", "LSI MegaRAID SAS 9260-8i", "SV24700101")
        assert (found.firmware, found.driver) == ("2.130.403-4660", "megaraid_sas 07.719.03.00-rc1")
        assert (found.tool, found.state) == ("storcli", "Optimal")

    def test_the_battery(self):
        battery = one("raid10-of-4").battery
        assert (battery.kind, battery.model, battery.healthy) == (BatteryKind.BATTERY, "iBBU", True)
        assert battery.words == "Optimal"

    def test_the_virtual_disk(self):
        (disk,) = one("raid10-of-4").virtual_disks
        assert (disk.id, disk.name, disk.level, disk.span_depth) == ("0", "data", "RAID10", 2)
        assert disk.drives == ("252:0", "252:1", "252:2", "252:3")
        assert disk.size == 3904897024 * SECTOR
        assert (disk.write_policy, disk.wanted_policy) == (WritePolicy.BACK, WritePolicy.BACK)
        assert (disk.read_ahead, disk.io_policy, disk.drive_cache) == (True, "direct", DriveCache.DEFAULT)
        assert (disk.state, disk.words) == (VolumeState.OPTIMAL, "Optl")
        assert (disk.device, disk.naa) == ("sda", "600605b00d1e2f302d8a41c80f3b5a77")

    def test_the_stripe_is_two_strips_of_64_kib(self):
        striping = one("raid10-of-4").virtual_disks[0].striping
        assert (striping.unit, striping.data_disks, striping.width) == (64 * KIB, 2, 128 * KIB)
        assert (striping.copies, striping.parity) == (2, 0)

    def test_a_drive(self):
        drive = one("raid10-of-4").drive("252:2")
        assert (drive.state, drive.model, drive.serial) == (DriveState.ONLINE, "ST31000524NS", "9WK0A1B2")
        assert drive.size == 0x74600000 * SECTOR
        assert (drive.logical_sector, drive.physical_sector) == (512, 512)
        assert (drive.medium, drive.interface, drive.wwn) == ("HDD", "SATA", "5000c500a1b2c320")
        assert (drive.media_errors, drive.other_errors, drive.predictive_failures) == (0, 0, 0)
        assert (drive.smart_alert, drive.temperature, drive.write_cache) == (False, 31, False)


class TestRaid6OfTwelve:
    def test_ten_strips_hold_data(self):
        striping = one("raid6-of-12").virtual_disks[0].striping
        assert (striping.unit, striping.data_disks, striping.width) == (128 * KIB, 10, 1280 * KIB)
        assert (striping.copies, striping.parity) == (1, 2)

    def test_its_policies(self):
        (disk,) = one("raid6-of-12").virtual_disks
        assert (disk.read_ahead, disk.write_policy, disk.drive_cache) == (False, WritePolicy.BACK, DriveCache.ON)

    def test_the_drive_that_is_about_to_fail(self):
        drive = one("raid6-of-12").drive("8:7")
        assert (drive.media_errors, drive.predictive_failures, drive.smart_alert) == (12, 1, True)
        assert (drive.temperature, drive.physical_sector, drive.write_cache) == (41, 4096, True)
        assert one("raid6-of-12").drive("8:2").other_errors == 3


class TestRaid50OfTwentyFour:
    """Three spans of eight drives; one drive has failed, a spare is rebuilt."""

    def test_each_span_gives_a_drive_to_parity(self):
        (disk,) = one("raid50-of-24").virtual_disks
        assert (disk.id, disk.level, disk.span_depth, len(disk.drives)) == ("2", "RAID50", 3, 24)
        assert disk.striping.data_disks == 21
        assert disk.striping.width == 5376 * KIB
        assert disk.striping.parity == 1

    def test_it_is_degraded(self):
        found = one("raid50-of-24")
        assert found.state == "Needs Attention"
        assert found.virtual_disks[0].state is VolumeState.DEGRADED
        states = {drive.slot: drive.state for drive in found.drives}
        assert len(states) == 26
        assert states["12:13"] is DriveState.REBUILDING
        assert states["12:24"] is DriveState.FAILED
        assert states["12:25"] is DriveState.SPARE
        assert (found.drive("12:24").media_errors, found.drive("12:24").other_errors) == (214, 57)


class TestSingleDrivesAndJbod:
    def test_a_raid0_of_one_drive_is_a_virtual_disk(self):
        found = one("raid0-and-jbod")
        assert [(disk.id, disk.level, disk.striping.width) for disk in found.virtual_disks] == [
            ("0", "RAID0", 256 * KIB),
            ("1", "RAID0", 256 * KIB),
        ]
        assert {disk.write_policy for disk in found.virtual_disks} == {WritePolicy.THROUGH}

    def test_jbod_drives_are_passed_through(self):
        found = one("raid0-and-jbod")
        assert [(drive.slot, drive.state, drive.medium) for drive in found.drives] == [
            ("252:0", DriveState.ONLINE, "SSD"),
            ("252:1", DriveState.ONLINE, "SSD"),
            ("252:2", DriveState.PASSED, "HDD"),
            ("252:3", DriveState.PASSED, "HDD"),
        ]

    def test_what_is_not_available_is_none(self):
        found = one("raid0-and-jbod")
        assert found.battery is None
        assert found.drive("252:0").write_cache is None


class TestAPercWhoseBatteryHasFailed:
    def test_it_writes_through_although_it_is_set_to_write_back(self):
        (disk,) = one("perc-failed-battery").virtual_disks
        assert (disk.write_policy, disk.wanted_policy) == (WritePolicy.THROUGH, WritePolicy.BACK)
        assert (disk.level, disk.striping.data_disks, disk.striping.width) == ("RAID10", 4, 256 * KIB)

    def test_the_battery_tells_what_is_wrong(self):
        found = one("perc-failed-battery")
        assert (found.tool, found.model) == ("perccli", "PERC H730P Mini")
        assert not found.battery.healthy
        assert found.battery.words == (
            "Failed, Battery Replacement required, Pack is about to fail & should be replaced"
        )

    def test_a_battery_that_is_to_be_replaced_is_not_healthy_although_it_works(self):
        record = told("perc-failed-battery")
        text = json.dumps(record).replace('"Failed"', '"Optimal"')
        battery = read(json.loads(text))[0].battery
        assert (battery.healthy, battery.words.partition(",")[0]) == (False, "Optimal")


class TestACacheVaultThatAlwaysWritesBack:
    def test_the_capacitor(self):
        battery = one("cachevault-always").battery
        assert (battery.kind, battery.model, battery.healthy) == (BatteryKind.SUPERCAPACITOR, "CVPM05", True)

    def test_the_policies(self):
        (disk,) = one("cachevault-always").virtual_disks
        assert (disk.write_policy, disk.wanted_policy) == (WritePolicy.ALWAYS, WritePolicy.ALWAYS)
        assert (disk.read_ahead, disk.io_policy) == (True, "cached")

    def test_blocks_of_4_kib_are_counted_as_such(self):
        found = one("cachevault-always")
        assert found.virtual_disks[0].size == 0x57544000 * 4096
        assert found.drives[0].size == 0x57544000 * 4096
        assert found.drives[0].logical_sector == 4096


class TestStorcli2:
    def test_the_controller(self):
        found = one("storcli2")
        assert (found.model, found.serial) == ("MegaRAID 9660-16i Tri-Mode Storage Adapter", "SPE4900808")
        assert (found.driver, found.tool, found.state) == ("mpi3mr 8.5.0.0.50", "storcli2", "Optimal")
        assert (found.battery.kind, found.battery.model) == (BatteryKind.SUPERCAPACITOR, "FBU345")
        assert found.battery.healthy

    def test_a_raid10_of_eight(self):
        disk = one("storcli2").virtual_disks[0]
        assert (disk.id, disk.name, disk.level, disk.span_depth) == ("1", "database", "RAID10", 4)
        assert (disk.striping.unit, disk.striping.data_disks, disk.striping.width) == (64 * KIB, 4, 256 * KIB)
        assert disk.size == 4 * 0x48C300000 * SECTOR
        assert (disk.write_policy, disk.read_ahead, disk.drive_cache) == (WritePolicy.BACK, True, DriveCache.DEFAULT)
        assert disk.naa == "600062b22066d540679aa6b751349581"

    def test_drives_may_be_counted_in_all_too(self):
        record = told("storcli2")
        disk = record["documents"][1]["json"]["Controllers"][0]["Response Data"]["Virtual Drives"][0]
        disk["VD Properties"]["Number of Drives"] = 8
        assert read(record)[0].virtual_disks[0].striping.data_disks == 4

    def test_now_and_as_it_was_set(self):
        disk = one("storcli2").virtual_disks[1]
        assert (disk.write_policy, disk.wanted_policy) == (WritePolicy.THROUGH, WritePolicy.BACK)

    def test_a_drive_is_what_its_state_and_its_status_say(self):
        found = one("storcli2")
        assert [found.drive(f"306:{slot}").state for slot in (0, 9, 10, 11)] == [
            DriveState.ONLINE,
            DriveState.FREE,
            DriveState.SPARE,
            DriveState.FAILED,
        ]
        drive = found.drive("306:5")
        assert (drive.serial, drive.wwn, drive.write_cache) == ("WP00ML050000E2426", "5000c500ef7d05d4", True)
        assert (drive.logical_sector, drive.physical_sector, drive.temperature) == (512, 4096, 40)
        assert found.drive("306:11").media_errors == 4

    def test_a_drive_that_the_firmware_wants_replaced_foresees_its_failure(self):
        text = json.dumps(told("storcli2")).replace('"Status": "Bad"', '"Status": "Replace"')
        drive = read(json.loads(text))[0].drive("306:11")
        assert (drive.state, drive.predictive_failures) == (DriveState.FREE, 1)


class TestSmartArray:
    def test_the_controller(self):
        found = one("ssacli-raid6")
        assert (found.name, found.model) == ("slot 0", "HPE Smart Array P408i-a SR Gen10")
        assert (found.serial, found.firmware) == ("PEYHC0DRHC1010", "6.52")
        assert (found.driver, found.state) == ("smartpqi Linux 2.1.18-045", "OK")
        assert (found.battery.kind, found.battery.healthy) == (BatteryKind.BATTERY, True)

    def test_the_full_stripe_tells_the_disks_of_data(self):
        (disk,) = one("ssacli-raid6").virtual_disks
        assert (disk.id, disk.level, disk.span_depth, len(disk.drives)) == ("1", "RAID6", 1, 6)
        assert (disk.striping.unit, disk.striping.data_disks, disk.striping.width) == (256 * KIB, 4, MIB)
        assert abs(disk.size - 14.55 * TIB) < MIB
        assert (disk.write_policy, disk.wanted_policy) == (WritePolicy.BACK, WritePolicy.BACK)
        assert (disk.device, disk.naa) == ("sda", "600508b1001c8cc3c673a109dd661010")
        assert disk.drive_cache is DriveCache.OFF

    def test_the_full_stripe_of_a_raid50_is_that_of_one_parity_group(self):
        (disk,) = one("ssacli-raid50").virtual_disks
        assert (disk.level, disk.span_depth, len(disk.drives)) == ("RAID50", 2, 6)
        assert (disk.striping.data_disks, disk.striping.width, disk.striping.parity) == (4, MIB, 1)

    def test_the_drives(self):
        found = one("ssacli-raid6")
        assert [drive.state for drive in found.drives] == [
            *[DriveState.ONLINE] * 6,
            DriveState.SPARE,
            DriveState.PASSED,
        ]
        drive = found.drive("1I:1:3")
        assert (drive.model, drive.serial, drive.size) == ("HP MB4000GVYZK", "ZC1AB03Q", 4 * 10**12)
        assert (drive.logical_sector, drive.physical_sector, drive.temperature) == (512, 4096, 33)
        assert (drive.medium, drive.interface) == ("HDD", "SATA")
        assert (found.drive("2I:1:1").medium, found.drive("2I:1:1").smart_alert) == ("SSD", False)

    def test_a_failed_capacitor_stops_writing_back(self):
        found = one("hpssacli-failed-capacitor")
        assert (found.battery.kind, found.battery.healthy) == (BatteryKind.SUPERCAPACITOR, False)
        assert found.battery.words == "Failed (Replace Batteries)"
        (disk,) = found.virtual_disks
        assert (disk.write_policy, disk.wanted_policy) == (WritePolicy.THROUGH, WritePolicy.BACK)

    def test_a_mirror_that_has_lost_a_drive(self):
        found = one("hpssacli-failed-capacitor")
        (disk,) = found.virtual_disks
        assert (disk.level, disk.span_depth, disk.striping.width) == ("RAID10", 2, 128 * KIB)
        assert (disk.state, disk.words) == (VolumeState.DEGRADED, "Interim Recovery Mode")
        assert disk.drives == ("1I:1:1", "1I:1:2", "1I:1:3", "1I:1:4")
        assert found.drive("1I:1:2").state is DriveState.FAILED
        assert found.drive("1I:1:3").predictive_failures == 1
        assert found.drive("2I:1:5").state is DriveState.FREE

    def test_a_mount_point_on_the_line_of_the_disk_s_name_does_no_harm(self):
        assert one("hpssacli-failed-capacitor").virtual_disks[0].device == "sda"

    def test_the_cache_may_do_without_a_battery(self):
        record = told("ssacli-raid6")
        text = record["documents"][0]["text"].replace(
            "No-Battery Write Cache: Disabled", "No-Battery Write Cache: Enabled"
        )
        record["documents"][0]["text"] = text
        assert read(record)[0].virtual_disks[0].write_policy is WritePolicy.ALWAYS


def test_an_empty_controller_has_a_drive_and_no_disk():
    found = one("empty")
    assert found.virtual_disks == ()
    assert [(drive.slot, drive.state) for drive in found.drives] == [("252:4", DriveState.FREE)]
    assert found.battery.healthy


@pytest.mark.parametrize("name", ["no-controller", "no-controller-storcli2", "ssacli-no-controller"])
def test_a_tool_that_finds_no_controller_tells_of_none(name):
    assert read(told(name)) == ()


def test_every_tool_that_the_node_asks_has_a_reader():
    assert {tool.name for tool in node.TOOLS} == READERS.keys()


class TestWhatIsMissing:
    def test_facts_of_before_have_no_controllers(self):
        assert controllers_from_facts({}) == ((), ())

    def test_the_lists_of_the_controller_stand_in_for_answers_that_did_not_come(self):
        record = told("raid50-of-24")
        record["documents"] = record["documents"][:1]
        (found,) = read(record)
        (disk,) = found.virtual_disks
        assert (disk.level, disk.state, disk.write_policy) == ("RAID50", VolumeState.DEGRADED, WritePolicy.BACK)
        assert (disk.striping, disk.naa, disk.device) == (None, "", "")
        assert disk.size == round(22.920 * TIB)
        assert len(found.drives) == 26
        assert found.drive("12:24").media_errors is None

    def test_disks_are_told_of_without_the_controller_s_own_answer(self):
        record = told("raid6-of-12")
        record["documents"] = record["documents"][1:]
        (found,) = read(record)
        assert (found.title, found.virtual_disks[0].striping.width) == ("c0", 1280 * KIB)

    def test_the_controller_s_number_for_its_battery_stands_in_for_its_answer(self):
        record = told("raid10-of-4")
        record["documents"] = record["documents"][:1]
        data = record["documents"][0]["json"]["Controllers"][0]["Response Data"]
        del data["BBU_Info"]
        assert read(record)[0].battery.healthy
        data["Status"]["BBU Status"] = 4
        assert not read(record)[0].battery.healthy

    @pytest.mark.parametrize(
        "documents", [[{"json": []}], [{"json": {"Controllers": [7]}}], [{"json": {"Controllers": {}}}], [{}]]
    )
    def test_json_of_another_shape_tells_of_nothing(self, documents):
        assert read({"tool": "storcli", "documents": documents}) == ()

    def test_a_record_that_cannot_be_read_is_an_error_and_the_others_are_read(self):
        found, errors = controllers_from_facts(
            {"controllers": [{"tool": "storcli", "documents": [7]}, told("ssacli-raid6")]}
        )
        assert [controller.tool for controller in found] == ["ssacli"]
        assert len(errors) == 1
        assert errors[0].startswith("controllers: what storcli says does not read")

    def test_a_tool_unknown_here_is_told(self):
        assert controllers_from_facts({"controllers": [{"tool": "arcconf", "documents": []}]}) == (
            (),
            ("controllers: no reader for what arcconf says",),
        )


def test_a_controller_that_two_tools_tell_of_is_one():
    twice = copy.deepcopy(told("perc-failed-battery")) | {"tool": "storcli"}
    (found,) = read(twice, told("perc-failed-battery"))
    assert found.tool == "storcli"


@pytest.mark.parametrize(
    ("level", "spans", "drives", "data"),
    [
        ("RAID0", 1, 5, 5),
        ("RAID1", 1, 2, 1),
        ("RAID1", 1, 4, 2),
        ("RAID10", 2, 4, 2),
        ("RAID10", 1, 4, 2),  # PERC shows one span of pairs
        ("RAID5", 1, 5, 4),
        ("RAID6", 1, 12, 10),
        ("RAID50", 3, 24, 21),
        ("RAID60", 2, 12, 8),
        ("RAID1E", 1, 3, 0),
        ("RAID5", 0, 0, 0),
        ("RAID50", 3, 25, 0),
    ],
)
def test_the_disks_that_hold_data(level, spans, drives, data):
    assert data_disks(level, spans, drives) == data


@pytest.mark.parametrize(
    ("cache", "policies"),
    [
        ("RWBD", (True, WritePolicy.BACK, "direct")),
        ("NRWTD", (False, WritePolicy.THROUGH, "direct")),
        ("RAWBD", (True, WritePolicy.ALWAYS, "direct")),
        ("RaWBC", (True, WritePolicy.BACK, "cached")),
        ("NRFWBD", (False, WritePolicy.ALWAYS, "direct")),
        ("?", (None, WritePolicy.UNKNOWN, "")),
    ],
)
def test_the_letters_of_the_cache(cache, policies):
    text = json.dumps(told("raid10-of-4")).replace('"RWBD"', f'"{cache}"')
    disk = read(json.loads(text))[0].virtual_disks[0]
    assert (disk.read_ahead, disk.write_policy, disk.io_policy) == policies


@pytest.mark.parametrize(
    ("words", "size"),
    [("64 KB", 65536), ("64 KiB", 65536), ("1.000 MB", MIB), ("512B", 512), ("4 KB", 4096), ("-", 0), ("", 0)],
)
def test_sizes(words, size):
    assert values.size(words) == size


def test_decimal_sizes():
    assert values.size("960 GB", decimal=True) == 960 * 10**9
    assert values.size("893.137 GiB", decimal=True) == round(893.137 * (1 << 30))
