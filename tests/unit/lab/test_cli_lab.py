"""`stackctl lab`: which machine and which command are meant, and how a site without labs is told."""

import json
from pathlib import Path

import pytest
import typer

from stackctl.cli import main
from stackctl.cli.lab import _machine_and_command
from stackctl.errors import ExitCode
from stackctl.lab.machine import Machine

ONE = [Machine("s", "metal-1")]
TWO = [*ONE, Machine("s", "metal-2")]


@pytest.mark.parametrize(
    ("machines", "host", "rest", "meant", "command"),
    [
        (ONE, None, [], "metal-1", []),
        (ONE, "metal-1", [], "metal-1", []),
        (ONE, "metal-1", ["ls", "-l"], "metal-1", ["ls", "-l"]),
        (ONE, "ls", ["-l"], "metal-1", ["ls", "-l"]),
        (TWO, "metal-2", ["true"], "metal-2", ["true"]),
    ],
)
def test_the_machine_may_be_left_out_where_there_is_one(
    machines: list[Machine], host: str | None, rest: list[str], meant: str, command: list[str]
) -> None:
    machine, words = _machine_and_command(machines, host, rest)
    assert (machine.host, words) == (meant, command)


@pytest.mark.parametrize("host", [None, "ls"])
def test_of_two_one_must_be_named(host: str | None) -> None:
    with pytest.raises(typer.BadParameter, match="metal-1, metal-2"):
        _machine_and_command(TWO, host, [])


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "stack.yml").write_text("plugin: stackctl\nsite: s\nhosts:\n  metal-1: {lab: {}}\n")
    return tmp_path


def _run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["lab", *words])
    return int(str(ended.value.code))


def test_status_of_what_was_never_made(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("status", "-i", str(site), "--json") == ExitCode.DONE
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["host"], found["state"]) == ("metal-1", "absent")


def test_ssh_to_what_was_never_made(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("ssh", "-i", str(site), "--", "true") == ExitCode.FAILED
    assert "lab up" in capsys.readouterr().err


def test_a_site_without_lab_machines(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "stack.yml").write_text("plugin: stackctl\nsite: s\nhosts:\n  real-1: {address: 192.0.2.1}\n")
    assert _run("up", "-i", str(site)) == ExitCode.USAGE
    assert "no lab machine" in capsys.readouterr().err


def test_a_name_that_is_none(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("up", "-i", str(site), "metal-9") == ExitCode.USAGE
    assert "metal-1" in capsys.readouterr().err
    assert _run("down", "-i", str(site), "metal-9") == ExitCode.USAGE
