"""Things to break on a server with the stack, how to mend them, and exactly the checks that must fail meanwhile."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stackctl.process import Result


@dataclass(frozen=True)
class Breakage:
    """One thing to break on the server, how to mend it, and exactly the checks that must fail meanwhile."""

    name: str
    breaks: str
    mends: str
    faults: frozenset[str]

    @property
    def on_disks(self) -> bool:
        """Whether it takes a layout: disks, an array, volumes."""
        return any(fault.startswith("storage.") for fault in self.faults)

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
        "systemctl stop stacksearch-search",
        "systemctl start stacksearch-search",
        *("search.runs", _APP, _PAGE),
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

NEEDS_LAYOUT = frozenset({"database.data_on_its_volume", "search.index_on_its_volume"})
"""Checks of services that are not made on a host without a layout."""


def ended(report: dict[str, Any], outcome: str) -> dict[str, str]:
    """The checks that ended so, with what they say."""
    return {
        f"{check['role']}.{check['name']}": check["detail"]
        for check in report["checks"]
        if check["outcome"] == outcome
    }


def is_caught(
    breakage: Breakage, ssh: Callable[[str], Result], validate: Callable[..., Result], without: frozenset[str]
) -> None:
    """Break, see exactly that told, mend, see green. ``without`` are checks that this server has no use for.

    ``validate`` runs `stackctl validate --json` with further words.
    """
    ssh(breakage.breaks)
    try:
        found = validate()
        report = json.loads(found.stdout)
        assert set(ended(report, "failed")) == breakage.faults - without
        assert all(ended(report, "failed").values())
        assert found.returncode == 4
    finally:
        ssh(breakage.mends)
    roles = [word for role in breakage.roles for word in ("--role", role)]
    end = time.monotonic() + 300
    # what was started again takes a moment until it serves
    while (mended := validate(*roles)).returncode and time.monotonic() < end:
        time.sleep(1)
    assert ended(json.loads(mended.stdout), "failed") == {}
    assert mended.returncode == 0
