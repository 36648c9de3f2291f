"""`stackctl validate` on a machine with the whole stack: green as it is, and each thing broken once is caught."""

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackctl import paths
from tests.conftest import draw
from tests.vm.conftest import Stack

pytestmark = [pytest.mark.vm, pytest.mark.xdist_group("stack")]

EVERYTHING = frozenset({"storage", "database", "queue", "cache", "search", "listeners", "reboot"})


@dataclass(frozen=True)
class Breakage:
    """One thing to break on the server, how to mend it, and exactly the checks that must fail meanwhile."""

    name: str
    breaks: str
    mends: str
    faults: frozenset[str]

    @property
    def roles(self) -> list[str]:
        """The suites that must be green again after the mending."""
        return sorted({fault.partition(".")[0] for fault in self.faults})


def _breakage(name: str, breaks: str, mends: str, *faults: str) -> Breakage:
    return Breakage(name, breaks, mends, frozenset(faults))


_PAGE = "search.page"
_APP = "search.application"
_MEMCACHED = "sed -i 's/^-l .*/-l {}/' /etc/memcached.conf && systemctl restart memcached"
_SQL = 'mariadb -e "{}"'
_DOOR = "stacksearch@'127.0.0.1'"

BREAKAGES = (
    _breakage(
        "the database is stopped",
        "systemctl stop mariadb",
        "systemctl start mariadb && systemctl start stacksearch.target",
        *("database.runs", _APP, _PAGE),
    ),
    _breakage(
        "the queue is stopped",
        "systemctl stop gearman-job-server",
        "systemctl start gearman-job-server && systemctl start stacksearch.target",
        *("queue.runs", _APP, _PAGE),
    ),
    _breakage("the cache is stopped", "systemctl stop memcached", "systemctl start memcached", *("cache.runs", _APP)),
    _breakage(
        "the cache listens everywhere",
        _MEMCACHED.format("0.0.0.0"),
        _MEMCACHED.format("127.0.0.1"),
        *("cache.listens", "cache.listens_nowhere_else", "listeners.nothing_beyond_the_site"),
    ),
    _breakage(
        "the cache answers on UDP",
        "sed -i 's/^-U .*/-U 11211/' /etc/memcached.conf && systemctl restart memcached",
        "sed -i 's/^-U .*/-U 0/' /etc/memcached.conf && systemctl restart memcached",
        *("cache.listens_nowhere_else", "cache.udp", "listeners.nothing_beyond_the_site"),
    ),
    _breakage(
        "a stranger listens",
        "systemd-run --quiet --unit=stranger /usr/bin/python3 -m http.server --bind 127.0.0.1 8077"
        " && until ss -Hltn | grep -q :8077; do sleep 0.2; done",
        "systemctl stop stranger",
        "listeners.nothing_beyond_the_site",
    ),
    _breakage(
        "the application's account lost its password",
        "mariadb -BNe \"SHOW CREATE USER stacksearch@'%'\" | sed 's/^CREATE/ALTER/' > /root/account.sql && "
        + _SQL.format("SET PASSWORD FOR stacksearch@'%' = PASSWORD('another')"),
        "mariadb < /root/account.sql && rm /root/account.sql",
        *("database.row", _APP, _PAGE),
    ),
    _breakage(
        "the database lets everybody in",
        _SQL.format(f"CREATE USER {_DOOR} IDENTIFIED BY ''; GRANT ALL ON stacksearch.* TO {_DOOR}"),
        _SQL.format(f"DROP USER {_DOOR}"),
        *("database.wrong_password", "database.row", _APP, _PAGE),
    ),
    _breakage(
        "the application has a wrong password",
        "cd /etc/stacksearch && cp -p stacksearch.yml /root && sed -i 's/password: .*/password: no/' stacksearch.yml",
        "mv /root/stacksearch.yml /etc/stacksearch/",
        *(_APP, _PAGE),
    ),
    _breakage(
        "a worker is off",
        "systemctl disable --quiet --now stacksearch-fetch",
        "systemctl enable --quiet --now stacksearch-fetch",
        *("search.runs", _APP, _PAGE, "reboot.units_start_at_boot"),
    ),
    _breakage(
        "the web server is stopped", "systemctl stop apache2", "systemctl start apache2", *("search.runs", _PAGE)
    ),
    _breakage(
        "the index is gone",
        "systemctl stop sphinxsearch && mv /srv/documents/sphinx /srv/documents/away"
        " && { systemctl start sphinxsearch || true; }",
        "mv /srv/documents/away /srv/documents/sphinx && systemctl restart sphinxsearch",
        *("search.runs", "search.index_on_its_volume", _APP, _PAGE),
    ),
    _breakage("a volume is not mounted", "umount /srv/guests", "mount /srv/guests", "storage.mounts"),
    _breakage(
        "a volume is mounted with other options",
        "mount -o remount,relatime /srv/guests",
        "mount -o remount,noatime /srv/guests",
        "storage.mounts",
    ),
    _breakage(
        "fstab names a device by its path",
        "cp /etc/fstab /root/fstab && sed -i 's#^UUID=[^ ]*\\([ \\t]*/srv/guests\\)#/dev/data/guests\\1#' /etc/fstab",
        "mv /root/fstab /etc/fstab && systemctl daemon-reload",
        "storage.fstab",
    ),
    _breakage(
        "mdadm.conf lost the array",
        "cp -p /etc/mdadm/mdadm.conf /root/mdadm.conf && sed -i '/^ARRAY/d' /etc/mdadm/mdadm.conf"
        " && touch -r /root/mdadm.conf /etc/mdadm/mdadm.conf",
        "mv /root/mdadm.conf /etc/mdadm/mdadm.conf",
        "storage.mdadm_conf",
    ),
    _breakage(
        "a member of the array failed",
        "part=$(mdadm --detail --export /dev/md/data | sed -n 's/^MD_DEVICE_.*_DEV=//p' | tail -1)"
        " && echo $part > /root/member && mdadm --quiet /dev/md/data --fail $part",
        "mdadm --quiet /dev/md/data --remove $(cat /root/member)"
        " && mdadm --quiet /dev/md/data --re-add $(cat /root/member)"
        " && { mdadm --wait /dev/md/data || true; } && rm /root/member",
        "storage.array",
    ),
    _breakage(
        "a service does not start at boot",
        "systemctl disable --quiet memcached",
        "systemctl enable --quiet memcached",
        "reboot.units_start_at_boot",
    ),
    _breakage(
        "a unit failed",
        "systemd-run --quiet --unit=mishap --wait /bin/false || true",
        "systemctl reset-failed mishap",
        "reboot.no_unit_failed",
    ),
)


