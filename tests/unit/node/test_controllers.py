"""Asking the tools of RAID controllers: which are found, what is kept, and what a failure costs."""

import json

import pytest
from twin import blank_server

from stackctl.hardware.machine import Machine
from stackctl.node import controllers
from stackctl.node.process import RecordingRunner, Result
from stackctl.node.system import System

STORCLI = "/opt/MegaRAID/storcli/storcli64"
SSACLI = "/opt/smartstorageadmin/ssacli/bin/ssacli"
ANSWER = {"Controllers": [{"Command Status": {"CLI Version": "007.2807.0000.0000 Dec 22, 2023", "Controller": 0}}]}


def said(stdout="", code=0, stderr=""):
    return lambda argv: Result(argv, code, stdout, stderr)


@pytest.fixture
def ask(tmp_path):
    """``ask(answer, PROGRAM…)``: what is collected, the errors, and what was asked."""

    def run(answer, *programs):
        for program in programs:
            place = tmp_path / program.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        runner, errors = RecordingRunner(answer), []
        return controllers.ask(System(runner, tmp_path), errors), errors, [" ".join(call) for call in runner.calls]

    return run


def test_without_a_tool_nothing_is_run(ask):
    assert ask(said()) == ([], [], [])


def test_storcli_is_asked_for_controllers_disks_drives_and_batteries_and_leaves_no_log(ask):
    found, errors, calls = ask(said(json.dumps(ANSWER)), STORCLI)
    assert calls == [
        f"{STORCLI} {what} show all nolog J"
        for what in ("/call", "/call/vall", "/call/eall/sall", "/call/sall", "/call/bbu", "/call/cv")
    ]
    assert errors == []
    (tool,) = found
    assert (tool["tool"], tool["version"]) == ("storcli", "007.2807.0000.0000 Dec 22, 2023")
    assert tool["documents"][1] == {"command": "/call/vall show all nolog J", "json": ANSWER}


@pytest.mark.parametrize(
    ("program", "name", "questions"),
    [
        (STORCLI, "storcli", 6),
        ("/usr/sbin/storcli", "storcli", 6),
        ("/opt/MegaRAID/storcli2/storcli2", "storcli2", 4),
        ("/opt/MegaRAID/perccli/perccli64", "perccli", 6),
        ("/usr/local/sbin/perccli2", "perccli2", 4),
    ],
)
def test_the_tools_are_found_where_packages_put_them(ask, program, name, questions):
    found, _, calls = ask(said(json.dumps(ANSWER)), program)
    assert [tool["tool"] for tool in found] == [name]
    assert len(calls) == questions
    assert all(call.startswith(f"{program} ") for call in calls)


def test_a_tool_that_is_there_twice_is_asked_once(ask):
    assert len(ask(said(json.dumps(ANSWER)), STORCLI, "/usr/sbin/storcli64", "/usr/bin/storcli")[2]) == 6


@pytest.mark.parametrize(
    ("program", "name"),
    [(SSACLI, "ssacli"), ("/usr/sbin/ssacli", "ssacli"), ("/opt/hp/hpssacli/bld/hpssacli", "hpssacli")],
)
def test_ssacli_s_words_are_kept_as_they_are(ask, program, name):
    found, errors, calls = ask(said("\nSmart Array P822 in Slot 2\n"), program)
    assert calls == [f"{program} ctrl all show config detail"]
    document = {"command": "ctrl all show config detail", "text": "\nSmart Array P822 in Slot 2\n"}
    assert (found, errors) == ([{"tool": name, "documents": [document]}], [])


def test_no_controller_is_no_error(ask):
    found, errors, _ = ask(said("\nError: No controllers detected. Possible causes:\n", 1), SSACLI)
    assert errors == []
    assert "No controllers detected" in found[0]["documents"][0]["text"]


def test_neither_is_it_for_storcli_which_fails_then(ask):
    refused = {"Controllers": [{"Command Status": {"Status": "Failure", "Description": "No Controller found"}}]}
    assert ask(said(json.dumps(refused), 255), STORCLI)[1] == []


def test_a_banner_is_told_and_the_json_is_kept(ask):
    found, errors, _ = ask(said(f"WARNING: old firmware\n\n{json.dumps(ANSWER)}\n"), STORCLI)
    assert len(found[0]["documents"]) == 6
    assert errors[0] == f"{STORCLI} /call show all nolog J: said beside its JSON: WARNING: old firmware"


def test_an_answer_without_json_costs_only_itself(ask):
    def answer(argv):
        bad = argv[1] == "/call/vall"
        return Result(argv, 255, "Status = Failure\nDescription = syntax error" if bad else json.dumps(ANSWER))

    found, errors, _ = ask(answer, STORCLI)
    assert [document["command"].split()[0] for document in found[0]["documents"]] == [
        "/call",
        "/call/eall/sall",
        "/call/sall",
        "/call/bbu",
        "/call/cv",
    ]
    assert errors == [
        f"{STORCLI} /call/vall show all nolog J: "
        "ended with 255 and no JSON: Status = Failure / Description = syntax error"
    ]


def test_a_tool_that_hangs_is_not_asked_again_and_the_others_are(ask):
    def answer(argv):
        if argv[0] == STORCLI and argv[1] == "/call/vall":
            return Result(argv, 124, stderr=f"{STORCLI} did not end within 90 s")
        return Result(argv, 0, "x" if argv[0] == SSACLI else json.dumps(ANSWER))

    found, errors, calls = ask(answer, STORCLI, SSACLI)
    assert [(tool["tool"], len(tool["documents"])) for tool in found] == [("storcli", 1), ("ssacli", 1)]
    assert len(calls) == 3
    assert errors == [
        f"{STORCLI} /call/vall show all nolog J: {STORCLI} did not end within 90 s; it was asked nothing more"
    ]


def test_a_file_that_cannot_be_run_is_an_error_and_no_crash(ask):
    def answer(argv):
        raise PermissionError(13, "Permission denied")

    found, errors, _ = ask(answer, STORCLI)
    assert errors == [f"{STORCLI} cannot be run: Permission denied"]
    assert found == [{"tool": "storcli", "documents": []}]


def test_ssacli_that_is_busy_is_told(ask):
    found, errors, _ = ask(said("Error: Another instance of SSACLI is running.", 1), SSACLI)
    assert errors == [
        f"{SSACLI} ctrl all show config detail: ended with 1: Error: Another instance of SSACLI is running."
    ]
    assert found[0]["documents"][0]["text"].startswith("Error: Another")


def test_the_facts_of_a_server_without_tools_have_the_key_and_read(tmp_path):
    facts = blank_server(tmp_path).facts()
    assert facts["controllers"] == []
    assert Machine.from_facts(facts).controllers == ()
