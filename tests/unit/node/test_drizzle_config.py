"""Drizzle's configuration: read as drizzled reads it, held against what it cannot bear, moved for a trial."""

from pathlib import Path

import pytest

from stackctl.node import drizzle_config
from stackctl.node.drizzle_config import Places
from stackctl.node.errors import NodeError

_MAIN = "/etc/drizzle/drizzled.cnf"
_PLACES = Places(Path("/var/tmp/t"), Path("/var/tmp/t/users"), 40001, 40002)


def _read(text: str, **others: str) -> dict[str, str]:
    files = {_MAIN: text, **{f"/etc/drizzle/conf.d/{name}.cnf": content for name, content in others.items()}}
    return {option.name: option.value for option in drizzle_config.read(files)}


def test_comments_sections_and_switches() -> None:
    text = (
        "# all of it\nserver-id=7 # ours\n\nlog-warnings\n[innodb]\nio-capacity = 200\n[query-log.]\nfile-enabled\n"
    )
    assert _read(text) == {
        "server-id": "7",
        "log-warnings": "true",
        "innodb.io-capacity": "200",
        "query-log.file-enabled": "true",
    }


def test_an_option_that_stands_twice_is_told_with_both_files() -> None:
    """drizzled dies of it without a word of which option it was."""
    with pytest.raises(
        NodeError, match=r"innodb\.io-capacity stands twice: .*drizzled\.cnf and .*tuning\.cnf"
    ) as caught:
        _read("innodb.io-capacity=200\n", tuning="[innodb]\nio-capacity=400\n")
    assert caught.value.kind == "input"
    with pytest.raises(NodeError, match=r"stands twice: /etc/drizzle/drizzled\.cnf$"):
        _read("server-id=1\nserver-id=2\n")


def test_plugins_may_be_added_in_many_places() -> None:
    files = {"a": "plugin-add = auth_file,query-log\nplugin-remove=auth_all", "b": "plugin-add=gearman_udf"}
    options = drizzle_config.read(files)
    assert drizzle_config.plugins(options, "plugin-add") == ("auth_file", "query_log", "gearman_udf")
    assert drizzle_config.plugins(options, "plugin-remove") == ("auth_all",)


def test_an_empty_value_is_told() -> None:
    with pytest.raises(NodeError, match="tmpdir has no value"):
        _read("tmpdir =\n")


def test_a_plugin_that_needs_a_file_gets_it_or_is_told(tmp_path: Path) -> None:
    users = tmp_path / "users"
    text = f"plugin-add=auth_file\nauth-file.users={users}\n"
    options = drizzle_config.read({_MAIN: text})
    with pytest.raises(NodeError, match=f"the plugin auth_file needs the file {users}, which is not on the server"):
        drizzle_config.check_files(options)
    drizzle_config.check_files(options, [users])
    users.touch()
    drizzle_config.check_files(options)
    with pytest.raises(NodeError, match="the plugin regex_policy needs a file, and no option names it") as caught:
        drizzle_config.check_files(drizzle_config.read({_MAIN: "plugin-add=regex_policy"}))
    assert caught.value.hint == "give regex-policy.policy in database_drizzle_options"


@pytest.mark.parametrize("value", ["33554432", "32M", "32m", "32768k"])
def test_a_log_of_the_same_size_is_fine(value: str) -> None:
    drizzle_config.check_log(drizzle_config.read({_MAIN: f"innodb.log-file-size={value}"}), 32 << 20)


def test_a_log_of_another_size_is_told_before_innodb_refuses_to_start() -> None:
    options = drizzle_config.read({_MAIN: "innodb.log-file-size=64M"})
    drizzle_config.check_log(options, None)
    with pytest.raises(NodeError, match="is 64M, and the log that is there has 33554432 bytes"):
        drizzle_config.check_log(options, 32 << 20)


def test_a_trial_touches_neither_ports_nor_data_nor_logs_of_the_server() -> None:
    text = """
innodb.buffer-pool-size=8589934592
innodb.log-file-size=536870912
innodb.io-capacity=200
innodb.data-file-path=/dev/sdb1:newraw
innodb.data-home-dir=/srv/database/drizzle
innodb.log-group-home-dir=/srv/database/log
mysql-protocol.port=3306
mysql-protocol.bind-address=10.0.0.5
auth-file.users=/etc/drizzle/users
query-log.file=/var/log/drizzle/queries.log
slave.config-file=/etc/drizzle/slave.cfg
server-id=7
plugin-add=auth_file
"""
    lines = drizzle_config.for_trial(drizzle_config.read({_MAIN: text}), _PLACES).splitlines()
    tried = dict(line.split(" = ") for line in lines)
    assert tried == {
        "plugin-add": "auth_file",
        "server-id": "7",
        "auth-file.users": "/var/tmp/t/users",
        "drizzle-protocol.bind-address": "127.0.0.1",
        "drizzle-protocol.port": "40002",
        "innodb.buffer-pool-size": "33554432",
        "innodb.data-home-dir": "/var/tmp/t",
        "innodb.io-capacity": "200",
        "innodb.log-file-size": "4194304",
        "innodb.log-group-home-dir": "/var/tmp/t",
        "mysql-protocol.bind-address": "127.0.0.1",
        "mysql-protocol.port": "40001",
        "mysql-unix-socket-protocol.path": "/var/tmp/t/mysql.sock",
        "query-log.file": "/var/tmp/t/queries.log",
        "slave.config-file": "/etc/drizzle/slave.cfg",
    }
    assert len(lines) == len(tried)
    dotted = ["." in line.split(" = ")[0] for line in lines]
    assert dotted == sorted(dotted), "the kernel's options come first"
