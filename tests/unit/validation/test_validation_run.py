"""The suites for real, in their own pytest, against this machine with stand-ins for systemd, ss and memcached."""

import os
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackctl.errors import ExitCode, InputError, StackctlError
from stackctl.validation import roles, run
from stackctl.validation.inventory import Target, parse
from stackctl.validation.results import Outcome, Report

UNIT = "Id={name}\nLoadState=loaded\nActiveState={active}\nSubState=x\nUnitFileState=enabled\nResult=success\n"


class Memcached(socketserver.StreamRequestHandler):
    """As much of memcached as the check needs."""

    def handle(self) -> None:
        values: dict[bytes, bytes] = {}
        for line in self.rfile:
            verb, key, *rest = line.split()
            if verb == b"set":
                values[key] = self.rfile.read(int(rest[2]) + 2)
                self.wfile.write(b"STORED\r\n")
            elif verb == b"get":
                value = values.get(key)
                found = b"" if value is None else b"VALUE %b 0 %d\r\n%b" % (key, len(value) - 2, value)
                self.wfile.write(found + b"END\r\n")
            else:
                values.pop(key)
                self.wfile.write(b"DELETED\r\n")


class Machine:
    """This machine as a site of one host, and what its systemd and ss are to say."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.variables: dict[str, Any] = {
            "ansible_connection": "local",
            "ansible_python_interpreter": "/usr/bin/python3",
            "cache_listen": "127.0.0.1",
            "cache_port": port,
        }
        self.more_hosts: dict[str, dict[str, Any]] = {}
        self.says(active="active", sockets=[f"tcp LISTEN 0 5 127.0.0.1:{port} 0.0.0.0:* {_users('memcached')}"])

    def says(self, *, active: str, sockets: list[str]) -> None:
        unit = UNIT.format(name="memcached.service", active=active)
        answers = f"list-dependencies) echo memcached.service ;; show) cat <<'END'\n{unit}END\n"
        self._program("systemctl", f"case $1 in {answers}esac")
        self._program("ss", "cat <<'END'\n" + "".join(f"{line}\n" for line in sockets) + "END")
        self._program("journalctl", "echo out of memory")

    def validate(self, **selection: Any) -> Report:
        return run.validate(self.folder / "stack.yml", "trial", **selection)

    def targets(self, source: Path) -> tuple[Target, ...]:
        """In place of Ansible's own inventory, which takes a second to start."""
        hosts = {"here": self.variables} | self.more_hosts
        return parse({"_meta": {"hostvars": hosts}, "cache": {"hosts": list(hosts)}})

    def _program(self, name: str, body: str) -> None:
        file = self.folder / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)


def _users(name: str) -> str:
    return f'users:(("{name}",pid=1,fd=1))'


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Memcached) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        machine = Machine(tmp_path, server.server_address[1])
        monkeypatch.setattr(run.inventory, "read", machine.targets)
        yield machine
        server.shutdown()


def outcomes(report: Report) -> dict[str, Outcome]:
    return {f"{check.role}.{check.name}": check.outcome for check in report.checks}


