"""The models' keys, schema and page, and that what is generated is current."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from stackctl import paths
from stackctl.errors import InputError
from stackctl.site.create import examples
from stackctl.site.load import open_site
from stackctl.site.overrides import doubts
from stackctl.site.reference import keys, keys_under
from stackctl.site.schema import annotation_at, json_schema, known_keys

ROOT = Path(__file__).parents[3]


def test_every_key_says_what_it_means() -> None:
    assert [key.dotted for key in keys() if not key.doc] == []


def test_types_defaults_and_needs() -> None:
    found = {key.dotted: key for key in keys()}
    assert found["site"].required
    assert found["hosts.NAME.port"].default == "22"
    assert found["hosts.NAME.lab.memory"].default == "3 GiB"
    assert found["layouts.NAME.raid.chunk"].default == "64 KiB"
    assert found["services.web.listen"].default == "0.0.0.0"
    assert found["services.queue.http_port"].default == "4780"
    assert found["layouts.NAME.disks.count"].required
    assert found["hosts.NAME.roles"].type == "list of `database` | `queue` | `cache` | `search`"
    assert found["layouts.NAME.disks.rotational"].type == "`true` | `false`"


@pytest.mark.parametrize("asked", ["hosts.NAME.lab.disks", "hosts.metal-1.lab.disks"])
def test_a_part_and_all_below_it(asked: str) -> None:
    assert [key.dotted for key in keys_under(asked)] == [
        "hosts.NAME.lab.disks",
        "hosts.NAME.lab.disks.count",
        "hosts.NAME.lab.disks.size",
        "hosts.NAME.lab.disks.sectors",
    ]


@pytest.mark.parametrize("asked", ["host", "hosts.NAME.lab.disc", "hosts.a.b.c.d"])
def test_no_such_key(asked: str) -> None:
    with pytest.raises(InputError, match="has no key"):
        keys_under(asked)


def test_what_stands_at_a_path() -> None:
    assert known_keys(("hosts", "m", "lab", "disks")) == ("count", "size", "sectors")
    assert known_keys(("hosts",)) == ()
    assert known_keys(("hosts", "m", "roles", 0)) == ()
    assert annotation_at(("hosts", "m", "port")) is int
    assert annotation_at(("hosts", "m", "nothing")) is None
    assert annotation_at(("site", "deeper")) is None


@pytest.mark.parametrize("example", examples())
def test_the_schema_takes_what_the_loader_takes(example: str) -> None:
    value = yaml.safe_load(paths.data("inventories", example, "stack.yml").read_text())
    jsonschema.Draft202012Validator(json_schema()).validate(value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sites": "x"},
        {"hosts": {}},
        {"hosts": {"Bad": {}}},
        {"hosts": {"m": {"roles": ["web"]}}},
        {"hosts": {"m": {"port": "22"}}},
        {"layouts": {"r": {"disks": {"count": 4}}}},
        {"plugin": "other"},
    ],
)
def test_the_schema_refuses(wrong: dict[str, object]) -> None:
    schema = jsonschema.Draft202012Validator(json_schema())
    assert not schema.is_valid({"plugin": "stackctl", "site": "s", "hosts": {"m": {"address": "a"}}, **wrong})


def test_the_page_and_the_schema_file_are_current() -> None:
    done = subprocess.run([ROOT / "scripts" / "site-docs", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_examples() -> None:
    assert examples() == ("lab", "single")
    readme = paths.data("inventories", "README.md").read_text()
    for example in examples():
        opened = open_site(paths.data("inventories", example))
        assert opened.site.site == example
        assert opened.warnings == ()
        assert doubts(opened) == []
        assert f"[{example}]({example}/stack.yml)" in readme
        first = opened.file.read_text().splitlines()[:2]
        assert first[0] == "# yaml-language-server: $schema=../stack.schema.json"
        assert first[1].startswith("# ")
    assert json.loads(paths.data("inventories", "stack.schema.json").read_text()) == json_schema()
