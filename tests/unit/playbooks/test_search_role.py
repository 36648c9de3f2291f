"""What the role search writes, as Ansible renders it: the app, systemd and Apache can read it."""

import configparser
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.template import trust_as_template

from stackctl import paths
from stacksearch import config
from tests.lib import role_values

_ROLE = paths.data("playbooks", "roles", "search")
_SITE = """\
plugin: stackctl
site: trial
hosts:
  one: {{address: 203.0.113.11, roles: [database, queue, cache]}}
  two: {{address: 203.0.113.12, roles: [search, queue, cache]}}
services:
  database: {{listen: 0.0.0.0}}
  queue: {{listen: 0.0.0.0}}
  cache: {{listen: 0.0.0.0}}
  web: {{listen: "{web}"}}
"""

Render = Callable[..., Any]


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Render:
    """The value of one of the role's variables on host two."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def render(name: str, *, web: str = "0.0.0.0", **overrides: Any) -> Any:
        file = tmp_path / "stack.yml"
        file.write_text(_SITE.format(web=web))
        seen = role_values.variables(file, "two", "search", ("defaults", "vars"))
        return role_values.value("search", seen | overrides, name)

    return render


@pytest.fixture
def files(render: Render) -> Callable[..., dict[str, str]]:
    """The files of one or more of the role's lists, contents by path."""

    def files(*lists: str, **words: Any) -> dict[str, str]:
        names = lists or ("__search_index_files", "__search_application_files", "__search_web_files")
        return {
            each["path"]: each["content"] for name in names for each in render(name, **words) if "content" in each
        }

    return files


def _settings(render: Render, **words: Any) -> config.Config:
    text = render(
        "__it", __it=trust_as_template("{{ lookup('ansible.builtin.template', 'stacksearch.yml.j2') }}"), **words
    )
    return config.parse(yaml.safe_load(text))


def test_the_app_reads_its_configuration(render: Render) -> None:
    settings = _settings(
        render, search_fetch_allow=["127.0.0.0/8", "[::1]:80"], search_crawl_include=[r"^https?://a\."]
    )
    assert (settings.database.host, settings.database.port) == ("203.0.113.11", 3306)
    assert len(settings.database.password) >= 32
    assert [str(server) for server in settings.queue.servers] == ["127.0.0.1:4730", "203.0.113.11:4730"]
    assert [str(server) for server in settings.cache.servers] == ["127.0.0.1:11211", "203.0.113.11:11211"]
    assert (settings.index.host, settings.index.port, settings.index.name) == ("127.0.0.1", 9306, "documents")
    assert len(settings.fetch.allow) == 2
    assert settings.crawl.include[0].pattern == r"^https?://a\."
    assert (settings.web.listen, settings.web.port) == ("127.0.0.1", 8090)


def test_the_databases_server_is_told_of_gearmands_as_it_reaches_them(render: Render) -> None:
    """Not as this host does: to each of the two, its own is on loopback."""
    settings = _settings(render)
    assert [str(server) for server in settings.database.wake_servers] == ["127.0.0.1:4730", "203.0.113.12:4730"]


def test_a_host_with_a_database_of_its_own_names_its_own_gearmands(render: Render) -> None:
    settings = _settings(render, groups={"database": ["one", "two"], "queue": ["one", "two"]})
    assert [str(server) for server in settings.database.wake_servers] == ["127.0.0.1:4730", "203.0.113.11:4730"]


@pytest.mark.parametrize(("engine", "unit"), [("mariadb", "mariadb.service"), ("drizzle", "drizzled.service")])
def test_the_app_starts_after_the_engine(files: Callable[..., dict[str, str]], engine: str, unit: str) -> None:
    text = files("__search_application_files", database_engine=engine)["/etc/systemd/system/stacksearch-web.service"]
    assert f" {unit} " in next(line for line in text.splitlines() if line.startswith("After="))


def test_without_words_the_apps_own_filters_hold(render: Render) -> None:
    assert _settings(render).crawl == config.CrawlConfig()
    assert [each.pattern for each in _settings(render, search_crawl_exclude=["/private/"]).crawl.exclude] == [
        "/private/"
    ]


def test_options_have_the_last_word(render: Render) -> None:
    settings = _settings(
        render, search_options={"fetch": {"robots": False, "concurrency": 3}, "web": {"results": 20}}
    )
    assert (settings.fetch.robots, settings.fetch.concurrency, settings.web.results) == (False, 3, 20)
    assert settings.web.port == 8090


