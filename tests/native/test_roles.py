"""The roles on a server: who listens where, what a second run finds, what a broken server is told."""

import json
import re

from stackctl import paths
from stackctl.apply.environment import ansible_environment
from stackctl.process import SystemRunner
from stackctl.site.secrets import Secrets
from tests.lib.applied import Server, counts

_SERVICES = ("database.yml", "queue.yml", "cache.yml")


def _listeners(stack: Server) -> dict[str, set[str]]:
    """Addresses with ports, by the name of the process that listens there."""
    found: dict[str, set[str]] = {}
    for line in stack.ssh("ss -Hltnup").stdout.splitlines():
        fields = line.split()
        name = re.search(r'\(\("([^"]+)"', line)
        found.setdefault(name[1] if name else "?", set()).add(f"{fields[0]} {fields[4]}")
    return found


def test_services_listen_only_where_the_site_says(stack: Server) -> None:
    found = _listeners(stack)
    assert found["mariadbd"] == {"tcp 127.0.0.1:3306"}
    assert found["gearmand"] == {"tcp 127.0.0.1:4730", "tcp 127.0.0.1:4780"}
    assert found["memcached"] == {"tcp 127.0.0.1:11211"}


def test_the_database_lies_on_its_volume_and_debians_folder_is_unused(stack: Server) -> None:
    variables = "SELECT @@datadir, @@innodb_flush_method, @@innodb_buffer_pool_size"
    datadir, method, pool = stack.ssh(f"mariadb -BNe '{variables}'").stdout.split()
    assert datadir == "/srv/database/mariadb/"
    assert method == "O_DIRECT"
    assert int(pool) >= 128 << 20
    assert not stack.answers("ls -l /proc/$(pidof mariadbd)/fd | grep -q /var/lib/mysql/")


def test_the_account_has_the_sites_secret_and_nothing_else_opens(stack: Server) -> None:
    secret = Secrets(stack.inventory).get("database_stacksearch_password", create=False).reveal()
    login = "mariadb --no-defaults -h 127.0.0.1 -u stacksearch"
    assert stack.answers(f"MYSQL_PWD='{secret}' {login} -e 'SELECT 1' stacksearch")
    assert not stack.answers(f"MYSQL_PWD=wrong {login} -e 'SELECT 1'")
    assert not stack.answers(f"MYSQL_PWD='{secret}' {login} -e 'SELECT * FROM mysql.user'")
    assert not stack.answers("mariadb --no-defaults -h 127.0.0.1 -u root -e 'SELECT 1'")
    for user in ("nobody", "''"):
        assert not stack.answers(f"setpriv --reuid=nobody mariadb --no-defaults -u {user} -e 'SELECT 1'")
    assert secret not in stack.ssh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout


def test_a_second_run_changes_nothing_and_check_mode_agrees(stack: Server) -> None:
    for words in ((), ("--check", "--diff")):
        found = counts(stack.play(*words, *_SERVICES))
        assert (found["changed"], found["failed"]) == (0, 0)


def test_a_run_cut_between_file_and_restart_is_finished_by_the_next(stack: Server) -> None:
    pid = "systemctl show --value -p MainPID memcached"
    before = stack.ssh(pid).stdout
    stack.ssh("touch /etc/memcached.conf")
    assert counts(stack.play("cache.yml"))["changed"] == 1
    assert stack.ssh(pid).stdout != before


def test_the_queue_away_from_loopback_keeps_its_http_on_loopback(stack: Server) -> None:
    interfaces = json.loads(stack.ssh("ip -j -4 addr show scope global").stdout)
    address = next(entry["local"] for interface in interfaces for entry in interface["addr_info"] if entry)
    try:
        for listen in (address, "0.0.0.0"):
            stack.play("queue.yml", "-e", f"queue_listen={listen}")
            found = _listeners(stack)
            assert found["gearmand"] == {"tcp 127.0.0.1:4731", "tcp 127.0.0.1:4780"}
            assert f"tcp {listen}:4730" in found["systemd"]
            ask = f"exec 3<>/dev/tcp/{address}/4730; echo version >&3; read -r said <&3; [[ $said == OK* ]]"
            assert stack.answers(f"timeout 60 bash -c '{ask}'")
            assert counts(stack.play("queue.yml", "-e", f"queue_listen={listen}"))["changed"] == 0
    finally:
        stack.play("queue.yml")
    found = _listeners(stack)
    assert found["gearmand"] == {"tcp 127.0.0.1:4730", "tcp 127.0.0.1:4780"}
    assert not any("4730" in where for where in found.get("systemd", ()))
    assert not stack.answers("systemctl cat stackctl-queue.socket")


