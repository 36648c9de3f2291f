"""The report: exit codes, silence, the table, JUnit."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stackctl.errors import ExitCode, FaultError, InputError, StackctlError
from stackctl.validation import junit, report, results
from stackctl.validation.results import Check, Outcome, Report

PASSED = Check("metal-1", "cache", "runs", "memcached runs", Outcome.PASSED, 0.25)
FAILED = Check(
    "metal-1", "queue", "job", "A job comes back", Outcome.FAILED, 1.5, "no connection\nto <gearmand> \x07"
)
SKIPPED = Check("metal-2", "search", "page", "A page is found", Outcome.NOT_SHOWN, 0.0, "the index is empty")


def of(*checks: Check, **unreachable: str) -> Report:
    return Report("lab", checks, unreachable, 2.0)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (of(PASSED), ExitCode.DONE),
        (of(PASSED, SKIPPED), ExitCode.DONE),
        (of(PASSED, FAILED), ExitCode.FAULT),
        (of(PASSED, metal3="gone"), ExitCode.FAILED),
        (of(FAILED, metal3="gone"), ExitCode.FAILED),
    ],
)
def test_exit_codes(found: Report, code: ExitCode) -> None:
    assert found.exit_code is code
    if code is ExitCode.DONE:
        report.conclude(found)
    else:
        with pytest.raises(StackctlError) as caught:
            report.conclude(found)
        assert caught.value.code is code


def test_a_fault_is_counted_in_the_last_word() -> None:
    with pytest.raises(FaultError, match="1 of 3 checks found a fault"):
        report.conclude(of(PASSED, FAILED, SKIPPED))


def test_a_suite_without_a_single_check_made_is_a_fault() -> None:
    silent = results.empty_suites("metal-2", ["cache", "search", "listeners"], [PASSED, SKIPPED])
    assert [(check.role, check.outcome, check.detail) for check in silent] == [
        ("search", Outcome.FAILED, "no check of this suite was made"),
        ("listeners", Outcome.FAILED, "no check of this suite was made"),
    ]


def test_json_tells_everything_and_reads_back() -> None:
    told = json.loads(json.dumps(of(PASSED, FAILED, SKIPPED, metal3="gone").to_json()))
    assert told["counts"] == {"passed": 1, "failed": 1, "not shown": 1}
    assert (told["exit_code"], told["unreachable"]) == (1, {"metal3": "gone"})
    assert tuple(Check.from_json(check) for check in told["checks"]) == (PASSED, FAILED, SKIPPED)


def test_the_table_never_shows_what_was_not_made_as_passed(capsys: pytest.CaptureFixture[str]) -> None:
    report.show(of(PASSED, FAILED, SKIPPED, metal3="cannot be reached"))
    shown = capsys.readouterr().out
    (line,) = (line for line in shown.splitlines() if line.startswith("metal-2"))
    assert "not shown" in line
    assert "passed" not in line
    assert "metal-1 queue: A job comes back: failed\n  no connection\n  to <gearmand>" in shown
    assert "\ncannot be reached\n" in shown
    assert "3 checks: 1 passed, 1 failed, 1 not shown, not checked: metal3" in shown


def test_faults_with_one_cause_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    other = replace(FAILED, role="cache", title="Another")
    report.show(of(FAILED, PASSED, other, replace(FAILED, host="metal-2")))
    shown = capsys.readouterr().out
    assert "metal-1 queue: A job comes back: failed\nmetal-1 cache: Another: failed\n  no connection" in shown
    assert shown.count("  no connection") == 2


def test_junit_counts_and_explains(tmp_path: Path) -> None:
    junit.write(of(PASSED, FAILED, SKIPPED, metal3="gone"), tmp_path / "report.xml")
    root = ElementTree.parse(tmp_path / "report.xml").getroot()
    suites = {suite.get("name"): suite for suite in root}
    assert [
        (name, s.get("tests"), s.get("failures"), s.get("skipped"), s.get("errors")) for name, s in suites.items()
    ] == [
        ("metal-1", "2", "1", "0", "0"),
        ("metal-2", "1", "0", "1", "0"),
        ("metal3", "1", "0", "0", "1"),
    ]
    failure = suites["metal-1"].find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "no connection\nto <gearmand> �"
    cases = [(case.get("classname"), case.get("name"), case.get("time")) for case in suites["metal-1"]]
    assert cases == [("metal-1.cache", "memcached runs", "0.250"), ("metal-1.queue", "A job comes back", "1.500")]


@pytest.mark.parametrize(("name", "words"), [("nowhere/report.xml", "there is no folder"), (".", "is a folder")])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        junit.writable(tmp_path / name)