def test_what_looks_like_yaml_stays_text(render: Render) -> None:
    assert _settings(render, search_web_title="yes: #no").web.title == "yes: #no"


def test_one_worker_of_each_kind(render: Render) -> None:
    assert render("__search_units") == [
        "stacksearch.target",
        *(f"stacksearch-{kind}.service" for kind in ("fetch", "document", "search", "sweeper", "web")),
    ]
    assert len(render("__search_former_units")) == 3 * 15


def test_more_workers_are_further_units_and_fewer_are_stopped(render: Render) -> None:
    counts = {"search_fetch_workers": 3, "search_search_workers": "2"}
    units = render("__search_units", **counts)
    assert units[-3:] == [
        "stacksearch-fetch@2.service",
        "stacksearch-fetch@3.service",
        "stacksearch-search@2.service",
    ]
    former = render("__search_former_units", **counts)
    assert not set(former) & set(units)
    assert {"stacksearch-fetch@4.service", "stacksearch-document@2.service", "stacksearch-search@16.service"} <= set(
        former
    )
    assert "stacksearch-fetch.service" not in former


def test_every_unit_has_its_file(render: Render, files: Callable[..., dict[str, str]]) -> None:
    written = {Path(path).name for path in files()}
    for unit in render("__search_units", search_fetch_workers=2):
        assert re.sub(r"@\d+", "@", unit) in written


def test_the_apps_units_are_closed_in_and_come_back(files: Callable[..., dict[str, str]]) -> None:
    units = files("__search_unit_files")
    assert len(units) == 8
    for text in units.values():
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read_string(text)
        service = parser["Service"]
        assert service["User"] == "stacksearch"
        assert service["Restart"] == "always"
        assert parser["Unit"]["StartLimitIntervalSec"] == "0"
        assert service["ProtectSystem"] == "strict"
        assert service["CapabilityBoundingSet"] == ""
        assert service["ExecStart"].startswith("/usr/bin/python3 -sP -m stacksearch.cli ")


def test_systemd_takes_every_unit(files: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    units = {path: text for path, text in files().items() if path.startswith("/etc/systemd/system/stacksearch")}
    folder = tmp_path / "units"
    folder.mkdir()
    for path, text in units.items():
        (folder / Path(path).name).write_text(text)
    names = [str(folder / Path(path).name) for path in units]
    names = [name.replace("@.", "@2.") for name in names]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *names],
        capture_output=True, text=True, check=False, env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )  # fmt: skip
    assert [line for line in done.stderr.splitlines() if "stacksearch" in line and "No such file" not in line] == []


@pytest.mark.parametrize(
    ("listen", "at"), [("0.0.0.0", "0.0.0.0:80"), ("::", "[::]:80"), ("127.0.0.1", "127.0.0.1:80")]
)
def test_apache_listens_where_the_site_says_and_takes_its_configuration(
    files: Callable[..., dict[str, str]], tmp_path: Path, listen: str, at: str
) -> None:
    written = files("__search_web_files", web=listen)
    site = written["/etc/apache2/sites-enabled/stacksearch.conf"]
    assert re.findall(r"^Listen (.*)$", site, re.MULTILINE) == [at]
    assert "Listen" not in written["/etc/apache2/ports.conf"]
    whole = tmp_path / "apache.conf"
    whole.write_text(
        f"ServerRoot {tmp_path}\nPidFile {tmp_path}/pid\nErrorLog {tmp_path}/log\n"
        + "".join(
            f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"
            for name in ("mpm_event", "authz_core")
        )
        + site
    )
    done = subprocess.run(
        ["/usr/sbin/apache2", "-t", "-f", str(whole)],
        capture_output=True, text=True, check=False, env={**os.environ, "APACHE_LOG_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_command_line_runs_the_release_in_force(files: Callable[..., dict[str, str]]) -> None:
    wrapper = files("__search_application_files")["/usr/local/bin/stacksearch"]
    assert subprocess.run(["sh", "-n"], input=wrapper, text=True, check=False).returncode == 0
    assert 'PYTHONPATH=/opt/stacksearch/current exec /usr/bin/python3 -sP -m stacksearch.cli "$@"' in wrapper
