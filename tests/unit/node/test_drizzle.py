"""Drizzle on a server: releases beside each other, a switch that is whole or undone, checks before all of it.

The trees are small real ELF files. Nothing here serves anything; systemd is recorded.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stackctl.node import drizzle_trial
from stackctl.node.drizzle import Drizzle, Places, Service
from stackctl.node.drizzle_config import Option
from stackctl.node.drizzle_tree import Chosen, Tree
from stackctl.node.drizzle_trial import Trial, telling
from stackctl.node.errors import NodeError
from stackctl.node.files import Wanted
from stackctl.node.process import Result, SystemRunner
from tests.lib.forge import PLUGINS, Forge, pack

_CHOSEN = Chosen(("auth_file",))


@dataclass
class Systemd:
    """Records systemctl and journalctl; asks the host's own loader."""

    active: bool = False
    fails: Sequence[str] = ()
    """Releases that do not come up."""
    root: Path = Path()
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, argv: Sequence[str], *, check: bool = True, **more: Any) -> Result:
        words = tuple(argv)
        if words[0] not in {"systemctl", "journalctl"}:
            return SystemRunner().run(argv, check=check, **more)
        self.calls.append(words)
        if words[0] == "journalctl":
            return Result(words, 0, "[ERROR] unrecognised option '--innodb.nonsense'\n")
        code = 0
        if words[1] == "restart":
            link = self.root / "current"
            self.active = link.exists() and link.readlink().name not in self.fails
            code = 0 if self.active else 1
        elif words[1] == "start":
            self.active = True
        elif words[1] == "stop":
            self.active = False
        elif words[1] == "is-active":
            code = 0 if self.active else 3
        state = "active" if self.active else "inactive"
        said = f"Id=drizzled.service\nLoadState=loaded\nActiveState={state}\nUnitFileState=enabled\n"
        said += "NeedDaemonReload=no\nDropInPaths=\nNRestarts=0\n"
        said += "ActiveEnterTimestampMonotonic=0\nExecMainStartTimestampMonotonic=0\n"
        return Result(words, code, said if words[1] == "show" else "")

    def verbs(self) -> list[str]:
        return [words[1] for words in self.calls if words[0] == "systemctl" and words[1] not in {"show", "is-active"}]


_TRIED: list[tuple[str, dict[str, str]]] = []


class Tried(Trial):
    """A trial that is only remembered."""

    def run(self, options: Sequence[Option]) -> None:
        _TRIED.append((self.tree.root.name, {option.name: option.value for option in options}))


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """The same tree packed twice."""
    folder = tmp_path_factory.mktemp("archives")
    tree = Forge(folder / "tree").tree()
    return {
        name: (folder / f"{name}.tar{suffix}", pack(tree, folder / f"{name}.tar{suffix}"))
        for name, suffix in (("a" * 16, ".gz"), ("b" * 16, ".xz"))
    }


_A, _B = "a" * 16, "b" * 16


@dataclass
class Host:
    """A server in a folder."""

    folder: Path
    systemd: Systemd
    drizzle: Drizzle
    archives: dict[str, tuple[Path, str]]

    def install(self, release: str) -> None:
        self.drizzle.install(release, *self.archives[release], _CHOSEN)

    def service(self, release: str, **more: Any) -> Service:
        etc, options = self.folder / "etc", more.pop("options", "")
        text = f"plugin-add = auth_file\nauth-file.users = {etc / 'users'}\n{options}"
        user = {"owner": "root", "group": "root"}
        files = (
            Wanted(self.folder / "data", None, 0o750, **user),
            Wanted(etc / "drizzled.cnf", text),
            Wanted(self.folder / "drizzled.service", f"[Service]\n# of {release[0]}\n"),
        )
        known: dict[str, Any] = {"users": {"stacksearch": "correct horse"}, "files": files, "chosen": _CHOSEN}
        return Service(release=release, data=self.folder / "data", **{**known, **more})

    @property
    def current(self) -> str | None:
        return self.drizzle.releases.look().current

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture
def host(tmp_path: Path, archives: dict[str, tuple[Path, str]]) -> Iterator[Host]:
    systemd = Systemd(root=tmp_path / "opt")
    places = Places(tmp_path / "opt", tmp_path / "etc", tmp_path)
    _TRIED.clear()
    yield Host(tmp_path, systemd, Drizzle(systemd, places, user=None, start_timeout=0.2, trial=Tried), archives)
    _TRIED.clear()


