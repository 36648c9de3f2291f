"""What Ansible gets to see of a site."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl.lab import state
from stackctl.site import variables
from stackctl.site.load import open_file
from stackctl.site.models import Layout

Write = Callable[[str], Path]

TWO = """\
plugin: stackctl
site: two
hosts:
  db: {address: 203.0.113.1, roles: [database, cache], layout: r}
  app: {address: app.example, port: 2222, user: admin, roles: [queue, cache, search]}
  bare: {address: 203.0.113.3, layout: r}
layouts:
  r:
    disks: {count: 4, exclude: {transport: usb}}
    raid: {chunk: 128 KiB}
    volumes: {d: {size: 200 GiB, mount: /srv/database}, e: {size: rest, mount: /srv/e}}
services:
  database: {listen: 10.0.0.1}
  cache: {listen: 0.0.0.0}
mirrors: {apt: "http://mirror.example/debian", apt_security: "http://mirror.example/security"}
"""


def test_groups(write: Write) -> None:
    assert variables.groups(open_file(write(TWO)).site) == {
        "database": ("db",),
        "queue": ("app",),
        "cache": ("db", "app"),
        "search": ("app",),
        "storage": ("db", "bare"),
    }


def test_connection(write: Write) -> None:
    hosts = variables.host_variables(open_file(write(TWO)))
    assert (hosts["db"]["ansible_host"], hosts["db"]["ansible_port"]) == ("203.0.113.1", 22)
    assert "ansible_become" not in hosts["db"]
    assert (hosts["app"]["ansible_host"], hosts["app"]["ansible_port"]) == ("app.example", 2222)
    assert (hosts["app"]["ansible_user"], hosts["app"]["ansible_become"]) == ("admin", True)


def test_where_each_host_reaches_each_service(write: Write) -> None:
    hosts = variables.host_variables(open_file(write(TWO)))
    assert hosts["db"]["stackctl_endpoints"] == {
        "database": [{"host": "10.0.0.1", "port": 3306}],
        "queue": [],
        "cache": [{"host": "127.0.0.1", "port": 11211}, {"host": "app.example", "port": 11211}],
        "search": [],
    }
    assert hosts["app"]["stackctl_endpoints"] == {
        "database": [{"host": "10.0.0.1", "port": 3306}],
        "queue": [{"host": "127.0.0.1", "port": 4730}],
        "cache": [{"host": "127.0.0.1", "port": 11211}, {"host": "203.0.113.1", "port": 11211}],
        "search": [{"host": "127.0.0.1", "port": 9306}],
    }


@pytest.mark.parametrize(
    ("listen", "own"),
    [("127.0.0.1", "127.0.0.1"), ("127.0.0.5", "127.0.0.5"), ("::1", "::1"), ("::", "::1"), ("0.0.0.0", "127.0.0.1")],
)
def test_a_host_reaches_itself(write: Write, listen: str, own: str) -> None:
    text = "plugin: stackctl\nsite: s\nhosts: {m: {address: a, roles: [cache]}}\n"
    opened = open_file(write(f"{text}services: {{cache: {{listen: '{listen}'}}}}\n"))
    (host,) = variables.host_variables(opened).values()
    assert host["stackctl_endpoints"]["cache"] == [{"host": own, "port": 11211}]


def test_the_layout_goes_through_and_back(write: Write) -> None:
    opened = open_file(write(TWO))
    plain = variables.host_variables(opened)["db"]["storage_layout"]
    assert plain["raid"] == {"chunk": 131072}
    assert plain.pop("name") == "r"
    assert Layout.model_validate(plain) == opened.site.layouts["r"]
    assert list(plain["volumes"]) == ["d", "e"]
    assert "storage_layout" not in variables.host_variables(opened)["app"]


def test_a_mirror_goes_through_and_back(write: Write) -> None:
    opened = open_file(write(TWO.replace("raid: {chunk: 128 KiB}", "raid: {level: 1}")))
    plain = variables.host_variables(opened)["db"]["storage_layout"]
    assert Layout.model_validate({key: value for key, value in plain.items() if key != "name"}).raid.level == 1


def test_site_wide_variables(write: Write) -> None:
    opened = open_file(write(TWO))
    common = variables.site_variables(opened)
    assert common["stackctl_site"] == "two"
    assert common["stackctl_site_file"] == str(opened.file)
    assert common["stackctl_site_directory"] == str(opened.directory)
    assert (common["database_listen"], common["database_port"]) == ("10.0.0.1", 3306)
    assert (common["queue_listen"], common["queue_port"], common["queue_http_port"]) == ("127.0.0.1", 4730, 4780)
    assert (common["cache_listen"], common["cache_port"]) == ("0.0.0.0", 11211)
    assert (common["search_index_listen"], common["search_index_port"]) == ("127.0.0.1", 9306)
    assert (common["search_web_listen"], common["search_web_port"]) == ("0.0.0.0", 80)
    assert common["stackctl_mirrors"] == {
        "apt": "http://mirror.example/debian",
        "apt_security": "http://mirror.example/security",
        "ca": None,
        "from_site": True,
    }


class TestLabMachine:
    TEXT = "plugin: stackctl\nsite: lab\nhosts: {m: {lab: {}, roles: [cache]}}\n"

    @pytest.fixture(autouse=True)
    def _own_state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def test_down_is_never_this_machine(self, write: Write) -> None:
        opened = open_file(write(self.TEXT))
        (host,) = variables.host_variables(opened).values()
        assert host["ansible_host"] == "m.lab-is-down.invalid"
        assert "ansible_ssh_private_key_file" not in host
        assert variables.groups(opened.site)["lab"] == ("m",)

    def test_up(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        endpoint = state.Endpoint("127.0.0.1", 40022, "root", Path("/k/key"), Path("/k/known hosts"), 40080)
        monkeypatch.setattr(state, "endpoint", lambda site, host: endpoint if (site, host) == ("lab", "m") else None)
        (host,) = variables.host_variables(open_file(write(self.TEXT))).values()
        assert (host["ansible_host"], host["ansible_port"], host["ansible_user"]) == ("127.0.0.1", 40022, "root")
        assert host["ansible_ssh_private_key_file"] == "/k/key"
        assert host["ansible_ssh_common_args"] == (
            "-o 'UserKnownHostsFile=\"/k/known hosts\"' -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes"
        )
