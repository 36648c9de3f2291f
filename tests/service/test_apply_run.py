"""Real runs of Ansible on this machine, without SSH: progress, records, Ctrl-C, kill -9, two at once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl.apply.lock import ProcessId
from stackctl.apply.playbook import sweep
from stackctl.apply.records import Run, read_runs, read_tasks
from stackctl.apply.run import RunError, run_playbook
from stackctl.errors import ExitCode, StackctlError
from stackctl.site.load import OpenSite, open_site
from tests.lib.waiting import wait_for

PLAY = """
- name: Servers
  hosts: all
  gather_facts: false
  tasks:
    - {name: Look, ansible.builtin.ping: }
    - {name: Secret, ansible.builtin.command: echo correct-horse, no_log: true, changed_when: false}
    - {name: Mark, ansible.builtin.copy: {content: x, dest: "{{ mark }}", mode: "0600"}}
    - {name: Wait, ansible.builtin.wait_for: {path: "{{ mark }}.go", timeout: 300}}
    - {name: Break, ansible.builtin.command: "/bin/sh -c 'echo told >&2; exit 3'", when: breaks | default(false)}
"""
RUN = """
import sys
from pathlib import Path
from stackctl.apply.run import run_playbook
from stackctl.site.load import open_site
try:
    run_playbook(open_site(Path(sys.argv[1])), sys.argv[2], extra_vars={"mark": sys.argv[3]})
except KeyboardInterrupt:
    sys.exit(130)
"""


pytestmark = pytest.mark.service


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where run records go: a folder that ends with the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "stackctl"


@pytest.fixture
def local_site(tmp_path: Path) -> Path:
    """The folder of a site whose only server is this machine, without SSH."""
    folder = tmp_path / "site"
    (folder / "group_vars").mkdir(parents=True)
    (folder / "stack.yml").write_text("plugin: stackctl\nsite: here\nhosts:\n  metal-1: {address: 127.0.0.1}\n")
    (folder / "group_vars" / "all.yml").write_text("ansible_connection: local\n")
    return folder


@pytest.fixture
def site(local_site: Path) -> OpenSite:
    return open_site(local_site)


@pytest.fixture
def play(tmp_path: Path) -> str:
    path = tmp_path / "play.yml"
    path.write_text(PLAY)
    return str(path)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What the play writes; it goes on when the same name with .go is there."""
    return tmp_path / "mark"


@pytest.fixture
def under_way(local_site: Path, play: str, mark: Path) -> Iterator[subprocess.Popen[str]]:
    """A run that waits for ``mark.go``."""
    argv = [sys.executable, "-c", RUN, str(local_site), play, str(mark)]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    wait_for(
        lambda: any(task.task == "Wait" for run in read_runs("here") for task in read_tasks(run)),
        "the task",
        timeout=120,
    )
    yield process
    if process.poll() is None:
        process.kill()
    process.wait()


def last() -> Run:
    return read_runs("here")[0]


def test_a_run_tells_what_it_did(
    site: OpenSite, play: str, mark: Path, state: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path(f"{mark}.go").touch()
    outcome = run_playbook(site, play, extra_vars={"mark": str(mark), "breaks": True})
    assert [(change.task, change.host) for change in outcome.totals.changes] == [("Mark", "metal-1")]
    assert [fault.message for fault in outcome.faults] == ["non-zero return code\n  told"]
    assert outcome.code is ExitCode.FAILED
    with pytest.raises(RunError, match="told"):
        outcome.check()
    assert (last().status, last().id) == ("failed", outcome.run_id)
    assert [task.task for task in read_tasks(last())] == ["Look", "Secret", "Mark", "Wait", "Break"]
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "▸ Servers" in shown.err
    assert "PLAY" not in shown.err
    everything = b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())
    assert b"correct-horse" not in everything
    assert "correct-horse" not in shown.err