def test_a_release_is_installed_beside_others_and_described(host: Host) -> None:
    looked = host.drizzle.look(host.folder / "data", _A, _CHOSEN)
    assert (looked["present"], looked["tree"], looked["current"]) == ([], None, None)
    assert looked["machine"] == os.uname().machine
    host.install(_A)
    host.install(_B)
    looked = host.drizzle.look(host.folder / "data", _B, _CHOSEN)
    assert set(looked["present"]) == {_A, _B}
    assert looked["tree"]["plugin_directory"] == PLUGINS
    assert (looked["added"], looked["packages"]) == (["auth_file"], [])
    assert (host.folder / "opt" / "releases" / _A / "lib" / "libdrizzle.so.9").is_symlink()


def test_what_does_not_fit_leaves_nothing_behind(host: Host) -> None:
    with pytest.raises(NodeError, match="no plugin rabbitmq"):
        host.drizzle.install(_A, *host.archives[_A], Chosen(("rabbitmq",)))
    archive, checksum = host.archives[_A]
    with pytest.raises(NodeError, match="did not arrive whole"):
        host.drizzle.install(_A, archive, "0" * 64, _CHOSEN)
    assert checksum != "0" * 64
    assert list((host.folder / "opt" / "releases").iterdir()) == []


@pytest.mark.parametrize("stranger", ["bin/drizzle", "current/x", "releases/7.2/sbin/drizzled"])
def test_a_prefix_of_somebody_elses_is_refused(host: Host, stranger: str) -> None:
    file = host.folder / "opt" / stranger
    file.parent.mkdir(parents=True)
    file.touch()
    with pytest.raises(NodeError, match="is not ours: it holds") as caught:
        host.drizzle.look(host.folder / "data", _A, _CHOSEN)
    assert caught.value.kind == "refused"
    with pytest.raises(NodeError, match="is not ours"):
        host.install(_A)


def test_an_empty_prefix_and_what_a_power_cut_left_are_ours(host: Host) -> None:
    (host.folder / "opt" / "releases" / ".new-half" / "sbin").mkdir(parents=True)
    (host.folder / "opt" / ".current-17").symlink_to("releases/gone")
    host.install(_A)
    assert host.drizzle.releases.look().present == (_A,)


def test_the_first_start(host: Host) -> None:
    host.install(_A)
    outcome = host.drizzle.ensure(host.service(_A))
    assert outcome.done == (f"switch from release None to {_A}", "restart drizzled.service")
    assert host.current == _A
    assert [release for release, _ in _TRIED] == [_A]
    assert host.text("etc/users") == "stacksearch:correct horse\n"
    assert (host.folder / "etc" / "users").stat().st_mode & 0o777 == 0o640
    assert (host.folder / "data").stat().st_mode & 0o777 == 0o750
    assert "correct horse" not in f"{outcome} {host.systemd.calls} {host.service(_A)}"


def test_a_second_run_changes_nothing_and_tries_nothing(host: Host) -> None:
    host.install(_A)
    host.drizzle.ensure(host.service(_A))
    host.systemd.calls.clear()
    _TRIED.clear()
    for check in (False, True):
        outcome = host.drizzle.ensure(host.service(_A), check=check)
        assert (outcome.done, outcome.changes) == ((), ())
    assert (_TRIED, host.systemd.verbs()) == ([], [])


def test_check_mode_tells_and_leaves(host: Host) -> None:
    host.install(_A)
    outcome = host.drizzle.ensure(host.service(_A), check=True)
    assert outcome.done == (f"switch from release None to {_A}", "restart drizzled.service")
    assert {change.path.name for change in outcome.changes} == {"data", "drizzled.cnf", "drizzled.service", "users"}
    assert (host.current, _TRIED, host.systemd.verbs()) == (None, [], [])
    assert not (host.folder / "etc").exists()
    assert host.drizzle.ensure(host.service(_B), check=True).done[0] == f"switch from release None to {_B}"


