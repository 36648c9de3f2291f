"""Every server is planned, and what stands against it is told for all of them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackctl.apply import survey as module
from stackctl.apply.survey import PlanError, Survey, survey
from stackctl.errors import ExitCode, InputError, RefusedError, StackctlError
from stackctl.site.load import OpenSite, open_site
from stackctl.storage.plan import Plan, Step

SITE = """
plugin: stackctl
site: two
hosts:
  metal-1: {address: 192.0.2.1, layout: wide}
  metal-2: {address: 192.0.2.2, layout: wide}
  metal-3: {address: 192.0.2.3, roles: [cache]}
layouts:
  wide:
    disks: {count: 4}
    volumes: {database: {size: rest, mount: /srv/database}}
"""


class FakeMachine(SimpleNamespace):
    """A machine whose disks have serial numbers, and no more."""

    @classmethod
    def from_facts(cls, facts: Any) -> "FakeMachine":
        return cls(disks=[SimpleNamespace(key=serial) for serial in facts["serials"]])

    def disk(self, serial: str) -> object:
        return next((disk for disk in self.disks if disk.key == serial), None)


@pytest.fixture
def two(tmp_path: Path) -> OpenSite:
    (tmp_path / "stack.yml").write_text(SITE)
    return open_site(tmp_path)


def plan_of(host: str, *titles: str) -> Plan:
    steps = tuple(Step(title, "wipe", title, ("S1",), destroys="all") for title in titles)
    return Plan(host, "data", (), steps, ())


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Plan | StackctlError]:
    """What the planner answers for each host; a host that is not in it was not looked at."""
    answers: dict[str, Plan | StackctlError] = {}
    asked: list[dict[str, Any]] = []

    def collect(open_site: OpenSite, limit: str | None, **options: Any) -> dict[str, Any]:
        asked.append({"limit": limit, **options})
        return {host: {"serials": [f"{host}-A", f"{host}-B"]} for host in answers}

    def plan(host: str, layout: object, machine: object, wipe: frozenset[str]) -> Plan:
        answer = answers[host]
        if isinstance(answer, StackctlError):
            raise answer
        return answer

    monkeypatch.setattr(module, "collect", collect)
    monkeypatch.setattr(module, "Machine", FakeMachine)
    monkeypatch.setattr(module, "plan", plan)
    return answers


def test_every_server_with_a_layout_is_planned(two: OpenSite, servers: dict[str, Any]) -> None:
    servers |= {"metal-1": plan_of("metal-1"), "metal-2": plan_of("metal-2", "Wipe S1")}
    found = survey(two)
    assert set(found.plans) == {"metal-1", "metal-2"}
    assert [plan.host for plan in found.pending] == ["metal-2"]
    assert found.digests["metal-2"] == servers["metal-2"].digest
    found.check()


def test_a_refusal_does_not_hide_the_other_servers(two: OpenSite, servers: dict[str, Any]) -> None:
    servers |= {"metal-1": RefusedError("S1 holds ext4", hint="--wipe S1"), "metal-2": plan_of("metal-2", "Make")}
    found = survey(two)
    assert set(found.plans) == {"metal-2"}
    with pytest.raises(PlanError, match="metal-1: S1 holds ext4\n  hint: --wipe S1") as caught:
        found.check()
    assert caught.value.code is ExitCode.REFUSED
    assert found.to_json()["refused"]["metal-1"]["code"] == 3


def test_a_refusal_beside_another_fault_is_a_failure(two: OpenSite, servers: dict[str, Any]) -> None:
    servers |= {"metal-1": RefusedError("no"), "metal-2": InputError("too few disks")}
    with pytest.raises(PlanError) as caught:
        survey(two).check()
    assert caught.value.code is ExitCode.FAILED


def test_a_serial_that_no_server_has_is_wrong_input(two: OpenSite, servers: dict[str, Any]) -> None:
    servers |= {"metal-1": plan_of("metal-1"), "metal-2": plan_of("metal-2")}
    survey(two, wipe=["metal-2-B"])
    with pytest.raises(InputError, match="--wipe TYPO: no server") as caught:
        survey(two, wipe=["metal-1-A", "TYPO"])
    assert "metal-1-A, metal-1-B, metal-2-A" in str(caught.value.hint)


def test_a_site_without_layouts_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stack.yml").write_text(
        "plugin: stackctl\nsite: a\nhosts: {m: {address: 192.0.2.1, roles: [cache]}}\n"
    )
    monkeypatch.setattr(module, "collect", lambda *words, **options: pytest.fail("nobody should be asked"))
    assert survey(open_site(tmp_path)) == Survey({}, {})
