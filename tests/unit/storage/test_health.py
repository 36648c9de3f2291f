"""Health: what is warned of, and that what is right is not."""

import json

import pytest
from controlled import machine_with, record

from stackctl.storage.health import check
from stackctl.storage.readback import faults

MACHINE = {"sda": {"wwn": "0x600605b00d1e2f302d8a41c80f3b5a77", "vendor": "LSI"}}


def told(*records, **disks):
    """The findings that are not well, by subject."""
    return {finding.subject: finding for finding in faults(check(machine_with(*records, disks=disks)))}


def changed(name, **words):
    text = json.dumps(record(name))
    for old, new in words.values():
        assert old in text
        text = text.replace(old, new)
    return json.loads(text)


class TestControllers:
    def test_the_reference_server_s_is_well(self):
        assert told(record("raid10-of-4")) == {}

    def test_what_is_well_is_told_as_looked_at(self):
        findings = check(machine_with(record("raid10-of-4")))
        assert all(finding.ok for finding in findings)
        assert [str(finding) for finding in findings[:5]] == [
            "controller LSI MegaRAID SAS 9260-8i (c0): Optimal",
            "controller LSI MegaRAID SAS 9260-8i (c0), battery: battery iBBU: Optimal",
            "virtual disk LSI MegaRAID SAS 9260-8i (c0), 0 data, state: optimal (Optl)",
            "virtual disk LSI MegaRAID SAS 9260-8i (c0), 0 data, writes: write-back, battery healthy",
            "virtual disk LSI MegaRAID SAS 9260-8i (c0), 0 data, write caches of its drives: as each drive has it",
        ]

    def test_a_failed_battery_and_what_it_costs(self):
        found = told(record("perc-failed-battery"))
        perc = "PERC H730P Mini (c0)"
        assert found[perc].found == "Needs Attention"
        assert found[f"{perc}, battery"].found.startswith("battery BBU: Failed, Battery Replacement required")
        assert found[f"{perc}, 0 database, writes"].found == ("write-through, set to write-back, battery not healthy")
        assert found[f"{perc}, 0 database, write caches of its drives"].found == (
            "as each drive has it: on in 32:3, 32:6"
        )
        assert len(found) == 4

    def test_write_back_without_a_healthy_battery(self):
        found = told(changed("perc-failed-battery", cache=('"RWTD"', '"RWBD"')))
        finding = found["PERC H730P Mini (c0), 0 database, writes"]
        assert (finding.found, finding.expected) == (
            "write-back, battery not healthy",
            "write-through without a healthy battery",
        )

    def test_write_back_without_any_battery(self):
        found = told(changed("raid0-and-jbod", cache=('"NRWTD"', '"NRWBD"')))
        assert found["AVAGO MegaRAID SAS 9341-8i (c0), 0, writes"].found == (
            "write-back, set to write-through, no battery"
        )

    def test_always_write_back_is_told_even_with_a_healthy_battery(self):
        found = told(record("cachevault-always"))
        assert {subject: finding.found for subject, finding in found.items()} == {
            "MegaRAID 9560-8i 4GB (c0), 239 wal, writes": "always write-back, battery healthy"
        }

    def test_drive_caches_that_are_on_and_a_drive_that_is_about_to_fail(self):
        found = told(record("raid6-of-12"))
        lsi = "AVAGO MegaRAID SAS 9361-16i (c0)"
        assert {subject: finding.found for subject, finding in found.items()} == {
            f"{lsi}, 0 archive, write caches of its drives": "on",
            f"{lsi}, 8:2 7SGK1C02, errors": "3 other errors",
            f"{lsi}, 8:7 7SGK1C07, errors": "12 media errors, 1 predicted failures, SMART alert",
        }

    def test_a_degraded_disk_its_failed_drive_and_the_one_that_is_rebuilt(self):
        found = told(record("raid50-of-24"))
        lsi = "AVAGO MegaRAID SAS 9380-8e (c0)"
        assert {subject: finding.found for subject, finding in found.items()} == {
            lsi: "Needs Attention",
            f"{lsi}, 2 guests, state": "degraded (Dgrd)",
            f"{lsi}, 12:13 WBM0Q013, state": "rebuilding (Rbld)",
            f"{lsi}, 12:24 WBM0Q024, state": "failed (Failed)",
            f"{lsi}, 12:24 WBM0Q024, errors": "214 media errors, 57 other errors",
        }

    def test_an_offline_disk(self):
        found = told(changed("raid10-of-4", state=('"State": "Optl"', '"State": "OfLn"')))
        assert found["LSI MegaRAID SAS 9260-8i (c0), 0 data, state"].found == "offline (OfLn)"

    def test_smart_array(self):
        assert told(record("ssacli-raid6")) == {}
        hp = "Smart Array P420i (slot 0)"
        assert {subject: finding.found for subject, finding in told(record("hpssacli-failed-capacitor")).items()} == {
            f"{hp}, battery": "supercapacitor: Failed (Replace Batteries)",
            f"{hp}, 1 01F422270110, state": "degraded (Interim Recovery Mode)",
            f"{hp}, 1 01F422270110, writes": "write-through, set to write-back, battery not healthy",
            f"{hp}, 1 01F422270110, write caches of its drives": "on",
            f"{hp}, 1I:1:2 6SL7H2B20000B418, state": "failed (Data Drive, Failed)",
            f"{hp}, 1I:1:3 6SL7H2B30000B418, errors": "1 predicted failures",
        }

    def test_storcli2(self):
        lsi = "MegaRAID 9660-16i Tri-Mode Storage Adapter (c0)"
        assert {subject: finding.found for subject, finding in told(record("storcli2")).items()} == {
            f"{lsi}, 1 database, write caches of its drives": "as each drive has it: on in 306:5",
            f"{lsi}, 2, writes": "write-through, set to write-back, battery healthy",
            f"{lsi}, 306:11 WP00ML110000E2426, state": "failed (UConf, Bad)",
            f"{lsi}, 306:11 WP00ML110000E2426, errors": "4 media errors",
        }