def test_an_upgrade_and_the_way_back(host: Host) -> None:
    for release in (_A, _B):
        host.install(release)
        host.drizzle.ensure(host.service(release))
    assert (host.current, "# of b" in host.text("drizzled.service")) == (_B, True)
    host.drizzle.ensure(host.service(_A))
    assert (host.current, "# of a" in host.text("drizzled.service")) == (_A, True)
    assert host.drizzle.ensure(host.service(_A, keep=1)).removed == (_B,)


def test_a_new_release_that_does_not_come_up_is_put_back(host: Host) -> None:
    host.install(_A)
    host.drizzle.ensure(host.service(_A))
    host.install(_B)
    host.systemd.fails = (_B,)
    host.systemd.calls.clear()
    with pytest.raises(NodeError) as caught:
        host.drizzle.ensure(host.service(_B, options="server-id = 2\n", users={"stacksearch": "another"}))
    assert "unrecognised option '--innodb.nonsense'" in caught.value.message
    assert caught.value.hint == f"the release of before, {_A}, runs again with its own configuration"
    assert (host.current, host.systemd.active) == (_A, True)
    assert "# of a" in host.text("drizzled.service")
    assert "server-id" not in host.text("etc/drizzled.cnf")
    assert host.text("etc/users") == "stacksearch:correct horse\n"
    assert (host.folder / "etc" / "users").stat().st_mode & 0o777 == 0o640
    assert host.systemd.verbs()[-2:] == ["reset-failed", "restart"]
    assert sorted(path.name for path in (host.folder / "etc").iterdir()) == ["drizzled.cnf", "users"]
    host.systemd.fails = ()
    host.systemd.calls.clear()
    assert host.drizzle.ensure(host.service(_A)).changes == ()


def test_a_first_start_that_fails_leaves_nothing_in_force(host: Host) -> None:
    host.install(_A)
    host.systemd.fails = (_A,)
    with pytest.raises(NodeError, match="did not restart") as caught:
        host.drizzle.ensure(host.service(_A))
    assert "no Drizzle ran before" in str(caught.value.hint)
    assert (host.current, host.systemd.verbs()[-2:]) == (None, ["stop", "daemon-reload"])
    assert not (host.folder / "drizzled.service").exists()
    host.systemd.fails = ()
    host.drizzle.ensure(host.service(_A))
    assert host.current == _A


def test_both_failures_are_told(host: Host) -> None:
    host.install(_A)
    host.drizzle.ensure(host.service(_A))
    host.install(_B)
    host.systemd.fails = (_A, _B)
    with pytest.raises(NodeError, match=f"The release of before, {_A}, was put back and does not start either"):
        host.drizzle.ensure(host.service(_B))


def test_files_that_others_put_into_conf_d_are_tried_too_and_those_that_go_are_not(host: Host) -> None:
    host.install(_A)
    folder = host.folder / "etc" / "conf.d"
    folder.mkdir(parents=True)
    (folder / "site.cnf").write_text("innodb.io-capacity = 400\n")
    (folder / "gone.cnf").write_text("server-id = 4\n")
    outcome = host.drizzle.ensure(host.service(_A, absent=(folder / "gone.cnf",)))
    ((_, options),) = _TRIED
    assert (options["innodb.io-capacity"], "server-id" in options) == ("400", False)
    assert not (folder / "gone.cnf").exists()
    assert folder / "gone.cnf" in {change.path for change in outcome.changes}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"options": "server-id = 1\nserver-id = 2\n"}, "server-id stands twice"),
        ({"options": "plugin-add = regex_policy\n"}, "the plugin regex_policy needs a file"),
        ({"options": "innodb.log-file-size = 64M\n"}, "the log that is there has 1024 bytes"),
        ({"users": {"a:b": "x"}}, "no name for a database account"),
        ({"users": {"a": "x\ny"}}, "its password no line"),
        ({"chosen": Chosen(("zeromq",))}, "no plugin zeromq"),
    ],
    ids=["twice", "file", "log", "name", "password", "plugin"],
)
def test_bad_input_is_told_before_the_running_server_is_touched(host: Host, words: Any, message: str) -> None:
    host.install(_A)
    host.drizzle.ensure(host.service(_A))
    (host.folder / "data" / "ib_logfile0").write_bytes(bytes(1024))
    host.systemd.calls.clear()
    before = host.text("etc/drizzled.cnf")
    with pytest.raises(NodeError, match=message) as caught:
        host.drizzle.ensure(host.service(_A, **words))
    assert caught.value.kind == "input"
    assert (host.systemd.verbs(), host.text("etc/drizzled.cnf")) == ([], before)


