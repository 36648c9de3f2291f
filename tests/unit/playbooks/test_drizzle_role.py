"""What the role database_drizzle writes, as Ansible renders it: Drizzle, systemd and logrotate can read it."""

import configparser
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.template import trust_as_template

from stackctl import paths
from stackctl.node import drizzle_config
from tests.lib import role_values

_ROLE = role_values.ROLES / "database_drizzle"
_SITE = """\
plugin: stackctl
site: trial
hosts:
  one: {{address: 203.0.113.11, roles: [database{queue}]}}
  two: {{address: 203.0.113.12, roles: [queue]}}
services:
  database: {{listen: "{listen}"}}
  queue: {{listen: 0.0.0.0}}
"""
_TREE = {
    "program": "sbin/drizzled",
    "base": ".",
    "plugin_directory": "lib/drizzle7",
    "library_directories": ["lib", "lib/x86_64-linux-gnu"],
    "plugins": ["auth_file", "gearman_udf", "query_log"],
}
_MEMORY = 8 << 30

Render = Callable[..., Any]


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Render:
    """The value of one of the role's variables on host one."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def render(name: str, *, listen: str = "127.0.0.1", queue: bool = True, log_size: Any = None, **more: Any) -> Any:
        file = tmp_path / "stack.yml"
        text = _SITE.format(listen=listen, queue=", queue" if queue else "")
        if not queue:
            text = text.replace("  two: {address: 203.0.113.12, roles: [queue]}\n", "")
        file.write_text(text)
        seen = role_values.variables(
            file, "one", _ROLE.name, ("database/defaults", "database/vars", "defaults", "vars")
        )
        seen |= {
            "database_engine": "drizzle",
            "__database_drizzle_means": {"memory": _MEMORY, "cpus": 4},
            "__database_drizzle_checked": {"log_size": log_size, "packages": []},
        }
        seen |= more
        if "__database_drizzle_release" not in seen:
            plugins = role_values.value(_ROLE.name, seen, "__database_drizzle_plugins")
            seen["__database_drizzle_release"] = {"tree": _TREE, "added": plugins}
        return role_values.value(_ROLE.name, seen, name)

    return render


@pytest.fixture
def files(render: Render) -> Callable[..., dict[str, str]]:
    """The files of the role, contents by path."""

    def files(**words: Any) -> dict[str, str]:
        found = {
            each["path"]: each["content"] for each in render("__database_drizzle_files", **words) if "content" in each
        }
        optional = render("__database_drizzle_optional_files", **words)
        return found | {each["path"]: each["content"] for each in optional if each["when"]}

    return files


def _options(files: Callable[..., dict[str, str]], **words: Any) -> dict[str, str]:
    """The options that drizzled reads."""
    written = {path: text for path, text in files(**words).items() if path.endswith(".cnf")}
    read = drizzle_config.read(written)
    found = {option.name: option.value for option in read}
    found["plugin-add"] = ",".join(drizzle_config.plugins(read, "plugin-add"))
    return found


def test_all_that_drizzled_is_told(files: Callable[..., dict[str, str]]) -> None:
    assert _options(files) == {
        "plugin-add": "auth_file,gearman_udf",
        "plugin-remove": "auth_all,json_server,js",
        "secure-file-priv": "/run/drizzle/files",
        "auth-file.users": "/etc/drizzle/users",
        "drizzle-protocol.bind-address": "127.0.0.1",
        "drizzle-protocol.max-connections": "1000",
        "drizzle-protocol.port": "4427",
        "innodb.buffer-pool-size": str(2 << 30),
        "innodb.flush-log-at-trx-commit": "1",
        "innodb.flush-method": "O_DIRECT",
        "innodb.log-file-size": str(256 << 20),
        "innodb.read-io-threads": "8",
        "innodb.write-io-threads": "8",
        "mysql-protocol.bind-address": "127.0.0.1",
        "mysql-protocol.max-connections": "1000",
        "mysql-protocol.port": "3306",
        "mysql-unix-socket-protocol.path": "/run/drizzle/mysql.sock",
    }


def test_the_kernels_options_come_first(files: Callable[..., dict[str, str]]) -> None:
    text = files(database_drizzle_options={"server-id": 7})["/etc/drizzle/drizzled.cnf"]
    names = [line.split(" = ")[0] for line in text.splitlines() if " = " in line]
    assert ["." in name for name in names] == sorted("." in name for name in names)
    assert "server-id" in names


def test_options_have_the_last_word(files: Callable[..., dict[str, str]]) -> None:
    given = {"innodb.flush-method": False, "innodb.read-io-threads": 4, "innodb.file-per-table": True, "server-id": 7}
    found = _options(files, database_drizzle_options=given)
    assert "innodb.flush-method" not in found
    assert (found["innodb.read-io-threads"], found["innodb.write-io-threads"]) == ("4", "8")
    assert (found["innodb.file-per-table"], found["server-id"]) == ("true", "7")


@pytest.mark.parametrize(
    ("memory", "percent", "pool", "log"),
    [(1 << 30, 25, 256 << 20, 32 << 20), (600 << 20, 5, 128 << 20, 32 << 20), (64 << 30, 60, 614 << 26, 512 << 20)],
)
def test_innodb_is_measured_by_the_machine(
    files: Callable[..., dict[str, str]], memory: int, percent: int, pool: int, log: int
) -> None:
    means = {"memory": memory, "cpus": 1}
    found = _options(files, __database_drizzle_means=means, database_drizzle_buffer_pool_percent=percent)
    assert (found["innodb.buffer-pool-size"], found["innodb.log-file-size"]) == (str(pool), str(log))


def test_a_log_that_is_there_keeps_its_size(files: Callable[..., dict[str, str]]) -> None:
    """This InnoDB does not start on a log of another size than it is told."""
    found = _options(files, log_size=64 << 20, database_drizzle_buffer_pool_percent=80)
    assert found["innodb.log-file-size"] == str(64 << 20)


def test_without_a_queue_there_is_no_gearman(files: Callable[..., dict[str, str]]) -> None:
    assert _options(files, queue=False)["plugin-add"] == "auth_file"
    assert "/etc/drizzle/conf.d/gearman_udf.cnf" not in files(queue=False)
    assert "--gearman" not in files(queue=False)["/etc/systemd/system/drizzled.service"]


def test_without_the_archives_plugin_there_is_no_gearman(files: Callable[..., dict[str, str]]) -> None:
    release = {"tree": _TREE, "added": ["auth_file"]}
    assert _options(files, __database_drizzle_release=release)["plugin-add"] == "auth_file"
    assert "--gearman" not in files(__database_drizzle_release=release)["/etc/systemd/system/drizzled.service"]


def test_a_server_learns_of_the_sites_gearmands(files: Callable[..., dict[str, str]]) -> None:
    unit = files()["/etc/systemd/system/drizzled.service"]
    assert "--users=/etc/drizzle/users --gearman=127.0.0.1:4730,203.0.113.12:4730\n" in unit


def test_plugins_of_the_site(files: Callable[..., dict[str, str]]) -> None:
    found = _options(files, database_drizzle_plugins=["logging-stats", "js"], database_drizzle_query_log=True)
    assert found["plugin-add"] == "auth_file,logging_stats,js,query_log"
    assert found["plugin-remove"] == "auth_all,json_server"
    assert (found["query-log.file-enabled"], found["query-log.file"]) == ("true", "/var/log/drizzle/queries.log")


def test_databases_and_users_that_come_in_from_elsewhere(render: Render) -> None:
    assert render("database_data_directory") == "/srv/database/drizzle"
    assert render("database_data_directory", database_engine="mariadb") == "/srv/database/mariadb"
    assert render("__database_drizzle_address", listen="0.0.0.0") == "127.0.0.1"
    assert render("__database_drizzle_listens", listen="0.0.0.0") == [
        {"address": "0.0.0.0", "port": 3306},
        {"address": "0.0.0.0", "port": 4427},
    ]


def _unit(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text.replace(" \\\n", " "))
    return parser


def test_the_unit(files: Callable[..., dict[str, str]]) -> None:
    unit = _unit(files()["/etc/systemd/system/drizzled.service"])
    service = unit["Service"]
    assert service["ExecStart"].split() == [
        "/opt/drizzle/current/sbin/drizzled",
        "--config-dir=/etc/drizzle",
        "--basedir=/opt/drizzle/current",
        "--plugin-dir=/opt/drizzle/current/lib/drizzle7",
        "--datadir=/srv/database/drizzle",
        "--pid-file=/run/drizzle/drizzled.pid",
    ]
    assert service["Environment"] == (
        "LD_LIBRARY_PATH=/opt/drizzle/current/lib:/opt/drizzle/current/lib/x86_64-linux-gnu"
    )
    assert (service["User"], service["Type"], service["Restart"]) == ("drizzle", "exec", "on-failure")
    assert (service["SendSIGKILL"], service["KillMode"]) == ("no", "mixed")
    assert service["ReadWritePaths"] == "/srv/database/drizzle"
    assert service["CapabilityBoundingSet"] == ""
    assert unit["Unit"]["RequiresMountsFor"] == "/srv/database/drizzle"
    assert "LogsDirectory" not in service
    assert "MemoryDenyWriteExecute" in service


def test_the_unit_of_a_prefix_within_the_archive_that_runs_v8_and_writes_a_log(
    files: Callable[..., dict[str, str]],
) -> None:
    tree = {**_TREE, "base": "usr/local", "program": "usr/local/sbin/drizzled"}
    release = {"tree": tree, "added": ["auth_file", "js"]}
    text = files(__database_drizzle_release=release, database_drizzle_query_log=True, listen="10.0.0.5")
    unit = _unit(text["/etc/systemd/system/drizzled.service"])
    assert "--basedir=/opt/drizzle/current/usr/local " in unit["Service"]["ExecStart"]
    assert "MemoryDenyWriteExecute" not in unit["Service"]
    assert unit["Service"]["LogsDirectory"] == "drizzle"
    assert unit["Unit"]["Wants"] == "network-online.target"
    assert unit["Service"]["ExecStartPost"].endswith("ready 10.0.0.5 3306")


@pytest.mark.parametrize(
    "words", [{}, {"database_drizzle_query_log": True, "listen": "10.0.0.5"}], ids=["plain", "more"]
)
def test_systemd_takes_the_unit(files: Callable[..., dict[str, str]], tmp_path: Path, words: Any) -> None:
    file = tmp_path / "drizzled.service"
    file.write_text(files(**words)["/etc/systemd/system/drizzled.service"])
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(file)],
        capture_output=True, text=True, check=False, env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if "drizzled" in line]
    assert [line for line in said if "is not executable" not in line and "No such file" not in line] == []


def test_what_the_unit_runs_is_the_tested_file(files: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    text = files()["/usr/local/lib/stackctl/drizzle_wire.py"]
    assert text == (paths.package() / "node" / "drizzle_wire.py").read_text()
    program = tmp_path / "drizzle_wire.py"
    program.write_text(text)
    free = subprocess.run(["/usr/bin/python3", "-sP", str(program), "free", str(tmp_path)], check=False, timeout=600)
    assert free.returncode == 0


@pytest.mark.skipif(shutil.which("logrotate", path="/usr/sbin:/usr/bin") is None, reason="logrotate is not installed")
def test_logrotate_takes_its_file(render: Render, tmp_path: Path) -> None:
    text = render("__it", __it=trust_as_template("{{ lookup('ansible.builtin.template', 'logrotate.j2') }}"))
    assert text.splitlines()[2:4] == ["/var/log/drizzle/queries.log {", "  daily"]
    log = tmp_path / "queries.log"
    log.write_text("# start_ts=1\n")
    file = tmp_path / "drizzle"
    file.write_text(
        text.replace("/var/log/drizzle/queries.log", str(log)).replace("su drizzle drizzle", "su root root")
    )
    file.chmod(0o644)
    argv = ["/usr/sbin/logrotate", "--debug", "--state", str(tmp_path / "state"), str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr
    assert f"rotating pattern: {log}  after 1 days (7 rotations)" in done.stderr
