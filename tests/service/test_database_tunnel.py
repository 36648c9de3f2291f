"""A real SSH server leads to a real database's own port, and nothing of the way is left afterwards."""

import getpass
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackctl.database.session import Server, Session, Wire
from stackctl.database.tunnel import tunnel
from stackctl.errors import StackctlError
from stackctl.site.secrets import Secret, Secrets
from tests import mariadb
from tests.lib.waiting import wait_for
from tests.mariadb import Mariadb
from tests.service.conftest import TwoEnds
from tests.stack import Process, free_port, listens

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(SSHD is None, reason="needs openssh-server"),
    pytest.mark.skipif(getpass.getuser() != "root", reason="sshd lets in whom it likes as root only"),
]


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """An SSH server on loopback, as the Ansible variables by which it is reached."""
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "client", "other"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(argv, check=True)
    port = free_port()
    (folder / "authorized").write_bytes((folder / "client.pub").read_bytes())
    (folder / "known").write_text(f"[127.0.0.1]:{port},[localhost]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "others").write_text(f"[127.0.0.1]:{port} {(folder / 'other.pub').read_text()}")
    (folder / "config").write_text(
        textwrap.dedent(f"""\
            ListenAddress 127.0.0.1
            Port {port}
            HostKey {folder / "host"}
            AuthorizedKeysFile {folder / "authorized"}
            PermitRootLogin prohibit-password
            PasswordAuthentication no
            StrictModes no
            UsePAM no
            PidFile none
            """)
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    process = Process([str(SSHD), "-D", "-e", "-f", str(folder / "config")], folder / "log").start()
    wait_for(lambda: listens(port), "sshd")
    yield {
        "ansible_host": "127.0.0.1",
        "ansible_port": port,
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(folder / "client"),
        "ansible_ssh_common_args": f"-F /dev/null -o UserKnownHostsFile={folder / 'known'} -o IdentitiesOnly=yes",
    }
    process.stop()


@pytest.fixture
def server(mariadbs: tuple[Mariadb, Mariadb]) -> Mariadb:
    one = mariadbs[0]
    if one.process is None or not one.process.alive():
        one.start()
    one.give("tunnelled", make="tunnelled" not in {row[0] for row in one.ask("SHOW DATABASES")})
    return one


def children() -> set[int]:
    """The processes that this one has started and that live."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.add(int(entry.name))
    return found


def test_the_way_there_and_its_end(sshd: dict[str, Any], server: Mariadb) -> None:
    before = children()
    with tunnel("metal-1", sshd, "127.0.0.1", server.port) as path:
        socket = Path(path)
        assert socket.is_socket()
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        assert socket.stat().st_mode & 0o077 == 0
        assert len(children() - before) == 1
        there = Server("mariadb", mariadb.ACCOUNT, Secret(mariadb.PASSWORD), "tunnelled", socket=path)
        with Session(there, Wire) as session:
            assert session.texts("SELECT @@port, CURRENT_USER()") == [
                (str(server.port), f"{mariadb.ACCOUNT}@127.0.0.1")
            ]
    assert children() == before
    assert not socket.parent.exists()


def test_the_way_ends_with_a_holder_that_is_killed(sshd: dict[str, Any], server: Mariadb, tmp_path: Path) -> None:
    """kill -9 of the command leaves no ssh behind."""
    code = f"""
import os
from stackctl.database.tunnel import tunnel
with tunnel("metal-1", {sshd!r}, "127.0.0.1", {server.port}):
    print("\\n".join(entry for entry in os.listdir("/proc") if entry.isdigit() and
          open(f"/proc/{{entry}}/stat").read().rpartition(")")[2].split()[1] == str(os.getpid())), flush=True)
    import time
    time.sleep(3600)
"""
    holder = Process([sys.executable, "-u", "-c", code], tmp_path / "log").start()

    def held() -> str:
        assert holder.alive(), holder.log.read_text()
        return holder.log.read_text().strip()

    ssh = int(wait_for(held, "the way", timeout=mariadb.PATIENCE).split()[0])
    assert Path(f"/proc/{ssh}").exists()
    holder.send(signal.SIGKILL)
    holder.wait()
    wait_for(lambda: not Path(f"/proc/{ssh}").exists(), "the end of ssh", timeout=mariadb.PATIENCE)


def test_nothing_answers_at_that_port(sshd: dict[str, Any]) -> None:
    before = children()
    port = free_port()
    nothing = f"metal-1: nothing answers at its port {port}"
    with pytest.raises(StackctlError, match=nothing), tunnel("metal-1", sshd, "127.0.0.1", port):
        raise AssertionError("unreachable")
    assert children() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ansible_ssh_private_key_file": "other"}, "Permission denied"),
        ({"ansible_ssh_common_args": "others"}, "Host key verification failed"),
        ({"ansible_port": 1}, "Connection refused"),
        ({"ansible_host": "metal-1.lab-is-down.invalid"}, "the lab machine is not up"),
    ],
)
def test_no_way_there(sshd: dict[str, Any], change: dict[str, Any], said: str) -> None:
    folder = Path(sshd["ansible_ssh_private_key_file"]).parent
    variables = {**sshd, **change}
    if change.get("ansible_ssh_private_key_file"):
        variables["ansible_ssh_private_key_file"] = str(folder / "other")
    if change.get("ansible_ssh_common_args"):
        variables["ansible_ssh_common_args"] = f"-F /dev/null -o UserKnownHostsFile={folder / 'others'}"
    before = children()
    with pytest.raises(StackctlError, match=said), tunnel("metal-1", variables, "127.0.0.1", 3306):
        raise AssertionError("unreachable")
    assert children() == before


def test_a_site_moves_its_database_to_another_host(
    sshd: dict[str, Any], two_ends: TwoEnds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the site alone: both hosts through SSH, the account and its password from the site's secrets."""
    for name in ("STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    site = tmp_path / "site"
    (site / "host_vars").mkdir(parents=True)
    (site / "group_vars").mkdir()
    (site / "stack.yml").write_text(
        "plugin: stackctl\nsite: trial\nhosts:\n"
        f"  one: {{address: 127.0.0.1, port: {sshd['ansible_port']}, roles: [database]}}\n"
        f"  two: {{address: localhost, port: {sshd['ansible_port']}, roles: [database]}}\n"
    )
    for name, end in (("one", two_ends.source), ("two", two_ends.target)):
        (site / "host_vars" / f"{name}.yml").write_text(f"database_port: {end.port}\n")
    (site / "group_vars" / "all.yml").write_text(
        f"ansible_ssh_private_key_file: {sshd['ansible_ssh_private_key_file']}\n"
        f"ansible_ssh_common_args: {sshd['ansible_ssh_common_args']}\n"
        f"database_accounts: [{{name: mover, database: {two_ends.name}}}]\n"
    )
    password = Secrets(site).get("database_mover_password").reveal()
    for end in (two_ends.source, two_ends.target):
        end.run(
            f"CREATE USER mover@'127.0.0.1' IDENTIFIED BY '{password}'",
            f"GRANT ALL ON {two_ends.name}.* TO mover@'127.0.0.1'",
        )
    two_ends.make("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    argv = [sys.executable, "-c", "import sys; from stackctl.cli import main; main(sys.argv[1:])", "db", "move"]
    argv += ["-i", str(site), "--to", "mariadb", "--host", "one", "--target-host", "two"]
    before = children()
    done = subprocess.run([*argv, "--yes"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{two_ends.name} on mariadb at one:{two_ends.source.port}" in done.stdout
    assert two_ends.there("SELECT id FROM t ORDER BY id") == [(1,), (2,)]
    assert children() == before
    assert password not in done.stdout + done.stderr
    for end in (two_ends.source, two_ends.target):
        end.run("DROP USER mover@'127.0.0.1'")