def test_libraries_that_went_away_are_named(host: Host) -> None:
    host.install(_A)
    release = host.drizzle.releases.folder(_A)
    shutil.rmtree(release / "lib")
    (release / PLUGINS).mkdir(parents=True)
    Forge(release).library(f"{PLUGINS}/libauth_file_plugin.so")
    with pytest.raises(NodeError, match=r"needs libraries that .* does not have: libdrizzle\.so\.9"):
        host.drizzle.ensure(host.service(_A))
    assert host.systemd.calls == []


def test_tcmalloc_by_way_of_a_library_of_the_system_is_refused(host: Host) -> None:
    """No header of the archive shows it; the loader does."""
    host.install(_A)
    forge = Forge(host.folder / "away")
    allocator = forge.library("libtcmalloc.so.4")
    system = forge.library("libsystem.so.1", "int x;", allocator)
    release = host.drizzle.releases.folder(_A)
    Forge(release).library(f"{PLUGINS}/libauth_file_plugin.so", "int x;", system)
    loader = host.systemd.run

    def run(argv: Sequence[str], **more: Any) -> Result:
        if argv[0] == "ldd":
            more["env"] = {"LD_LIBRARY_PATH": f"{more['env']['LD_LIBRARY_PATH']}:{forge.folder}"}
        return loader(argv, **more)

    host.systemd.run = run  # type: ignore[method-assign]
    with pytest.raises(NodeError, match=r"libauth_file_plugin\.so is linked to tcmalloc") as caught:
        host.drizzle.ensure(host.service(_A))
    assert caught.value.kind == "refused"


def test_a_release_that_is_not_there_is_told(host: Host) -> None:
    with pytest.raises(NodeError, match="no sbin/drizzled"):
        host.drizzle.ensure(host.service(_A))


def _trial(tmp_path: Path, source: str, timeout: float = 60.0) -> Trial:
    """A trial of a small program that does nothing of what drizzled does."""
    Forge(tmp_path / "tree").program("sbin/drizzled", f"#include <stdio.h>\n#include <unistd.h>\n{source}")
    return Trial(Tree.find(tmp_path / "tree"), None, tmp_path, timeout, {"stacksearch": "correct horse"})


def test_a_trial_shows_the_line_of_a_program_that_ends(tmp_path: Path) -> None:
    said = "InnoDB: fine so far\\nunrecognised option '--innodb.nonsense'. Use --help\\n"
    trial = _trial(tmp_path, f'int main(void) {{ fputs("{said}", stderr); return 3; }}')
    with pytest.raises(NodeError) as caught:
        trial.run(())
    assert caught.value.message == (
        "this drizzled does not start with this configuration (it ended with 3): "
        "unrecognised option '--innodb.nonsense'. Use --help"
    )
    assert "untouched" in str(caught.value.hint)
    assert [path.name for path in tmp_path.iterdir()] == ["tree"], "its folder, with passwords, is gone"


def test_a_trial_that_hangs_is_ended(tmp_path: Path) -> None:
    source = 'int main(void) { fputs("recovering\\n", stderr); pause(); return 0; }'
    trial = _trial(tmp_path, source, timeout=1.0)
    with pytest.raises(NodeError, match=r"did not answer within 1 s in a trial start: recovering"):
        trial.run(())
    program = str(tmp_path / "tree" / "sbin" / "drizzled")
    running = [path for path in Path("/proc").glob("[0-9]*/cmdline") if program in _words(path)]
    assert running == []


def _words(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def test_what_drizzled_says_is_cut_to_what_tells() -> None:
    said = "Starting\nCouldn't load plugin library named 'nothing'.\n\nShutdown\n"
    assert telling(said) == "Couldn't load plugin library named 'nothing'."
    assert telling("one\ntwo\n") == "one\ntwo"
    assert telling("\n") == "it said nothing"
    assert drizzle_trial.ALLOCATOR == "libtcmalloc"
