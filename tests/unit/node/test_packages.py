"""Installing packages: which commands run, and in which order."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stackctl.node.errors import NodeError
from stackctl.node.packages import Outcome, Packages, Places
from stackctl.node.policy import ServicePolicy
from stackctl.node.process import RecordingRunner, Result

_RECORDED = Path(__file__).parent / "apt_output"


def _said(name: str) -> str:
    return (_RECORDED / f"{name}.txt").read_text()


@dataclass
class FakeDebian:
    """Enough of dpkg and apt to answer: what is installed, what the lists know, what fails how often."""

    installed: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    on_mirror: set[str] = field(default_factory=set)
    failures: dict[str, list[str]] = field(default_factory=dict)
    audit: str = ""
    disk: str = "100 kB"
    during_install: list[int] = field(default_factory=list)
    policy: Path | None = None

    def __call__(self, argv: tuple[str, ...]) -> Result:
        if argv[0] == "dpkg-query":
            lines = [f"{name} {name} ii \n" for name in argv[3:] if name in self.installed]
            return Result(argv, 0 if len(lines) == len(argv) - 3 else 1, "".join(lines))
        verb = "--print-uris" if "--print-uris" in argv else next(a for a in reversed(argv) if a in _VERBS)
        if self.failures.get(verb):
            return Result(argv, 100, stderr=self.failures[verb].pop(0))
        return getattr(self, "_" + verb.strip("-").replace("-", "_"))(argv)  # type: ignore[no-any-return]

    def _audit(self, argv: tuple[str, ...]) -> Result:
        return Result(argv, 0, self.audit)

    def _configure(self, argv: tuple[str, ...]) -> Result:
        self.audit = ""
        return Result(argv, 0)

    def _update(self, argv: tuple[str, ...]) -> Result:
        self.known |= self.on_mirror
        return Result(argv, 0)

    def _print_uris(self, argv: tuple[str, ...]) -> Result:
        names = argv[argv.index("install") + 1 :]
        if unknown := [name for name in names if name not in self.known]:
            return Result(argv, 100, stderr="".join(f"E: Unable to locate package {name}\n" for name in unknown))
        fresh = " ".join(sorted({*names, "lib-of-it"}))
        return Result(
            argv,
            0,
            f"The following NEW packages will be installed:\n  {fresh}\n2 newly installed\n"
            "Need to get 10 kB of archives.\n"
            f"After this operation, {self.disk} of additional disk space will be used.\n",
        )

    def _install(self, argv: tuple[str, ...]) -> Result:
        if self.policy:
            self.during_install.append(os.spawnv(os.P_WAIT, self.policy, [str(self.policy)]))
        self.installed |= set(argv[argv.index("install") + 1 :])
        return Result(argv, 0)


HoldLock = Callable[[Path], AbstractContextManager[subprocess.Popen[str]]]

_VERBS = ("install", "update", "--audit", "--configure")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name in ("dpkg/updates", "lists", "archives", "etc/sources.list.d", "usr"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lists" / "mirror_Packages").touch()
    return Places(
        dpkg=tmp_path / "dpkg",
        lists=tmp_path / "lists",
        archives=tmp_path / "archives",
        sources=tmp_path / "etc",
        programs=tmp_path / "usr",
        policy=tmp_path / "policy-rc.d",
        own_lock=tmp_path / "run" / "lock",
    )


def _verbs(runner: RecordingRunner) -> list[str]:
    """The commands in short: the verb of each."""
    shorts = []
    for argv in runner.calls:
        words = [word for word in argv if word in (*_VERBS, "--print-uris", "--show", "--fix-broken")]
        shorts.append(words[0])
    return shorts


def test_what_is_there_costs_one_query(places: Places) -> None:
    runner = RecordingRunner(FakeDebian(installed={"memcached", "sphinxsearch"}))
    outcome = Packages(runner, places).ensure(["memcached", "sphinxsearch"])
    assert outcome == Outcome()
    assert not outcome.changed
    assert _verbs(runner) == ["--show"]


def test_a_package_that_is_only_half_configured_is_not_there(places: Places) -> None:
    said = "mariadb-server mariadb-server iF \nmemcached memcached ii \nlibc6 libc6:amd64 hi \n"
    runner = RecordingRunner(lambda argv: Result(argv, 0, said))
    names = ["mariadb-server", "memcached", "libc6", "libc6:amd64", "absent"]
    assert Packages(runner, places).missing(names) == ("mariadb-server", "absent")


def test_only_what_is_missing_is_installed(places: Places) -> None:
    debian = FakeDebian(installed={"memcached"}, known={"gearman-job-server"})
    runner = RecordingRunner(debian)
    outcome = Packages(runner, places).ensure(["memcached", "gearman-job-server"])
    assert outcome.missing == ("gearman-job-server",)
    assert outcome.installed == ("gearman-job-server", "lib-of-it")
    assert outcome.changed
    assert not outcome.refreshed
    assert _verbs(runner) == ["--show", "--audit", "--show", "--print-uris", "install", "--show"]
    install = runner.calls[4]
    assert install[-2:] == ("install", "gearman-job-server")
    for option in ("--no-install-recommends", "--no-remove", "--yes"):
        assert option in install
    assert runner.environments[4]["DEBIAN_FRONTEND"] == "noninteractive"


def test_services_are_kept_from_starting_while_packages_are_installed(places: Places) -> None:
    debian = FakeDebian(known={"memcached"}, policy=places.policy)
    Packages(RecordingRunner(debian), places).ensure(["memcached"])
    assert debian.during_install == [101]
    assert not places.policy.exists()


def test_the_operators_policy_comes_back_when_the_installation_fails(places: Places) -> None:
    places.policy.write_text("theirs")
    debian = FakeDebian(known={"memcached"}, failures={"install": [_said("dpkg_postinst")]})
    with pytest.raises(NodeError) as caught:
        Packages(RecordingRunner(debian), places).ensure(["memcached"])
    assert caught.value.kind == "broken_dpkg"
    assert places.policy.read_text() == "theirs"


def test_a_policy_left_by_a_power_cut_goes_even_when_nothing_is_missing(places: Places) -> None:
    ServicePolicy(places.policy).__enter__()
    runner = RecordingRunner(FakeDebian(installed={"memcached"}))
    assert not Packages(runner, places).ensure(["memcached"]).changed
    assert not places.policy.exists()


def test_a_policy_that_another_run_needs_now_is_left_to_it(places: Places, hold_lock: HoldLock) -> None:
    places.own_lock.parent.mkdir()
    with ServicePolicy(places.policy), hold_lock(places.own_lock):
        runner = RecordingRunner(FakeDebian(installed={"memcached"}))
        assert not Packages(runner, places, lock_timeout=0).ensure(["memcached"]).changed
        assert places.policy.exists()


def test_an_unknown_name_makes_the_lists_fresh_once(places: Places) -> None:
    debian = FakeDebian(on_mirror={"memcached"})
    runner = RecordingRunner(debian)
    outcome = Packages(runner, places).ensure(["memcached"])
    assert outcome.refreshed
    assert _verbs(runner) == [
        "--show",
        "--audit",
        "--show",
        "--print-uris",
        "update",
        "--print-uris",
        "install",
        "--show",
    ]


def test_a_name_that_no_list_knows_is_an_error_after_one_refresh(places: Places) -> None:
    runner = RecordingRunner(FakeDebian())
    with pytest.raises(NodeError) as caught:
        Packages(runner, places).ensure(["memcachd"])
    assert caught.value.kind == "unknown_package"
    assert "memcachd" in caught.value.message
    assert _verbs(runner).count("update") == 1


def test_an_unreachable_mirror_is_the_error_when_nothing_is_known_without_it(places: Places) -> None:
    debian = FakeDebian(failures={"update": [_said("update_unresolvable")]})
    with pytest.raises(NodeError) as caught:
        Packages(RecordingRunner(debian), places).ensure(["memcached"])
    assert caught.value.kind == "unreachable_mirror"
    assert "mirror.invalid" in caught.value.message


def test_a_repository_that_fails_does_no_harm_when_the_packages_come_from_another(places: Places) -> None:
    debian = FakeDebian(known={"memcached"}, failures={"update": [_said("update_unresolvable")]})
    os.utime(places.lists, (0, 0))
    assert Packages(RecordingRunner(debian), places).ensure(["memcached"]).changed


@pytest.mark.parametrize("fault", ["install_404", "install_hash"])
def test_lists_older_than_the_mirror_are_fetched_again(places: Places, fault: str) -> None:
    debian = FakeDebian(known={"memcached"}, failures={"install": [_said(fault)]})
    runner = RecordingRunner(debian)
    outcome = Packages(runner, places).ensure(["memcached"])
    assert outcome.refreshed
    assert _verbs(runner)[3:] == ["--print-uris", "install", "update", "--print-uris", "install", "--show"]


def test_a_mirror_that_keeps_sending_wrong_files_is_an_error(places: Places) -> None:
    debian = FakeDebian(known={"memcached"}, failures={"install": [_said("install_hash")] * 2})
    with pytest.raises(NodeError) as caught:
        Packages(RecordingRunner(debian), places).ensure(["memcached"])
    assert caught.value.kind == "hash_mismatch"


@pytest.mark.parametrize("why", ["none", "old", "sources"])
def test_lists_are_fetched_first_when_they_cannot_be_trusted(places: Places, why: str) -> None:
    if why == "none":
        (places.lists / "mirror_Packages").unlink()
    elif why == "old":
        os.utime(places.lists, (time.time() - 90000, time.time() - 90000))
    else:
        source = places.sources / "sources.list.d" / "debian.sources"
        source.touch()
        os.utime(places.lists, (time.time() - 60, time.time() - 60))
    debian = FakeDebian(known={"memcached"})
    runner = RecordingRunner(debian)
    assert Packages(runner, places).ensure(["memcached"]).refreshed
    assert _verbs(runner)[3:5] == ["update", "--print-uris"]
    assert time.time() - places.lists.stat().st_mtime < 60


@pytest.mark.parametrize("sign", ["audit", "journal"])
def test_an_installation_that_was_cut_off_is_mended(places: Places, sign: str) -> None:
    debian = FakeDebian(known={"memcached"})
    if sign == "audit":
        debian.audit = _said("dpkg_audit")
    else:
        (places.dpkg / "updates" / "0001").touch()
    runner = RecordingRunner(debian)
    outcome = Packages(runner, places).ensure(["memcached"])
    assert outcome.mended
    configure = next(argv for argv in runner.calls if "--configure" in argv)
    assert configure[:3] == ("dpkg", "--configure", "-a")
    assert _verbs(runner).index("--configure") < _verbs(runner).index("install")


def test_what_configure_cannot_mend_apt_does(places: Places) -> None:
    debian = FakeDebian(known={"memcached"}, audit="broken", failures={"--configure": [_said("dpkg_postinst")]})
    runner = RecordingRunner(debian)
    assert Packages(runner, places).ensure(["memcached"]).mended
    assert "--fix-broken" in _verbs(runner)


def test_room_is_checked_before_the_first_write(places: Places) -> None:
    debian = FakeDebian(known={"memcached"}, disk="3072 TB")
    runner = RecordingRunner(debian)
    with pytest.raises(NodeError) as caught:
        Packages(runner, places).ensure(["memcached"])
    assert caught.value.kind == "no_space"
    assert "are missing" in caught.value.message
    assert "install" not in _verbs(runner)


def test_check_mode_foresees_and_changes_nothing(places: Places) -> None:
    runner = RecordingRunner(FakeDebian(known={"memcached"}))
    outcome = Packages(runner, places).ensure(["memcached"], check=True)
    assert outcome.changed
    assert outcome.installed == ("lib-of-it", "memcached")
    assert _verbs(runner) == ["--show", "--print-uris"]
    assert not places.own_lock.exists()


def test_check_mode_on_a_blank_machine_names_what_was_asked_for(places: Places) -> None:
    (places.lists / "mirror_Packages").unlink()
    outcome = Packages(RecordingRunner(FakeDebian()), places).ensure(["memcached"], check=True)
    assert (outcome.missing, outcome.installed) == (("memcached",), ("memcached",))


def test_check_mode_finds_an_unknown_name(places: Places) -> None:
    with pytest.raises(NodeError, match="memcachd"):
        Packages(RecordingRunner(FakeDebian()), places).ensure(["memcachd"], check=True)


def test_a_package_manager_at_work_is_waited_for_and_named(places: Places, hold_lock: HoldLock) -> None:
    runner = RecordingRunner(FakeDebian(known={"memcached"}))
    with hold_lock(places.dpkg / "lock-frontend") as process, pytest.raises(NodeError) as caught:
        Packages(runner, places, lock_timeout=0.2).ensure(["memcached"])
    assert caught.value.kind == "locked"
    assert f"process {process.pid} ({sys.executable}" in caught.value.message
    assert _verbs(runner) == ["--show"]


def test_a_lock_taken_in_the_last_moment_is_waited_for_again(places: Places) -> None:
    locked = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)\n"
    debian = FakeDebian(known={"memcached"}, failures={"install": [locked]})
    assert Packages(RecordingRunner(debian), places).ensure(["memcached"]).changed


def test_environment_is_that_of_an_unattended_run(places: Places) -> None:
    runner = RecordingRunner(FakeDebian(known={"memcached"}))
    Packages(runner, places).ensure(["memcached"])
    for argv, environment in zip(runner.calls, runner.environments, strict=True):
        assert argv[0] != "apt-get" or environment["DEBIAN_FRONTEND"] == "noninteractive"
