"""What a real Ansible says about servers that cannot be reached or worked on becomes one clear error.

The servers are an sshd of our own on loopback that knows one key.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from stackctl.apply.faults import Fault
from stackctl.apply.run import run_playbook
from stackctl.errors import ExitCode
from stackctl.site.load import open_site

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin")
pytestmark = [pytest.mark.service, pytest.mark.skipif(SSHD is None, reason="openssh-server is not installed")]

PLAY = "- name: Servers\n  hosts: all\n  gather_facts: false\n  tasks: [{name: Look, ansible.builtin.ping: }]\n"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Server:
    """An sshd, and what is needed to log in to it."""

    port: int
    folder: Path
    pid: int

    def common(self, known: str = "known_hosts") -> str:
        return f"-o UserKnownHostsFile={self.folder / known} -o IdentitiesOnly=yes"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "id", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    port = free_port()
    address = f"[127.0.0.1]:{port}"
    (folder / "known_hosts").write_text(f"{address} {(folder / 'host.pub').read_text()}")
    (folder / "other_hosts").write_text(f"{address} {(folder / 'stranger.pub').read_text()}")
    (folder / "no_hosts").write_text("")
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nPidFile none\nUsePAM no\n"
        f"StrictModes no\nPermitRootLogin yes\nAuthorizedKeysFile {folder / 'id.pub'}\nPasswordAuthentication no\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    assert SSHD
    process = subprocess.Popen([SSHD, "-D", "-f", folder / "config"], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while socket.socket().connect_ex(("127.0.0.1", port)):
        assert time.monotonic() < end
        time.sleep(0.05)
    yield Server(port, folder, process.pid)
    process.terminate()
    process.wait()


@pytest.fixture(autouse=True, params=["mitogen", "plain"])
def strategy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every case with mitogen and without, each with a state of its own, so that no connection is kept over.

    Its path is short, as sockets lie there.
    """
    state = tempfile.mkdtemp()
    monkeypatch.setenv("XDG_STATE_HOME", state)
    if request.param == "plain":
        monkeypatch.setenv("STACKCTL_MITOGEN", "0")
    else:
        monkeypatch.delenv("STACKCTL_MITOGEN", raising=False)
    yield str(request.param)
    shutil.rmtree(state, ignore_errors=True)


def faults(tmp_path: Path, server: Server, hosts: dict[str, dict[str, object]]) -> dict[str | None, Fault]:
    """Run the play on these hosts (their Ansible variables, over those that work) and give the faults by host."""
    folder = tmp_path / "site"
    (folder / "host_vars").mkdir(parents=True)
    site: dict[str, object] = {"plugin": "stackctl", "site": "there"}
    site["hosts"] = {
        name: {"address": f"{name}.invalid", "user": variables.pop("user", "root")}
        for name, variables in hosts.items()
    }
    (folder / "stack.yml").write_text(yaml.safe_dump(site))
    (tmp_path / "play.yml").write_text(PLAY)
    works = {
        "ansible_host": "127.0.0.1",
        "ansible_port": server.port,
        "ansible_ssh_private_key_file": str(server.folder / "id"),
        "ansible_ssh_common_args": server.common(),
    }
    for name, variables in hosts.items():
        (folder / "host_vars" / f"{name}.yml").write_text(yaml.safe_dump(works | variables))
    outcome = run_playbook(open_site(folder), str(tmp_path / "play.yml"), console=False)
    return {fault.host: fault for fault in outcome.faults}


def test_ways_that_lead_nowhere(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackctl.apply.environment.CONNECT_TIMEOUT", 3)
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen()
    found = faults(
        tmp_path,
        server,
        {
            "works": {},
            "closed": {"ansible_port": free_port()},
            "silent": {"ansible_port": silent.getsockname()[1]},
            "nameless": {"ansible_host": "nosuch.invalid"},
        },
    )
    silent.close()
    assert set(found) == {"closed", "silent", "nameless"}
    assert "nothing answers SSH at 127.0.0.1" in found["closed"].message
    assert "does not answer SSH in time" in found["silent"].message
    assert "the name nosuch.invalid cannot be resolved" in found["nameless"].message
    assert {fault.code for fault in found.values()} == {ExitCode.FAILED}
    assert all(fault.hint for fault in found.values())


def test_keys_that_do_not_fit(tmp_path: Path, server: Server) -> None:
    found = faults(
        tmp_path,
        server,
        {
            "changed": {"ansible_ssh_common_args": server.common("other_hosts")},
            "unknown": {"ansible_ssh_common_args": server.common("no_hosts")},
            "denied": {"ansible_ssh_private_key_file": str(server.folder / "stranger")},
        },
    )
    assert "host key is not the one that is known" in found["changed"].message
    assert "host key is not known" in found["unknown"].message
    assert "none of our SSH keys" in found["denied"].message


def test_what_is_missing_on_the_server(tmp_path: Path, server: Server) -> None:
    asking = tmp_path / "sudo"
    asking.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    asking.chmod(0o755)
    become = {"ansible_become": True, "ansible_become_user": "nobody"}
    found = faults(
        tmp_path,
        server,
        {
            "sudoless": {**become, "ansible_become_exe": "/nonexistent/sudo"},
            "asking": {**become, "ansible_become_exe": str(asking)},
            "pythonless": {"ansible_python_interpreter": "/usr/bin/python3.99"},
        },
    )
    assert "sudo is not installed" in found["sudoless"].message
    assert "sudo wants a password" in found["asking"].message
    assert "there is no Python at /usr/bin/python3.99" in found["pythonless"].message


def test_a_connection_that_breaks_in_the_middle(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    command = f"touch {mark}; sleep 30"
    monkeypatch.setattr(
        f"{__name__}.PLAY", PLAY.replace("ansible.builtin.ping: ", f"ansible.builtin.shell: '{command}'")
    )

    def cut() -> None:
        end = time.monotonic() + 120
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.05)
        for pid in children(server.pid):
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=cut)
    thread.start()
    found = faults(tmp_path, server, {"metal-1": {}})
    thread.join()
    assert "the connection to the server broke" in found["metal-1"].message
    assert found["metal-1"].code is ExitCode.FAILED


def children(pid: int) -> list[int]:
    """The sessions of an sshd, and what they have started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found + [deeper for child in found for deeper in children(child)]
