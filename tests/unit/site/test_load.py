"""Bad files and the exact lines that tell what is wrong with them."""
# ruff: noqa: E501

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl import paths
from stackctl.errors import ExitCode, InputError
from stackctl.site.load import SiteError, open_file, open_site

Errors = Callable[[str | bytes], list[str]]

HEAD = "plugin: stackctl\nsite: trial\n"
HOST = HEAD + "hosts:\n  m: {address: 203.0.113.1}\n"
LAYOUT = HOST + "layouts:\n  r:\n    disks: {count: 4}\n    volumes: {d: {size: rest, mount: /srv/d}}\n"

UNREADABLE = [
    ("", "stack.yml:1: the file is empty"),
    ("# only a comment\n", "stack.yml:1: the file is empty"),
    ("---\n", "stack.yml:1: the file is empty"),
    ("- a\n- b\n", "stack.yml:1: the file must hold `key: value` lines, not a list"),
    ("hello\n", "stack.yml:1: the file must hold `key: value` lines, not the text 'hello'"),
    (b"site: caf\xe9\n", "stack.yml:1: the file is not UTF-8 text"),
    (b"plugin: stackctl\nsite: \xff\xfe\n", "stack.yml:2: the file is not UTF-8 text"),
    ("site: a\x07b\n", "stack.yml:1: not valid YAML: a control character stands here"),
    ("site:\n\tname: x\n", "stack.yml:2: not valid YAML: a tab stands where only spaces can indent (column 1)"),
    (
        "site: a: b\n",
        "stack.yml:1: not valid YAML: a ':' stands where none can; check the indentation or quote the value (column 8)",
    ),
    ("a:\n  b: 1\n c: 2\n", "stack.yml:3: not valid YAML: the indentation does not fit the lines above (column 2)"),
    ("a: [1, 2\nb: 3\n", "stack.yml:2: not valid YAML: expected ',' or ']'; is a bracket not closed? (column 2)"),
    ("a: {b: 1\n", "stack.yml:2: not valid YAML: expected ',' or '}'; is a bracket not closed? (column 1)"),
    ("a: 'x\n", "stack.yml:2: not valid YAML: a quote is not closed (column 1)"),
    ("a: @x\n", "stack.yml:1: not valid YAML: a value cannot begin with @; put it in quotes (column 4)"),
    ("a: *x\n", "stack.yml:1: not valid YAML: the alias *x has no anchor &x above it (column 4)"),
    (
        "a: 1\n---\nb: 2\n",
        "stack.yml:2: not valid YAML: a second document (`---`) follows; the file holds one (column 1)",
    ),
    ("[" * 50_000, "stack.yml:1: the file is nested too deeply"),
    ("a: " + "{a: " * 900 + "1" + "}" * 900, "stack.yml:1: the file is nested too deeply"),
]