def validate(stack: Stack, *words: str) -> tuple[int, dict[str, Any]]:
    """Run the command as an operator does; its exit code and its report."""
    done = stack.stackctl("validate", "--json", *words, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def ended(report: dict[str, Any], outcome: str) -> dict[str, str]:
    """The checks that ended so, with what they say."""
    return {
        f"{check['role']}.{check['name']}": check["detail"]
        for check in report["checks"]
        if check["outcome"] == outcome
    }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "breakage" in metafunc.fixturenames:
        chosen = draw(metafunc.config, "breakages", BREAKAGES, 3)
        metafunc.parametrize("breakage", chosen, ids=[breakage.name.replace(" ", "-") for breakage in chosen])


def test_the_whole_stack_is_green(stack: Stack, tmp_path: Path) -> None:
    code, report = validate(stack, "--junit", str(tmp_path / "report.xml"))
    assert ended(report, "failed") == {}
    assert ended(report, "not shown") == {}
    assert code == 0
    assert {check["role"] for check in report["checks"]} == EVERYTHING
    assert (tmp_path / "report.xml").read_text().count("<testcase ") == len(report["checks"])


@pytest.fixture
def broken(stack: Stack, breakage: Breakage) -> Iterator[Callable[[], None]]:
    """The server with the one thing broken; the value mends it, and so does the end of the test."""
    stack.ssh(breakage.breaks)
    left = [breakage.mends]

    def mend() -> None:
        while left:
            stack.ssh(left.pop())

    yield mend
    mend()


def test_what_is_broken_is_caught_and_nothing_else(
    stack: Stack, breakage: Breakage, broken: Callable[[], None]
) -> None:
    code, report = validate(stack)
    assert set(ended(report, "failed")) == breakage.faults
    assert all(ended(report, "failed").values())
    assert code == 4
    broken()
    roles = [word for role in breakage.roles for word in ("--role", role)]
    code, report = validate(stack, *roles)
    assert ended(report, "failed") == {}
    assert code == 0


def test_plain_pytest_makes_the_same_checks(stack: Stack, tmp_path: Path) -> None:
    argv = [paths.program("pytest"), f"--ansible-inventory={stack.inventory / 'stack.yml'}"]
    argv += ["--pyargs", "stackctl.validation.suites.test_cache", "stackctl.validation.suites.test_queue", "-q"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout
    assert "10 passed" in done.stdout
