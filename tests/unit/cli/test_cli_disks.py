"""`stackctl disks audit`: what is shown, which code it ends with, and what it says of input that is none."""

import json
import sys
from pathlib import Path

import pytest

from stackctl.cli import main
from stackctl.errors import ExitCode

APPLIED = Path(__file__).parents[2] / "machines" / "lab-applied.json"


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", open("/dev/null"))  # noqa: SIM115, PTH123

    def call(*words):
        with pytest.raises(SystemExit) as ended:
            main(("disks", "audit", *map(str, words)))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.fixture
def crooked(tmp_path):
    """The applied machine, its disks with 4 KiB blocks and one partition at sector 63."""
    facts = json.loads(APPLIED.read_text())
    facts["blocks"]["sda"]["limits"]["physical_block_size"] = 4096
    facts["blocks"]["sda1"]["start"] = 63 * 512
    file = tmp_path / "crooked.json"
    file.write_text(json.dumps(facts))
    return file


def test_a_machine_without_fault(run):
    code, out, _ = run("--machine", APPLIED)
    assert code == ExitCode.DONE
    assert out.splitlines()[0] == "lab-applied"
    (volume,) = (line.split("  ") for line in out.splitlines() if "data/documents" in line)
    assert [word.strip() for word in volume if word.strip()] == [
        "LV", "data/documents", "data", "4179968 (2.0 GiB)", "64 KiB (stripe element)", "0",
    ]  # fmt: skip
    assert "✓ nothing is off" in out


def test_a_fault_is_told_with_its_mend_and_ends_with_four(run, crooked):
    code, out, _ = run("--machine", crooked, "--machine", APPLIED)
    assert code == ExitCode.FAULT
    assert "✗ LAB-DISKS-1-1, partition 1: partition begins 3.5 KiB off" in out
    assert "mended only by making it anew" in out
    assert out.count("✓ nothing is off") == 1


def test_json(run, crooked):
    code, out, _ = run("--machine", crooked, "--json")
    assert code == ExitCode.FAULT
    (fault,) = json.loads(out)["crooked"]["faults"]
    assert (fault["subject"], fault["in_place"]) == ("LAB-DISKS-1-1, partition 1", False)
    begin = next(begin for begin in json.loads(out)["crooked"]["begins"] if begin["off"])
    assert (begin["start"], begin["multiple_of"], begin["off"]) == (63 * 512, 4096, 3584)


def test_this_machine_needs_no_site(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("--local", "--json")
    assert code in {ExitCode.DONE, ExitCode.FAULT}
    (found,) = json.loads(out).values()
    assert found.keys() == {"begins", "costs", "faults", "warnings", "notes"}


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "No such file"), ("hardly", "no dump of a machine"), ("[]", "no JSON object"), ("{}", "format None")],
)
def test_what_is_no_dump_is_refused(run, tmp_path, text, words):
    file = tmp_path / "some.json"
    if text is not None:
        file.write_text(text)
    code, out, err = run("--machine", file)
    assert (code, out) == (ExitCode.USAGE, "")
    assert words in err
    assert "hint" in err


def test_one_source_at_a_time(run):
    code, _, err = run("--local", "--machine", APPLIED)
    assert code == ExitCode.USAGE
    assert "exclude each other" in err
