"""The main job asks before it changes, once, when everything is known."""

import json
from pathlib import Path
from typing import Any

import pytest

from stackctl.apply import job as module
from stackctl.apply.job import Done, Job, apply, search_pages
from stackctl.apply.records import read_runs
from stackctl.apply.run import RunOutcome
from stackctl.apply.survey import PlanError, Survey
from stackctl.apply.totals import Totals
from stackctl.errors import ExitCode, InputError, RefusedError
from stackctl.lab.state import Endpoint
from stackctl.site.load import OpenSite, open_site
from stackctl.storage.ownership import MissingToolError
from stackctl.storage.plan import Plan, Step

PENDING = Plan("metal-1", "data", (), (Step("1", "wipe", "Wipe S1", ("S1",), destroys="all"),), ())
FINISHED = Plan("metal-1", "data", (), (), ())


class Stage:
    """What the job did, in order; and the survey that it gets."""

    def __init__(self, open_site: OpenSite, monkeypatch: pytest.MonkeyPatch) -> None:
        self.site = open_site
        self.did: list[str] = []
        self.survey = Survey({"metal-1": PENDING}, {})
        self.run: dict[str, Any] = {}
        monkeypatch.setattr(module, "survey", self._survey)
        monkeypatch.setattr(module, "run_playbook", self._run)

    def _survey(self, open_site: OpenSite, **options: Any) -> Survey:
        self.did.append("survey")
        return self.survey

    def _run(self, open_site: OpenSite, playbook: str = "site.yml", **options: Any) -> RunOutcome:
        if playbook == "tools.yml":
            self.did.append(f"tools for {options['limit']}")
            self.survey = Survey({"metal-1": PENDING}, {})
            return RunOutcome(options["recorder"].run.id, 1.0, Totals(), ())
        self.did.append("run")
        self.run = options
        survey = Path(options["extra_vars"]["storage_survey"])
        self.handed_over = {path.name: json.loads(path.read_text()) for path in survey.iterdir()}
        return RunOutcome(options["recorder"].run.id, 1.0, Totals(), ())

    def apply(self, agrees: bool = True, **words: Any) -> Done:
        def agree(survey: Survey) -> bool:
            self.did.append("ask")
            return agrees

        return apply(self.site, Job(**words), show=lambda survey: self.did.append("show"), agree=agree)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    (tmp_path / "stack.yml").write_text(
        "plugin: stackctl\nsite: one\nhosts: {metal-1: {address: 192.0.2.1, roles: [cache]}}\n"
    )
    return Stage(open_site(tmp_path), monkeypatch)


def test_look_show_ask_run(stage: Stage) -> None:
    stage.apply(wipe=frozenset({"S1"}))
    assert stage.did == ["survey", "show", "ask", "run"]
    sent = stage.run["extra_vars"]
    assert sent["storage_wipe"] == ["S1"]
    assert sent["storage_expected_digests"] == {"metal-1": PENDING.digest}
    run = read_runs("one")[0]
    assert (run.kind, run.status, dict(run.plans)) == ("apply", "done", {"metal-1": PENDING.digest})
    assert run.options["wipe"] == ["S1"]


def test_what_was_found_is_handed_over_and_taken_away_again(stage: Stage) -> None:
    stage.survey = Survey({"metal-1": FINISHED}, {}, {"metal-1": {"format": 1}})
    stage.apply()
    assert stage.handed_over == {"metal-1.json": {"format": 1}}
    assert not Path(stage.run["extra_vars"]["storage_survey"]).exists()


def test_a_no_changes_nothing(stage: Stage) -> None:
    with pytest.raises(RefusedError):
        stage.apply(agrees=False)
    assert stage.did == ["survey", "show", "ask"]
    assert read_runs("one")[0].status == "refused"


def test_nothing_to_do_on_disks_is_not_asked_about(stage: Stage) -> None:
    stage.survey = Survey({"metal-1": FINISHED}, {})
    stage.apply(agrees=False)
    assert stage.did == ["survey", "show", "run"]


def test_a_refused_server_stops_all_before_the_first_change(stage: Stage) -> None:
    stage.survey = Survey({"metal-1": PENDING}, {"metal-2": RefusedError("S9 holds ext4")})
    with pytest.raises(PlanError) as caught:
        stage.apply()
    assert caught.value.code is ExitCode.REFUSED
    assert stage.did == ["survey", "show"]
    assert read_runs("one")[0].status == "refused"


def test_tools_come_first_where_they_are_missing(stage: Stage) -> None:
    stage.survey = Survey({}, {"metal-1": MissingToolError("lvm2 is not installed")})
    stage.apply()
    assert stage.did == ["survey", "tools for metal-1", "survey", "show", "ask", "run"]


def test_check_mode_installs_no_tools(stage: Stage) -> None:
    stage.survey = Survey({}, {"metal-1": MissingToolError("lvm2 is not installed")})
    with pytest.raises(PlanError):
        stage.apply(check=True)
    assert stage.did == ["survey", "show"]


def test_check_mode_asks_nothing(stage: Stage) -> None:
    stage.apply(agrees=False, check=True)
    assert stage.did == ["survey", "show", "run"]
    assert stage.run["check"] is True
    assert read_runs("one")[0].kind == "check"


@pytest.mark.parametrize(
    ("tags", "touches"),
    [(None, True), ("all", True), ("storage,cache", True), ("cache", False), ("cache, queue", False)],
)
def test_tags_decide_whether_disks_are_looked_at(stage: Stage, tags: str | None, touches: bool) -> None:
    stage.apply(tags=tags)
    assert ("survey" in stage.did) is touches


def test_an_unknown_tag_is_wrong_input() -> None:
    with pytest.raises(InputError, match="--tags databse") as caught:
        Job(tags="cache,databse")
    assert "storage, database, queue, cache, search" in str(caught.value.hint)


def test_an_interrupted_job_is_gone_on_with(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(open_site: OpenSite, **options: Any) -> RunOutcome:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "run_playbook", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stage.apply()
    first = read_runs("one")[0]
    assert first.status == "interrupted"
    stage.apply()
    assert read_runs("one")[0].resumed_from == first.id
    assert f"going on after {first.id}" in capsys.readouterr().err


def test_where_the_search_page_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roles = "roles: [database, queue, cache, search]"
    (tmp_path / "stack.yml").write_text(
        f"plugin: stackctl\nsite: three\nhosts:\n  a: {{address: 192.0.2.1, {roles}}}\n"
        f"  b: {{address: '2001:db8::1', {roles}}}\n  c: {{lab: {{}}, {roles}}}\n  d: {{lab: {{}}, {roles}}}\n"
    )

    def lab_endpoint(site: str, host: str) -> Endpoint | None:
        return Endpoint("127.0.0.1", 2222, "root", tmp_path, tmp_path, 8080) if host == "c" else None

    monkeypatch.setattr(module, "endpoint", lab_endpoint)
    assert search_pages(open_site(tmp_path)) == {
        "a": "http://192.0.2.1/",
        "b": "http://[2001:db8::1]/",
        "c": "http://127.0.0.1:8080/",
    }
