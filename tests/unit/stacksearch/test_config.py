"""The configuration is strict, and tells every error at once."""

from pathlib import Path

import pytest

from stacksearch.addresses import parse_allowed
from stacksearch.config import Config, Secret, Server, load, parse
from stacksearch.errors import ConfigError


def test_an_empty_configuration_has_defaults() -> None:
    assert parse(None) == Config()
    assert parse({"fetch": None}).fetch.lease == 60


def test_values_are_read() -> None:
    config = parse(
        {
            "database": {"host": "db", "password": "p"},
            "queue": {"servers": [{"host": "::1", "port": 4730}]},
            "fetch": {"allow": ["127.0.0.1:8081"], "timeout": 5},
            "crawl": {"include": ["/en/"]},
        }
    )
    assert config.database.host == "db"
    assert config.queue.servers == (Server("::1", 4730),)
    assert str(config.queue.servers[0]) == "[::1]:4730"
    assert config.fetch.allow == (parse_allowed("127.0.0.1:8081"),)
    assert config.fetch.timeout == 5.0
    assert config.crawl.include[0].pattern == "/en/"


def test_all_errors_are_told_together_with_their_keys() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(
            {
                "databse": {},
                "database": {"port": 0, "engine": "oracle", "host": ""},
                "queue": {"servers": [{"host": "a"}, {"host": "b", "port": "x"}], "prefix": "a b"},
                "fetch": {"allow": ["localhost"], "robots": "yes", "concurrency": 1.5, "timeout": True},
                "crawl": {"include": ["("], "exclude": "x"},
                "sweep": [],
            },
            name="f.yml",
        )
    lines = str(caught.value).splitlines()
    keys = [line.split(": ")[1] for line in lines]
    assert all(line.startswith("f.yml: ") for line in lines)
    assert keys == [
        "databse", "database.host", "database.port", "database.engine", "queue.servers[0].port",
        "queue.servers[1].port", "queue.prefix", "fetch.allow[0]", "fetch.robots", "fetch.concurrency",
        "fetch.timeout",
        "crawl.include[0]", "crawl.exclude", "sweep",
    ]  # fmt: skip
    assert "mariadb, drizzle" in lines[3]


def test_the_listening_address_must_be_one() -> None:
    with pytest.raises(ConfigError, match=r"web\.listen: 'everywhere' is not an address"):
        parse({"web": {"listen": "everywhere"}})


@pytest.mark.parametrize("data", [[], "text", 5])
def test_a_file_that_holds_no_keys_is_refused(data: object) -> None:
    with pytest.raises(ConfigError, match="keys and values"):
        parse(data)


def test_a_secret_does_not_show_itself() -> None:
    config = parse({"database": {"password": "hunter2"}})
    assert "hunter2" not in repr(config)
    assert config.database.password == "hunter2"
    assert repr(Secret("x")) == "'***'"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a: [", ":1: not YAML"),
        ("fetch:\n  allow: [\n", "not YAML"),
        ("\tx", "not YAML"),
        ("nonsense: 1", "unknown key"),
    ],
)
def test_a_broken_file_is_told_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "s.yml"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_a_missing_file_and_bytes_that_are_no_text_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKSEARCH_CONFIG", str(tmp_path / "none.yml"))
    with pytest.raises(ConfigError, match=r"none\.yml: No such file"):
        load()
    (tmp_path / "bytes.yml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(tmp_path / "bytes.yml")