def test_a_port_that_a_stranger_holds_is_told_before_the_first_change(stack: Server) -> None:
    listen = 'import socket,time; s=socket.create_server(("127.0.0.1",3999)); time.sleep(3600)'
    stack.ssh(f"systemd-run --unit=stranger python3 -c '{listen}'")
    try:
        stack.ssh("timeout 60 bash -c 'until ss -Hltn | grep -q :3999; do sleep 0.2; done'")
        result = stack.play("cache.yml", "-e", "cache_port=3999", check=False)
        assert result.returncode == 2
        assert re.search(r"port 3999 on 127\.0\.0\.1 is taken by process \d+ \(python3\)", result.stdout)
        assert counts(result)["changed"] == 0
    finally:
        stack.ssh("systemctl stop stranger")


def test_an_address_of_another_server_is_told(stack: Server) -> None:
    result = stack.play("database.yml", "-e", "database_listen=192.0.2.9", check=False)
    assert "192.0.2.9, which is no address of this server" in result.stdout
    assert counts(result)["changed"] == 0


def test_an_engine_that_is_not_there_is_told_with_those_that_are(stack: Server) -> None:
    result = stack.play("database.yml", "-e", "database_engine=oracle", check=False)
    assert re.search(
        r"database_engine: oracle is no engine that this stackctl knows; known\s+are .*mariadb", result.stdout
    )


def test_the_database_is_stopped_safely_and_comes_back(stack: Server) -> None:
    assert counts(stack.play("database_stop.yml"))["failed"] == 0
    try:
        assert not stack.answers("pidof mariadbd")
        assert "Shutdown complete" in stack.ssh("journalctl -u mariadb -n 20 --no-pager").stdout
        assert counts(stack.play("database_stop.yml"))["changed"] == 0
    finally:
        stack.play("database.yml")
    assert stack.answers("mariadb -BNe 'SELECT 1'")
    stack.ssh("systemctl start stacksearch.target")


def test_an_apt_lock_is_waited_for_and_its_holder_named(stack: Server) -> None:
    hold = (
        'import fcntl,time; f=open("/var/lib/dpkg/lock-frontend","a"); fcntl.lockf(f,fcntl.LOCK_EX);'
        ' open("/run/held","w").close(); time.sleep(3600)'
    )
    module = ["-m", "stackctl_packages", "-a", "names=no-such-package lock_timeout=3"]
    argv = [paths.program("ansible"), "-i", str(stack.inventory / "stack.yml"), stack.name, *module]
    stack.ssh(f"rm -f /run/held; systemd-run --unit=unattended python3 -c '{hold}'")
    try:
        stack.ssh("timeout 60 bash -c 'until test -e /run/held; do sleep 0.2; done'")
        result = SystemRunner().run(argv, check=False, env=ansible_environment(), cwd=paths.data())
        assert result.returncode != 0
        assert re.search(r"is locked by process \d+ \(/usr/bin/python3 .*unit unattended\.service\)", result.stdout)
    finally:
        stack.ssh("systemctl stop unattended; rm -f /run/held")


def test_the_sample_site_shows_one_language_to_crawlers(stack: Server) -> None:
    stack.play("sample_site.yml")
    assert counts(stack.play("sample_site.yml"))["changed"] == 0
    assert "tcp 127.0.0.1:8081" in _listeners(stack)["apache2"]
    fetch = "python3 -c 'import sys,urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())'"
    assert "Apache HTTP Server" in stack.ssh(f"{fetch} http://127.0.0.1:8081/manual/en/").stdout
    robots = stack.ssh(f"{fetch} http://127.0.0.1:8081/robots.txt").stdout
    assert "Allow: /manual/en/\nDisallow: /manual/\n" in robots