WRONG = [
    # unknown keys
    (HOST + "sites: x\n", ["stack.yml:5: sites: is not a known key; did you mean site?"]),
    (
        HOST + "xyz: x\n",
        ["stack.yml:5: xyz: is not a known key; known: plugin, site, hosts, layouts, services, mirrors"],
    ),
    (HEAD + "hosts: {m: {adress: x}}\n", ["stack.yml:3: hosts.m.adress: is not a known key; did you mean address?"]),
    # what is missing, empty or given twice
    (
        "site: trial\nhosts: {m: {address: a}}\n",
        ["stack.yml:1: plugin: is missing; the file must say `plugin: stackctl`"],
    ),
    (HEAD, ["stack.yml:1: hosts: is missing"]),
    (HEAD + "hosts:\n", ["stack.yml:3: hosts: is empty; give it a value, or take the line out"]),
    (HEAD + "hosts: {}\n", ["stack.yml:3: hosts: is empty; at least one is needed"]),
    (HOST + "  m: {address: x}\n", ["stack.yml:5: hosts.m: is given twice; it stands in line 4 already"]),
    (HEAD + "hosts: {m: {address: ''}}\n", ["stack.yml:3: hosts.m.address: '' is neither an IP address nor a host name (a port or a user has its own key)"]),
    (
        HEAD + "hosts: {m: {}}\n",
        ["stack.yml:3: hosts.m.address: a host needs an address, unless it is a lab machine (`lab: {}`)"],
    ),
    (HEAD + "hosts: {m: {address: a, lab: {}}}\n", ["stack.yml:3: hosts.m.address: a lab machine is reached where `lab up` puts it; take its address out"]),
    # types
    ("plugin: other\nsite: t\nhosts: {m: {address: a}}\n", ["stack.yml:1: plugin: must be stackctl, not the text 'other'"]),
    (HOST.replace("trial", "123"), ['stack.yml:2: site: must be text, not the number 123; write it in quotes: "123"']),
    (HEAD + "hosts: [m]\n", ["stack.yml:3: hosts: must be a mapping (`key: value` lines), not a list"]),
    (HEAD + "hosts: {m: x}\n", ["stack.yml:3: hosts.m: must be a mapping (`key: value` lines), not the text 'x'"]),
    (
        HEAD + "hosts: {m: {address: a, roles: database}}\n",
        ["stack.yml:3: hosts.m.roles: must be a list, not the text 'database'; write it in brackets: [database]"],
    ),
    (HEAD + "hosts: {m: {address: a, port: x}}\n", ["stack.yml:3: hosts.m.port: must be a whole number, not the text 'x'"]),
    (HEAD + "hosts: {m: {address: a, port: yes}}\n", ["stack.yml:3: hosts.m.port: must be a whole number, not `true`"]),
    (HEAD + "hosts: {m: {address: a, port: 2.5}}\n", ["stack.yml:3: hosts.m.port: must be a whole number, not the number 2.5"]),
    (HEAD + "hosts: {m: {address: a, port: 0}}\n", ["stack.yml:3: hosts.m.port: must be at least 1, not 0"]),
    (HEAD + "hosts: {m: {address: a, port: 65536}}\n", ["stack.yml:3: hosts.m.port: must be at most 65535, not 65536"]),
    (
        LAYOUT.replace("{count: 4}", "{count: 4, serial: [0123]}"),
        ['stack.yml:7: layouts.r.disks.serial[0]: must be text, not the number 83; write it in quotes: "0123"'],
    ),
    (
        LAYOUT.replace("{count: 4}", "{count: 4, rotational: 1}"),
        ["stack.yml:7: layouts.r.disks.rotational: must be true or false, not the number 1"],
    ),
    (HEAD + "hosts: {m: {address: !!python/name:os.system a}}\n", ["stack.yml:3: hosts.m.address: the tag tag:yaml.org,2002:python/name:os.system means nothing here; write a plain value"]),
    (HEAD + "hosts: {m: {address: a, ? [x] : y}}\n", ["stack.yml:3: hosts.m: a key must be plain text"]),
    # roles
    (
        HEAD + "hosts: {m: {address: a, roles: [web]}}\n",
        ["stack.yml:3: hosts.m.roles[0]: web is not a known role; known: database, queue, cache, search"],
    ),
    (
        HEAD + "hosts: {m: {address: a, roles: [databse]}}\n",
        ["stack.yml:3: hosts.m.roles[0]: databse is not a known role (did you mean database?); known: database, queue, cache, search"],
    ),
    (HEAD + "hosts: {m: {address: a, roles: [cache, cache]}}\n", ["stack.yml:3: hosts.m.roles: cache is given twice"]),
    # names and addresses
    (HEAD + "hosts: {Metal: {address: a}}\n", ["stack.yml:3: hosts.Metal: the name 'Metal' is not a name of lower-case letters, digits and inner dashes"]),
    (HOST.replace("trial", "my site"), ["stack.yml:2: site: 'my site' is not a name of lower-case letters, digits and inner dashes"]),
    (HEAD + "hosts: {database: {address: a}}\n", ["stack.yml:3: hosts.database: database is the name of a group; give the host another"]),
    (HEAD + "hosts: {m: {address: '-oProxyCommand=x'}}\n", ["stack.yml:3: hosts.m.address: '-oProxyCommand=x' is neither an IP address nor a host name (a port or a user has its own key)"]),
    (HEAD + "hosts: {m: {address: 'a:22'}}\n", ["stack.yml:3: hosts.m.address: 'a:22' is neither an IP address nor a host name (a port or a user has its own key)"]),
    (HEAD + "hosts: {m: {address: 203.0.113.300}}\n", ["stack.yml:3: hosts.m.address: '203.0.113.300' is neither an IP address nor a host name (a port or a user has its own key)"]),
    (HEAD + "hosts: {m: {address: a, user: 'x y'}}\n", ["stack.yml:3: hosts.m.user: 'x y' is not the name of a user"]),
    (HOST + "services: {database: {listen: localhost}}\n", ["stack.yml:5: services.database.listen: 'localhost' is not an IP address, such as 127.0.0.1 or ::1"]),
    (HOST + "mirrors: {apt: mirror.example}\n", ["stack.yml:5: mirrors.apt: 'mirror.example' is not an address that begins with http://, https:// or file://"]),
    (HOST + "mirrors: {ca: gone.pem}\n", ["stack.yml:5: mirrors.ca: there is no file gone.pem"]),
    # layouts
    (LAYOUT.replace("count: 4", "count: 3"), ["stack.yml:7: layouts.r.disks.count: RAID10 needs an even number of disks, at least 4, not 3"]),
    (LAYOUT.replace("count: 4", "count: 2"), ["stack.yml:7: layouts.r.disks.count: RAID10 needs an even number of disks, at least 4, not 2"]),
    (LAYOUT.replace("{count: 4}", "{}"), ["stack.yml:7: layouts.r.disks.count: is missing"]),
    (LAYOUT.replace("{count: 4}", "{count: 4, size: big}"), ["stack.yml:7: layouts.r.disks.size: 'big' is not a size; write it like 64 KiB, 500 GB or 4096"]),
    (LAYOUT.replace("{count: 4}", "{count: 4, size: '1,5 TB'}"), ["stack.yml:7: layouts.r.disks.size: '1,5 TB' is not a size with an operator, such as '>= 500 GB'"]),
    (LAYOUT + "    raid: {level: 7}\n", ["stack.yml:9: layouts.r.raid.level: the number 7 is not a known value; known: 0, 1, 5, 6, 10, none"]),
    (LAYOUT + "    raid: {chunk: 48 KiB}\n", ["stack.yml:9: layouts.r.raid.chunk: 48 KiB is not a power of two of at least 4 KiB"]),
    (LAYOUT + "    raid: {chunk: lots}\n", ["stack.yml:9: layouts.r.raid.chunk: 'lots' is not a size; write it like 64 KiB, 500 GB or 4096"]),
    (LAYOUT.replace("rest", "half"), ["stack.yml:8: layouts.r.volumes.d.size: 'half' is neither a size (200 GiB), a share (50%) nor `rest`"]),
    (LAYOUT.replace("rest", "101%"), ["stack.yml:8: layouts.r.volumes.d.size: 101% is not between 1% and 100%"]),
    (LAYOUT.replace("rest", "10 MiB"), ["stack.yml:8: layouts.r.volumes.d.size: 10 MiB is too small for XFS, which wants 300 MiB at least"]),
    (LAYOUT.replace("/srv/d", "srv"), ["stack.yml:8: layouts.r.volumes.d.mount: 'srv' is not a plain absolute path, such as /srv/database"]),
    (LAYOUT.replace("/srv/d", "/srv/../etc"), ["stack.yml:8: layouts.r.volumes.d.mount: '/srv/../etc' is not a plain absolute path, such as /srv/database"]),
    (LAYOUT.replace("/srv/d", "/"), ["stack.yml:8: layouts.r.volumes.d.mount: a volume at / would hide the system's own files"]),
    (LAYOUT.replace("/srv/d", "/usr"), ["stack.yml:8: layouts.r.volumes.d.mount: a volume at /usr would hide the system's own files"]),
    (LAYOUT.replace("{d: {size: rest, mount: /srv/d}}", "{a: {size: rest, mount: /a}, b: {size: rest, mount: /b}}"), ["stack.yml:8: layouts.r.volumes.b.size: only one volume can take the rest"]),
    (LAYOUT.replace("{d: {size: rest, mount: /srv/d}}", "{a: {size: 60%, mount: /a}, b: {size: 50%, mount: /b}}"), ["stack.yml:8: layouts.r.volumes: the shares add up to 110%"]),
    (LAYOUT.replace("{d: {size: rest, mount: /srv/d}}", "{a: {size: 100%, mount: /a}, b: {size: rest, mount: /b}}"), ["stack.yml:8: layouts.r.volumes: the shares add up to 100% and leave nothing for the other volumes"]),
    (LAYOUT.replace("{d: {size: rest, mount: /srv/d}}", "{a: {size: 50%, mount: /a}, b: {size: 50%, mount: /a}}"), ["stack.yml:8: layouts.r.volumes.b.mount: /a is where a is mounted"]),
]  # fmt: skip