def test_with_v_ansible_speaks_and_check_mode_changes_nothing(
    site: OpenSite, play: str, mark: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKCTL_MITOGEN", "0")
    outcome = run_playbook(site, play, extra_vars={"mark": str(mark)}, check=True, verbosity=1)
    assert outcome.changed
    assert not mark.exists()
    assert "TASK [Look]" in capfd.readouterr().err


def test_ctrl_c_ends_ansible_and_the_next_run_goes_on(
    under_way: subprocess.Popen[str], site: OpenSite, play: str, mark: Path
) -> None:
    worker = last().worker
    assert worker is not None
    assert worker.alive()
    under_way.send_signal(signal.SIGINT)
    _, said = under_way.communicate(timeout=120)
    assert under_way.returncode == ExitCode.INTERRUPTED
    assert "stopping" in said
    assert not worker.alive()
    first = last()
    assert first.status == "interrupted"
    assert [(task.task, task.outcome) for task in read_tasks(first)][-1] == ("Wait", None)
    Path(f"{mark}.go").touch()
    outcome = run_playbook(site, play, extra_vars={"mark": str(mark)}, console=False)
    assert not outcome.faults
    assert not outcome.changed
    assert (last().status, last().resumed_from) == ("done", first.id)


def test_kill_9_reads_as_died_and_its_ansible_is_ended_first(
    under_way: subprocess.Popen[str], site: OpenSite, play: str, mark: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = last().worker
    assert worker is not None
    under_way.kill()
    under_way.wait()
    died = last()
    assert died.status == "died"
    assert [(task.task, task.outcome) for task in read_tasks(died)][-1] == ("Wait", None)
    Path(f"{mark}.go").touch()
    outcome = run_playbook(site, play, extra_vars={"mark": str(mark)}, console=False)
    assert not outcome.faults
    assert not worker.alive()
    assert last().resumed_from == died.id


def test_two_runs_at_once_are_refused(
    under_way: subprocess.Popen[str], site: OpenSite, play: str, mark: Path
) -> None:
    with pytest.raises(StackctlError, match=f"process {under_way.pid}"):
        run_playbook(site, play, extra_vars={"mark": str(mark)}, console=False)
    Path(f"{mark}.go").touch()
    under_way.communicate(timeout=120)
    assert under_way.returncode == 0
    assert [run.status for run in read_runs("here")] == ["done"]


def test_a_file_of_the_site_that_ansible_cannot_read_is_wrong_input(site: OpenSite, play: str) -> None:
    (site.directory / "group_vars" / "all.yml").write_text("ansible_connection: local\nb: [1, 2\n")
    outcome = run_playbook(site, play, extra_vars={"mark": "/nonexistent"}, console=False)
    assert outcome.code is ExitCode.USAGE
    assert str(site.directory / "group_vars" / "all.yml") in outcome.faults[0].message


def test_mitogen_that_does_not_work_is_left_out(
    site: OpenSite,
    play: str,
    mark: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    broken = tmp_path / "broken" / "plugins" / "strategy"
    broken.mkdir(parents=True)
    (broken / "mitogen_linear.py").write_text("raise ImportError('mitogen is too old for this Ansible')\n")
    monkeypatch.setattr("stackctl.apply.environment.mitogen_strategies", lambda: broken)
    monkeypatch.setattr("stackctl.apply.run.mitogen_strategies", lambda: broken)
    Path(f"{mark}.go").touch()
    outcome = run_playbook(site, play, extra_vars={"mark": str(mark)})
    assert not outcome.faults
    assert mark.exists()
    assert "going on without it" in capfd.readouterr().err


def test_work_folders_of_dead_processes_are_swept(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    for name in (f"{process.pid}-a", f"{os.getpid()}-b", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "extravars").write_text(json.dumps({}))
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{os.getpid()}-b", "other"}
    assert ProcessId.mine().alive()


@pytest.mark.parametrize("word", ["{}/env/extravars", "@{}/env/extravars", "{}"])
def test_what_a_run_left_at_work_ends_with_its_folder(
    tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it thinks of signals; a process of a folder beside it goes on."""
    monkeypatch.setattr("stackctl.apply.leftovers._GRACE", 0.5)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
    dead = subprocess.Popen(["true"])
    dead.wait()
    folder = tmp_path / f"{dead.pid}-a"
    folder.mkdir()
    started = [
        subprocess.Popen(
            [sys.executable, "-c", deaf, named.format(folder)], start_new_session=True, stdout=subprocess.PIPE
        )
        for named in (word, "{}b/extravars")
    ]
    try:
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        sweep(tmp_path)
        assert started[0].wait(timeout=60) == -signal.SIGKILL
        assert started[1].poll() is None
        assert not folder.exists()
    finally:
        for process in started:
            process.kill()
            process.wait()
