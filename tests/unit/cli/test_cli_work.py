"""inspect, plan, apply and runs, as the operator meets them; the servers are made up."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from machines import blank, machine

from stackctl.apply.job import Done
from stackctl.apply.recording import recorded
from stackctl.apply.records import read_runs
from stackctl.apply.run import RunOutcome
from stackctl.apply.survey import Survey
from stackctl.apply.totals import Totals
from stackctl.cli import main
from stackctl.errors import ExitCode, RefusedError
from stackctl.site.load import OpenSite
from stackctl.storage.alignment import Link
from stackctl.storage.plan import Plan, PlannedDisk, Step

Run = Callable[..., tuple[int, str, str]]

DISK = PlannedDisk("S1", "S1 (4 GiB disk, now sda)", 4 << 30, ("ext4 'old'",), "everything on it is destroyed", "f1")
PENDING = Plan(
    "metal-1",
    "data",
    (DISK,),
    (Step("wipe:S1", "wipe", "Wipe S1", ("S1",), destroys="everything on S1: ext4 'old'"),),
    (Link("partition", "S1", 1 << 20, 4096, "physical block"),),
)
FINISHED = Plan("metal-1", "data", (), (), ())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in a folder with a site; gives exit code, stdout and stderr."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", open("/dev/null"))  # noqa: SIM115, PTH123
    (tmp_path / "stack.yml").write_text(
        "plugin: stackctl\nsite: one\nhosts: {metal-1: {address: 192.0.2.1, roles: [cache]}}\n"
    )

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(words)
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def given(monkeypatch: pytest.MonkeyPatch, survey: Survey) -> list[dict[str, Any]]:
    """Every survey is this one; gives the runs of Ansible that follow."""
    runs: list[dict[str, Any]] = []

    def run_playbook(open_site: OpenSite, **options: Any) -> RunOutcome:
        runs.append(options)
        return RunOutcome("20200101-000000-aaaa", 61.0, Totals(), ())

    monkeypatch.setattr("stackctl.cli.plan.survey", lambda *words, **options: survey)
    monkeypatch.setattr("stackctl.apply.job.survey", lambda *words, **options: survey)
    monkeypatch.setattr("stackctl.apply.job.run_playbook", run_playbook)
    return runs


def test_a_plan_names_disks_what_they_hold_what_happens_and_the_alignment(run: Run, monkeypatch: Any) -> None:
    given(monkeypatch, Survey({"metal-1": PENDING}, {}))
    code, out, _err = run("plan")
    assert code == ExitCode.DONE
    for expected in ("S1", "ext4 'old'", "everything on it is destroyed", "Wipe S1", "1048576", "4096", "yes"):
        assert expected in out
    assert "1 step on its disks, 1 of which destroy something" in out


def test_a_plan_says_when_there_is_nothing_to_do(run: Run, monkeypatch: Any) -> None:
    given(monkeypatch, Survey({"metal-1": FINISHED}, {}))
    code, _out, err = run("plan")
    assert (code, "nothing to do" in err) == (ExitCode.DONE, True)


def test_a_refused_plan_ends_with_3_and_is_written_all_the_same(run: Run, monkeypatch: Any, tmp_path: Path) -> None:
    given(monkeypatch, Survey({}, {"metal-1": RefusedError("S1 holds ext4", hint="--wipe S1")}))
    code, out, err = run("plan", "--json", "--out", str(tmp_path / "plan.json"))
    assert code == ExitCode.REFUSED
    assert "metal-1: S1 holds ext4" in err
    assert json.loads(out) == json.loads((tmp_path / "plan.json").read_text())
    assert json.loads(out)["refused"]["metal-1"]["hint"] == "--wipe S1"


def test_apply_without_a_terminal_and_without_yes_refuses(run: Run, monkeypatch: Any) -> None:
    runs = given(monkeypatch, Survey({"metal-1": PENDING}, {}))
    code, out, err = run("apply")
    assert code == ExitCode.REFUSED
    assert "--yes" in err
    assert "Wipe S1" in out
    assert runs == []
    assert read_runs("one")[0].status == "refused"


def test_apply_with_yes_works_and_sums_up(run: Run, monkeypatch: Any) -> None:
    runs = given(monkeypatch, Survey({"metal-1": PENDING}, {}))
    code, _out, err = run("apply", "--yes", "--wipe", "S1")
    assert code == ExitCode.DONE
    assert runs[0]["extra_vars"]["storage_expected_digests"] == {"metal-1": PENDING.digest}
    assert "nothing changed; took 1 min 01 s" in err


def test_apply_as_json_prints_one_document(run: Run, monkeypatch: Any) -> None:
    given(monkeypatch, Survey({"metal-1": FINISHED}, {}))
    code, out, _err = run("apply", "--json")
    document = json.loads(out)
    assert (code, document["status"], document["plans"]["metal-1"]["digest"]) == (0, "done", FINISHED.digest)


def test_ctrl_c_ends_with_130(run: Run, monkeypatch: Any) -> None:
    def interrupted(*words: Any, **options: Any) -> Done:
        raise KeyboardInterrupt

    monkeypatch.setattr("stackctl.cli.apply.do", interrupted)
    code, _out, err = run("apply")
    assert (code, "run the same command again" in err) == (ExitCode.INTERRUPTED, True)


def test_runs_are_listed_shown_and_pruned(run: Run) -> None:
    assert "no runs yet" in run("runs")[2]
    for _ in range(3):
        with recorded("one", "apply", options={"tags": "cache"}) as recorder:
            recorder.fail(["metal-1: it broke"])
    last = read_runs("one")[0]
    code, out, err = run("runs")
    assert code == ExitCode.DONE
    assert out.count("failed") == 3
    code, out, err = run("runs", last.id)
    assert "metal-1: it broke" in out
    assert "goes on with" in out
    code, out, err = run("runs", "show", "last", "--json")
    assert json.loads(out)["id"] == last.id
    code, out, err = run("runs", "prune", "--keep", "1")
    assert "removed 2 runs" in err
    assert [found["id"] for found in json.loads(run("runs", "--json")[1])] == [last.id]
    assert run("runs", "nosuch")[0] == ExitCode.USAGE


def test_every_host_of_an_inspection_can_be_dumped(run: Run, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr("stackctl.cli.inspect.collect", lambda open_site, host: {"metal-1": {"format": 0}})
    code, _out, err = run("inspect", "--dump", str(tmp_path / "dumps"))
    assert (code, "format 0" in err) == (ExitCode.USAGE, True)
    assert json.loads((tmp_path / "dumps" / "metal-1.json").read_text()) == {"format": 0}


def test_a_dump_is_for_its_owner_and_can_be_masked(run: Run, monkeypatch: Any, tmp_path: Path) -> None:
    facts = machine(*blank(), host="zeta.example")
    monkeypatch.setattr("stackctl.cli.inspect.collect", lambda open_site, host: {"metal-1": facts})
    (tmp_path / "host1.json").touch(mode=0o644)
    code, out, err = run("inspect", "--dump", str(tmp_path), "--mask")
    assert (code, "host1.json" in err.replace("\n", "")) == (ExitCode.DONE, True)
    assert (tmp_path / "host1.json").stat().st_mode & 0o777 == 0o600
    hidden = json.loads((tmp_path / "host1.json").read_text())
    assert [row["serial"] for row in hidden["lsblk"]][:4] == [f"SERIAL-00{at}" for at in (1, 2, 3, 4)]
    assert "D-1" in out  # what is shown is not masked


def test_there_must_be_something_to_mask(run: Run) -> None:
    code, _out, err = run("inspect", "--mask")
    assert (code, "add --dump FOLDER" in err) == (ExitCode.USAGE, True)