MANY = """\
plugin: stackctl
hosts:
  m1: {address: 203.0.113.1, layout: raid01, rols: [database]}
  m2: {address: 203.0.113.1, port: x, roles: [database, web]}
layouts:
  raid10:
    disks: {count: 3}
    raid: {chunk: 5}
    volumes: {c: {size: rest, mount: /srv/c}, d: {size: 0%, mount: d}}
  m1: 4
"""


@pytest.mark.parametrize(("text", "expected"), UNREADABLE)
def test_a_file_that_cannot_be_read(errors: Errors, text: str | bytes, expected: str) -> None:
    assert errors(text) == [expected]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_a_wrong_value(errors: Errors, text: str, expected: list[str]) -> None:
    assert errors(text) == expected


def test_everything_wrong_is_told_at_once_in_the_order_of_the_file(errors: Errors) -> None:
    assert errors(MANY) == [
        "stack.yml:1: site: is missing",
        "stack.yml:3: hosts.m1.rols: is not a known key; did you mean roles?",
        "stack.yml:3: hosts.m1.layout: raid01 is no layout of this site; did you mean raid10?",
        "stack.yml:4: hosts.m2.port: must be a whole number, not the text 'x'",
        "stack.yml:4: hosts.m2.roles[1]: web is not a known role; known: database, queue, cache, search",
        "stack.yml:4: hosts.m2.address: 203.0.113.1 port 22 is where m1 is reached; two hosts cannot share it",
        "stack.yml:7: layouts.raid10.disks.count: RAID10 needs an even number of disks, at least 4, not 3",
        "stack.yml:8: layouts.raid10.raid.chunk: 5 B is not a power of two of at least 4 KiB",
        "stack.yml:9: layouts.raid10.volumes.d.size: 0% is not between 1% and 100%",
        "stack.yml:9: layouts.raid10.volumes.d.mount: 'd' is not a plain absolute path, such as /srv/database",
        "stack.yml:10: layouts.m1: must be a mapping (`key: value` lines), not the number 4",
    ]