class TestQueues:
    def test_a_guest_s_disks_are_the_host_s_business(self):
        assert check(machine_with()) == []

    @pytest.mark.parametrize(
        ("words", "scheduler", "well"),
        [
            ({}, "[none] mq-deadline", False),
            ({}, "none [mq-deadline]", True),
            ({}, "noop deadline [cfq]", True),
            ({"rotational": 0}, "[none] mq-deadline", True),
            ({"rotational": 0}, "none mq-deadline [bfq]", False),
            ({"rotational": 0, "tran": "nvme"}, "[none] mq-deadline", True),
            ({"rotational": 0, "tran": "nvme"}, "none [mq-deadline]", False),
            ({"tran": "usb"}, "[none] mq-deadline", True),
        ],
    )
    def test_the_scheduler_suits_the_medium(self, words, scheduler, well):
        found = told(sdb={"vendor": "ATA", "scheduler": scheduler, **words})
        assert list(found) == ([] if well else ["LAB-DISKS-1-2, scheduler"])

    @pytest.mark.parametrize(
        ("scheduler", "well"), [("[none] mq-deadline", True), ("none [mq-deadline]", True), ("[bfq] none", False)]
    )
    def test_a_controller_sorts_by_itself(self, scheduler, well):
        found = told(record("raid10-of-4"), sda={**MACHINE["sda"], "scheduler": scheduler})
        assert list(found) == ([] if well else ["LAB-DISKS-1-1, scheduler"])

    @pytest.mark.parametrize(
        ("words", "read_ahead", "well"),
        [
            ({}, 128, True),
            ({}, 16, False),
            ({}, 4096, True),
            ({}, 65532, False),  # what an optimal request size of 33553920 makes of it
            ({"rotational": 0}, 0, True),
            ({"rotational": 0}, 65532, False),
        ],
    )
    def test_read_ahead(self, words, read_ahead, well):
        found = told(sdb={"vendor": "ATA", "scheduler": "[mq-deadline] none", "read_ahead_kb": read_ahead, **words})
        assert list(found) == ([] if well else ["LAB-DISKS-1-2, read-ahead"])

    @pytest.mark.parametrize(("read_ahead", "well"), [(128, False), (1280, True), (2560, True), (8192, False)])
    def test_a_stripe_of_a_controller_that_does_not_read_ahead_wants_to_be_read_whole(self, read_ahead, well):
        """RAID6 of twelve with strips of 128 KiB: 1280 KiB of data in a stripe."""
        words = {"wwn": "0x600605b00e3a4b502d8a41c81a2b3c4d", "vendor": "AVAGO", "read_ahead_kb": read_ahead}
        found = told(record("raid6-of-12"), sdb=words)
        assert ("LAB-DISKS-1-2, read-ahead" in found) is not well

    def test_one_that_reads_ahead_itself_is_content_with_the_kernel_s_own(self):
        """RAID50 of 24: a stripe of 5376 KiB, and up to twice that is no fault either."""
        for read_ahead, well in ((128, True), (10752, True), (65532, False)):
            words = {"wwn": "0x600605b00f5c6d702d8a41c82b3c4d5e", "vendor": "AVAGO", "read_ahead_kb": read_ahead}
            assert ("LAB-DISKS-1-3, read-ahead" in told(record("raid50-of-24"), sdc=words)) is not well
