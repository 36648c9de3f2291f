"""Records are written as a run goes and can be read whatever happens to it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackctl.apply import records
from stackctl.apply.events import Event, Task, TaskBegan, TaskEnded
from stackctl.apply.lock import ProcessId
from stackctl.apply.recording import recorded
from stackctl.apply.records import Recorder, find_run, prune, read_runs, read_tasks
from stackctl.errors import InputError, RefusedError, StackctlError

TASK = Task("1", "Install", "database", "databases")


def write_head(state: Path, run_id: str, began: float, *, site: str = "lab", status: str = "done") -> None:
    folder = state / "runs" / site / run_id
    folder.mkdir(parents=True)
    head = {"id": run_id, "site": site, "kind": "apply", "who": "me@here", "began": began, "status": status}
    (folder / "run.json").write_text(json.dumps(head))


def test_a_real_run_reads_back(events: list[Event]) -> None:
    with recorded("lab", "apply", options={"tags": "database"}) as recorder:
        for event in events:
            recorder.see(event)
        recorder.planned({"metal-1": "abc"})
    run = read_runs("lab")[0]
    assert (run.site, run.kind, run.status) == ("lab", "apply", "done")
    assert (dict(run.options), dict(run.plans)) == ({"tags": "database"}, {"metal-1": "abc"})
    assert run.ended is not None
    assert "@" in run.who
    tasks = read_tasks(run)
    assert records.counts(tasks) == {"ok": 3, "changed": 3, "failed": 3, "skipped": 1}
    assert [task.task for task in tasks][:2] == ["Look", "Hidden change"]
    assert next(task for task in tasks if task.task == "Ends").message == "One or more items failed"


def test_files_are_private(state: Path) -> None:
    with recorded("lab", "apply"):
        pass
    run = state / "runs" / "lab" / read_runs("lab")[0].id
    assert run.stat().st_mode & 0o077 == 0
    assert {path.name: path.stat().st_mode & 0o777 for path in run.iterdir()} == {
        "run.json": 0o600,
        "tasks.jsonl": 0o600,
    }


def test_a_run_under_way_can_be_read() -> None:
    with recorded("lab", "apply") as recorder:
        recorder.see(TaskBegan(1.0, "a", TASK))
        run = read_runs("lab")[0]
        assert run.status == "running"
        assert [(task.task, task.outcome) for task in read_tasks(run)] == [("Install", None)]
        recorder.see(TaskEnded(2.0, "a", TASK, "changed", 1.0))
        assert [(task.task, task.outcome) for task in read_tasks(run)] == [("Install", "changed")]


@pytest.mark.parametrize(
    ("raised", "status"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (RefusedError("no"), "refused"),
        (StackctlError("no"), "failed"),
        (RuntimeError("no"), "failed"),
    ],
)
def test_the_status_tells_how_a_run_ended(raised: BaseException, status: str) -> None:
    with pytest.raises(type(raised)), recorded("lab", "apply"):
        raise raised
    assert read_runs("lab")[0].status == status


def test_faults_make_a_run_failed_without_ending_it() -> None:
    with recorded("lab", "apply") as recorder:
        recorder.fail(["a: broke"])
        recorder.fail([])
        recorder.fail(["b: broke"])
    run = read_runs("lab")[0]
    assert (run.status, run.errors) == ("failed", ("a: broke", "b: broke"))


def test_a_run_whose_process_is_gone_has_died() -> None:
    recorder = Recorder.begin("lab", "apply")
    recorder.see(TaskBegan(1.0, "a", TASK))
    recorder.run = replace(recorder.run, process=ProcessId(1, "an earlier boot"))
    recorder.works(None)
    assert read_runs("lab")[0].status == "died"


def test_the_next_run_goes_on_with_an_unfinished_one(state: Path) -> None:
    write_head(state, "20200101-000000-aaaa", 1.0, status="interrupted")
    with recorded("lab", "apply") as second:
        assert second.run.resumed_from == "20200101-000000-aaaa"
    with recorded("lab", "apply") as third:
        assert third.run.resumed_from is None
    with recorded("lab", "check") as other:
        assert other.run.resumed_from is None


@given(torn=st.integers(min_value=0, max_value=400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
def test_a_torn_record_gives_every_whole_line(torn: int, state: Path) -> None:
    recorder = Recorder.begin("lab", "apply")
    for number in range(3):
        recorder.see(TaskEnded(float(number), "a", replace(TASK, id=str(number)), "ok", 1.0))
    run = recorder.finish("done")
    path = state / "runs" / "lab" / run.id / "tasks.jsonl"
    text = path.read_bytes()
    path.write_bytes(text[: max(len(text) - torn, 0)])
    whole = path.read_bytes().count(b"}")
    assert len(read_tasks(run)) == whole


def test_what_is_no_record_is_left_out(state: Path) -> None:
    write_head(state, "20200101-000000-aaaa", 1.0)
    write_head(state, "20200101-000000-bbbb", 2.0, status="nonsense")
    (state / "runs" / "lab" / "20200101-000000-cccc").mkdir()
    (state / "runs" / "lab" / "20200101-000000-cccc" / "run.json").write_text("{")
    assert [run.id for run in read_runs()] == ["20200101-000000-aaaa"]


def test_runs_are_found_by_id_by_beginning_and_as_last(state: Path) -> None:
    write_head(state, "20200101-000000-aaaa", 1.0)
    write_head(state, "20200102-000000-bbbb", 2.0, site="other")
    assert find_run("20200101").id == "20200101-000000-aaaa"
    assert find_run("last").id == "20200102-000000-bbbb"
    with pytest.raises(InputError, match="2 runs begin with it"):
        find_run("2020")
    with pytest.raises(InputError, match="there is no run 1999"):
        find_run("1999")


def test_pruning_keeps_the_newest_of_each_site_and_what_runs(state: Path) -> None:
    for number in range(4):
        write_head(state, f"2020010{number}-000000-aaaa", float(number))
    write_head(state, "20200101-000000-bbbb", 1.0, site="other")
    with recorded("lab", "apply") as recorder:
        removed = prune(2)
        assert {run.id for run in removed} == {f"2020010{number}-000000-aaaa" for number in range(3)}
        assert prune(0, "lab")
        assert [run.id for run in read_runs("lab")] == [recorder.run.id]
    assert [run.id for run in read_runs("other")] == ["20200101-000000-bbbb"]
