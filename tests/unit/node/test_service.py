"""Units are moved only when they must be, waited for, and their last words shown."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from stackctl.node.errors import NodeError
from stackctl.node.process import ProcessError, RecordingRunner, Result
from stackctl.node.service import Units
from stackctl.node.sockets import Listener


@dataclass
class FakeSystemd:
    """Enough of systemctl and journalctl: units with their states, some of which fail to start."""

    units: dict[str, dict[str, str]]
    fails: set[str] = field(default_factory=set)
    journal: str = ""

    def __call__(self, argv: tuple[str, ...]) -> Result:
        if argv[0] == "journalctl":
            return Result(argv, 0, self.journal)
        verb, names = argv[1], [word for word in argv[2:] if not word.startswith("--")]
        if verb == "show":
            blocks = ["\n".join(f"{key}={value}" for key, value in self.units[name].items()) for name in names]
            return Result(argv, 0, "\n\n".join(blocks) + "\n")
        if verb == "daemon-reload":
            for unit in self.units.values():
                unit["NeedDaemonReload"] = "no"
        changes = {
            "enable": {"UnitFileState": "enabled"},
            "disable": {"UnitFileState": "disabled"},
            "start": {"ActiveState": "active"},
            "restart": {"ActiveState": "active"},
            "stop": {"ActiveState": "inactive"},
        }.get(verb, {})
        for name in names:
            self.units[name].update(changes)
            if verb in {"start", "restart"} and name in self.fails:
                self.units[name]["ActiveState"] = "failed"
        return Result(argv, 1 if verb in {"start", "restart"} and self.fails & set(names) else 0)


def _unit(active: str = "active", enabled: str = "enabled", load: str = "loaded", **more: str) -> dict[str, str]:
    return {
        "LoadState": load,
        "ActiveState": active,
        "SubState": "running",
        "UnitFileState": enabled,
        "NeedDaemonReload": "no",
        "NRestarts": "0",
        **more,
    }


def _verbs(runner: RecordingRunner) -> list[str]:
    return [argv[1] for argv in runner.calls if argv[0] == "systemctl" and argv[1] != "show"]


def _units(systemd: FakeSystemd, **more: object) -> tuple[Units, RecordingRunner]:
    runner = RecordingRunner(systemd)
    return Units(runner, tuple(systemd.units), **more), runner  # type: ignore[arg-type]


def test_what_runs_and_is_enabled_is_left_alone() -> None:
    units, runner = _units(FakeSystemd({"memcached.service": _unit()}))
    assert units.ensure("started") == []
    assert _verbs(runner) == []


def test_what_is_down_is_enabled_and_started() -> None:
    systemd = FakeSystemd({"memcached.service": _unit("inactive", "disabled"), "mariadb.service": _unit()})
    units, runner = _units(systemd)
    assert units.ensure("started") == ["enable memcached.service", "start memcached.service"]
    assert _verbs(runner) == ["enable", "reset-failed", "start"]
    assert ("systemctl", "start", "memcached.service") in runner.calls


def test_a_restart_is_always_done() -> None:
    units, runner = _units(FakeSystemd({"memcached.service": _unit()}))
    assert units.ensure("restarted") == ["restart memcached.service"]
    assert "restart" in _verbs(runner)


def test_stopping_is_done_once() -> None:
    systemd = FakeSystemd({"memcached.service": _unit()})
    units, _ = _units(systemd)
    assert units.ensure("stopped", enabled=False) == ["disable memcached.service", "stop memcached.service"]
    assert units.ensure("stopped", enabled=False) == []


@pytest.mark.parametrize("state", ["started", "restarted"])
def test_changed_unit_files_are_read_again_first(state: Literal["started", "restarted"]) -> None:
    units, runner = _units(FakeSystemd({"memcached.service": _unit("inactive", NeedDaemonReload="yes")}))
    units.ensure(state)
    assert _verbs(runner)[0] == "daemon-reload"


def test_a_restart_reads_unit_files_even_where_systemd_sees_no_need() -> None:
    """A first drop-in in a folder that is new escapes systemd 252."""
    units, runner = _units(FakeSystemd({"memcached.service": _unit(NeedDaemonReload="no")}))
    units.ensure("restarted")
    assert _verbs(runner)[0] == "daemon-reload"


@pytest.mark.parametrize(("age", "restarts"), [(-60.0, False), (60.0, True)])
def test_a_unit_older_than_its_configuration_is_restarted(tmp_path: Path, age: float, restarts: bool) -> None:
    """A run that was interrupted between the file and the restart is finished by the next one."""
    file = tmp_path / "memcached.conf"
    file.touch()
    began = time.monotonic() - 3600
    written = time.time() - 3600 + age
    os.utime(file, (written, written))
    unit = _unit(ExecMainStartTimestampMonotonic=str(int(began * 1e6)))
    units, _ = _units(FakeSystemd({"memcached.service": unit}))
    done = units.ensure("started", configuration=[file, tmp_path / "absent"])
    assert done == (["restart memcached.service"] if restarts else [])


def test_check_mode_moves_nothing_and_takes_a_missing_unit_as_coming() -> None:
    units, runner = _units(FakeSystemd({"memcached.service": _unit("inactive", "", "not-found")}))
    assert units.ensure("started", check=True) == ["enable memcached.service", "start memcached.service"]
    assert _verbs(runner) == []


def test_a_missing_unit_is_told() -> None:
    units, _ = _units(FakeSystemd({"memcached.service": _unit("inactive", "", "not-found")}))
    with pytest.raises(NodeError, match=r"no unit memcached\.service"):
        units.ensure("started")


def test_a_masked_unit_is_told() -> None:
    units, runner = _units(FakeSystemd({"memcached.service": _unit("inactive", "masked", "masked")}))
    with pytest.raises(NodeError, match=r"memcached\.service is masked"):
        units.ensure("started")
    assert _verbs(runner) == []


def test_a_unit_that_fails_shows_its_last_words() -> None:
    systemd = FakeSystemd(
        {"gearman-job-server.service": _unit("inactive")},
        fails={"gearman-job-server.service"},
        journal="gearmand: getaddrinfo: Name or service not known\n",
    )
    units, _ = _units(systemd)
    with pytest.raises(NodeError) as caught:
        units.ensure("started")
    assert "gearman-job-server.service did not start" in caught.value.message
    assert "Name or service not known" in caught.value.message


def test_a_unit_that_systemd_starts_again_and_again_has_failed() -> None:
    units, _ = _units(FakeSystemd({"memcached.service": _unit("activating", NRestarts="5")}))
    with pytest.raises(NodeError, match="did not start"):
        units.ensure("restarted", listens=[("127.0.0.1", 11211)])


def test_the_work_counts_as_done_when_the_service_listens() -> None:
    answers = [(), (), (Listener("tcp", "127.0.0.1", 11211, 1),)]
    slept: list[float] = []
    units, _ = _units(
        FakeSystemd({"memcached.service": _unit("inactive")}),
        listening=lambda: answers.pop(0),
        sleep=slept.append,
    )
    units.ensure("started", listens=[("127.0.0.1", 11211)])
    assert len(slept) == 2
    assert answers == []


def test_a_service_that_runs_and_does_not_listen_is_restarted_and_told_when_that_does_not_help() -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    units, runner = _units(
        FakeSystemd({"memcached.service": _unit()}), listening=tuple, sleep=sleep, clock=lambda: now, timeout=30.0
    )
    with pytest.raises(NodeError, match=r"after 30 s nobody listens on 127\.0\.0\.1:11211"):
        units.ensure("started", listens=[("127.0.0.1", 11211)])
    assert _verbs(runner) == ["daemon-reload", "reset-failed", "restart"]


def test_a_unit_that_runs_without_its_drop_in_is_restarted(tmp_path: Path) -> None:
    file = tmp_path / "memcached.service.d" / "stackctl.conf"
    file.parent.mkdir()
    file.touch()
    systemd = FakeSystemd(
        {"memcached.service": _unit(DropInPaths="/etc/systemd/system/memcached.service.d/other.conf")}
    )
    units, runner = _units(systemd)
    assert units.ensure("started", configuration=[file]) == ["restart memcached.service"]
    assert _verbs(runner)[0] == "daemon-reload"
    systemd.units["memcached.service"]["DropInPaths"] += f" {file}"
    assert units.ensure("started", configuration=[file]) == []


def test_systemd_that_is_away_for_a_moment_is_asked_again() -> None:
    systemd = FakeSystemd({"memcached.service": _unit()})
    away = ["Failed to get properties: Transport endpoint is not connected\n"] * 2
    runner = RecordingRunner(lambda argv: Result(argv, 1, "", away.pop()) if away else systemd(argv))
    slept: list[float] = []
    assert Units(runner, ("memcached.service",), sleep=slept.append).ensure("started") == []
    assert len(slept) == 2


def test_systemd_that_stays_away_is_told() -> None:
    runner = RecordingRunner(lambda argv: Result(argv, 1, "", "Failed to connect to bus: Connection timed out\n"))
    with pytest.raises(ProcessError, match="Connection timed out"):
        Units(runner, ("memcached.service",), sleep=lambda _: None).ensure("started")
    assert len(runner.calls) == 5


def test_a_unit_in_the_way_is_stopped_first() -> None:
    systemd = FakeSystemd({"gearman-job-server.service": _unit(), "stackctl-queue.socket": _unit(load="not-found")})
    runner = RecordingRunner(systemd)
    units = Units(runner, ("gearman-job-server.service",))
    done = units.ensure("restarted", without=["stackctl-queue.socket"])
    assert done == ["stop stackctl-queue.socket", "restart gearman-job-server.service"]
    assert units.ensure("started", without=["stackctl-queue.socket"]) == []