def test_the_error_counts_and_ends_with_two(write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(HEAD + "hosts: {m: {address: a, rols: [], user: 3}}\n")
    monkeypatch.chdir(file.parent)
    with pytest.raises(SiteError) as caught:
        open_file(file)
    assert caught.value.code == ExitCode.USAGE
    assert str(caught.value).splitlines() == [
        "the site cannot be used, 2 errors:",
        'stack.yml:3: hosts.m.user: must be text, not the number 3; write it in quotes: "3"',
        "stack.yml:3: hosts.m.rols: is not a known key; did you mean roles?",
    ]


def test_a_good_file(write: Callable[[str], Path], good: str) -> None:
    opened = open_file(write(good))
    assert opened.site.site == "trial"
    assert opened.site.layout_of("metal-1") is not None
    assert opened.site.services.web.port == 80
    assert opened.directory == opened.file.parent
    assert opened.warnings == ()


def test_a_byte_order_mark_is_no_error(write: Callable[[bytes], Path], good: str) -> None:
    assert open_file(write(b"\xef\xbb\xbf" + good.encode())).site.site == "trial"


def test_anchors_aliases_and_merges(write: Callable[[str], Path]) -> None:
    text = HEAD + "hosts:\n  a: &base {address: 203.0.113.1, user: admin, port: 2222}\n  b: {<<: *base, port: 2223}\n"
    hosts = open_file(write(text)).site.hosts
    assert (hosts["b"].address, hosts["b"].user, hosts["b"].port) == ("203.0.113.1", "admin", 2223)


def test_merges_in_a_list_the_first_wins(write: Callable[[str], Path]) -> None:
    text = HEAD + (
        "hosts:\n  a: &a {address: 203.0.113.1, user: x}\n  b: &b {address: 203.0.113.2, user: y, port: 23}\n"
        "  c: {<<: [*a, *b], address: 203.0.113.3}\n"
    )
    host = open_file(write(text)).site.hosts["c"]
    assert (host.address, host.user, host.port) == ("203.0.113.3", "x", 23)


def test_an_alias_into_itself(errors: Errors) -> None:
    assert errors("plugin: stackctl\nsite: t\nhosts: &h\n  m: *h\n") == [
        "stack.yml:3: hosts.m: an alias leads back into itself",
        "stack.yml:3: hosts: is empty; at least one is needed",
    ]


def test_aliases_that_explode(errors: Errors) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (said,) = errors("\n".join(lines))
    assert said.endswith("the file grows beyond all measure once its aliases are followed")


def test_dates_and_numbers_as_names_stay_what_was_written(write: Callable[[str], Path]) -> None:
    site = open_file(write(HEAD + "hosts: {2026-11-30: {address: a}, 007: {address: b}}\n")).site
    assert list(site.hosts) == ["2026-11-30", "007"]


def test_a_partly_given_service_keeps_its_other_defaults(write: Callable[[str], Path]) -> None:
    services = open_file(write(HOST + "services: {queue: {listen: '::1'}}\n")).site.services
    assert (services.queue.listen, services.queue.port, services.queue.http_port) == ("::1", 4730, 4780)


def test_the_authority_is_found_beside_the_file(write: Callable[[str], Path]) -> None:
    file = write(HOST + "mirrors: {ca: own.pem}\n")
    (file.parent / "own.pem").write_text("x")
    assert open_file(file).site.mirrors.ca == str(file.parent / "own.pem")


class TestWhichSite:
    def test_a_folder_or_its_file(self, write: Callable[[str], Path], good: str) -> None:
        file = write(good)
        assert open_site(file).file == open_site(file.parent).file == file

    def test_a_relative_path(self, write: Callable[[str], Path], good: str, monkeypatch: pytest.MonkeyPatch) -> None:
        file = write(good)
        monkeypatch.chdir(file.parent.parent)
        assert open_site(Path(file.parent.name)).file == file

    def test_the_other_suffix(self, write: Callable[[str], Path], good: str) -> None:
        file = write(good)
        other = file.rename(file.with_suffix(".yaml"))
        assert open_site(file.parent).file == other

    def test_without_one_the_file_here(
        self, write: Callable[[str], Path], good: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = write(good)
        monkeypatch.chdir(file.parent)
        assert open_site(None).file == file

    def test_else_the_lab_that_ships(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        opened = open_site(None)
        assert opened.file == paths.data("inventories", "lab", "stack.yml")
        assert opened.site.site == "lab"

    def test_from_a_wheel_the_operators_own_copy_of_the_lab(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setattr(paths, "in_checkout", lambda: False)
        monkeypatch.setattr(paths, "data", lambda *parts: Path(__file__).parents[3].joinpath(*parts))
        opened = open_site(None)
        assert opened.directory == tmp_path / "state" / "stackctl" / "lab-site"
        assert opened.site.site == "lab"
        opened.file.write_text(opened.file.read_text() + "# mine\n")
        assert open_site(None).file.read_text().endswith("# mine\n")

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("nowhere", "there is no site at nowhere\n  hint: stackctl init nowhere writes one"),
            ("empty", "the folder empty holds no stack.yml\n  hint: stackctl init empty writes one"),
            (
                "other.yml",
                "other.yml is not called stack.yml, which is how Ansible knows the file of a site\n"
                "  hint: give the folder, or rename the file",
            ),
        ],
    )
    def test_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
        (tmp_path / "empty").mkdir()
        (tmp_path / "other.yml").write_text("")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InputError) as caught:
            open_site(Path(name))
        assert str(caught.value) == said

    def test_no_regular_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "stack.yml")
        with pytest.raises(SiteError, match="this is not a regular file"):
            open_file(tmp_path / "stack.yml")

    def test_a_huge_file(self, tmp_path: Path) -> None:
        with (tmp_path / "stack.yml").open("wb") as stream:
            stream.truncate(5 << 20)
        with pytest.raises(SiteError, match="larger than 4 MiB"):
            open_file(tmp_path / "stack.yml")

    def test_an_unreadable_file(
        self, write: Callable[[str], Path], good: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(self: Path) -> bytes:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_bytes", refuse)
        with pytest.raises(SiteError, match="1: the file cannot be read: Permission denied"):
            open_file(write(good))