def test_a_machine_in_order_is_green(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    report = machine.validate(suites=["cache", "listeners", "reboot"])
    assert [check for check in report.checks if check.outcome is not Outcome.PASSED] == []
    assert report.exit_code is ExitCode.DONE
    assert {check.role for check in report.checks} == {"cache", "listeners", "reboot"}
    assert {"memcached runs", "A value is written, read and deleted"} <= {check.title for check in report.checks}
    told = capsys.readouterr()
    assert told.out == ""
    assert "✓ here cache: 5 checks" in told.err


def test_a_stopped_service_is_one_fault_and_what_hangs_on_it_is_not_shown(machine: Machine) -> None:
    machine.says(active="failed", sockets=[])
    report = machine.validate(suites=["cache"])
    assert outcomes(report) == {
        "cache.runs": Outcome.FAILED,
        "cache.listens": Outcome.NOT_SHOWN,
        "cache.listens_nowhere_else": Outcome.NOT_SHOWN,
        "cache.value": Outcome.NOT_SHOWN,
        "cache.udp": Outcome.NOT_SHOWN,
    }
    assert report.exit_code is ExitCode.FAULT
    assert report.faults[0].detail == "memcached.service is failed (x); it said: out of memory"
    hidden = next(check for check in report.checks if check.name == "value")
    assert hidden.detail == "memcached.service does not run"


def test_a_socket_beyond_the_site_is_a_fault(machine: Machine) -> None:
    port = machine.variables["cache_port"]
    machine.says(active="active", sockets=[f"tcp LISTEN 0 5 0.0.0.0:{port} 0.0.0.0:* {_users('memcached')}"])
    report = machine.validate(suites=["cache", "listeners"])
    assert {check.name for check in report.faults} == {"listens", "listens_nowhere_else", "nothing_beyond_the_site"}


def test_a_selection_by_keyword_asks_nothing_of_the_other_suites(machine: Machine) -> None:
    report = machine.validate(keyword="value and not udp")
    assert outcomes(report) == {"cache.value": Outcome.PASSED}
    assert report.exit_code is ExitCode.DONE


def test_a_service_that_is_not_what_it_should_be_fails_with_its_words(machine: Machine) -> None:
    machine.variables["cache_port"] = 1
    report = machine.validate(suites=["cache"], keyword="value")
    assert [check.detail for check in report.faults] == ["no connection to 127.0.0.1 port 1: Connection refused"]


def test_an_unreachable_host_does_not_hide_the_others(machine: Machine) -> None:
    gone = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_user": "root"}
    machine.more_hosts["gone"] = machine.variables | gone | {"ansible_connection": "ssh"}
    report = machine.validate(suites=["cache"])
    assert {check.host for check in report.checks} == {"here"}
    assert list(report.unreachable) == ["gone"]
    assert "gone: cannot be reached by SSH" in report.unreachable["gone"]
    assert "Connection refused" in report.unreachable["gone"]
    assert report.exit_code is ExitCode.FAILED


def test_a_host_without_python_is_unreachable(machine: Machine) -> None:
    machine.variables["ansible_python_interpreter"] = "/usr/bin/no-python"
    assert "Python does not start there" in machine.validate(suites=["cache"]).unreachable["here"]


def test_a_check_that_cannot_be_made_is_a_fault(machine: Machine) -> None:
    machine.says(active="active", sockets=["what is this?"])
    report = machine.validate(suites=["cache"])
    assert {check.outcome for check in report.checks} == {Outcome.FAILED}
    assert all("the check could not be made" in check.detail for check in report.checks)


def test_the_operators_own_pytest_settings_do_not_reach_the_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.folder / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (machine.folder / "json.py").write_text("raise SystemExit('shadowed')\n")
    monkeypatch.chdir(machine.folder)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option-either")
    assert machine.validate(suites=["cache"]).exit_code is ExitCode.DONE


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        ({"suites": ["cash"]}, "there is no suite for the role cash"),
        ({"suites": ["queue"]}, "there is nothing to check"),
        ({"hosts": ["there"]}, "no host or group is called there"),
        ({"keyword": "no_such_check"}, "no check matches -k 'no_such_check'"),
        ({"keyword": "and and"}, "pytest does not understand the selection"),
    ],
)
def test_a_selection_of_nothing_is_the_operators_error(
    machine: Machine, selection: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        machine.validate(**selection)


def test_a_suite_that_cannot_be_loaded_is_an_error(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "test_cache.py"
    broken.write_text("import no_such_module\n")
    monkeypatch.setattr(roles.Suite, "file", broken)
    with pytest.raises(StackctlError, match=r"a suite cannot be loaded(.|\n)*no_such_module"):
        machine.validate(suites=["cache"])


def test_a_suite_without_checks_is_a_fault(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "test_cache.py"
    empty.write_text("import pytest\n\ndef test_x():\n    pytest.skip('no reason')\n")
    monkeypatch.setattr(roles.Suite, "file", empty)
    report = machine.validate(suites=["cache"])
    assert outcomes(report) == {"cache.x": Outcome.NOT_SHOWN, "cache.suite": Outcome.FAILED}
    assert report.exit_code is ExitCode.FAULT
