"""Programs that carry their modules with them, run by a Python that has never heard of us."""

import subprocess
from pathlib import Path

import pytest

from stackctl.node import process
from stackctl.validation import shipping
from stackctl.validation.probes import cache, database, queue, system


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/usr/bin/python3", "-IS", "-"], input=program, capture_output=True, text=True, cwd=folder, check=False
    )


@pytest.mark.parametrize("function", [cache.value, database.examine, queue.round_trips, system.look])
def test_every_probe_carries_only_itself_and_what_runs_on_servers(function: object) -> None:
    carried = {name for name in shipping._sources(function.__module__) if "." in name}  # type: ignore[attr-defined]
    assert function.__module__ in carried  # type: ignore[attr-defined]
    assert all(
        name.startswith(("stackctl.node", "stackctl.validation.probes", "stackctl.database", "pymysql."))
        or name == "stackctl.validation"
        for name in carried
    )


def test_a_program_answers_what_the_function_returns(tmp_path: Path) -> None:
    done = run(shipping.program(cache.value, {"host": "127.0.0.1", "port": 1}), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    answer = shipping.answer(done.stdout)
    assert answer == {"wrong": "no connection to 127.0.0.1 port 1: Connection refused", "udp": False}


def test_a_program_brings_the_modules_that_its_module_imports(tmp_path: Path) -> None:
    done = run(
        shipping.program(
            database.examine,
            {
                "engine": "drizzle",
                "host": "127.0.0.1",
                "port": 1,
                "user": "u",
                "database": "d",
                "password": "p",
                "process": "x",
            },
        ),
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert set(shipping.answer(done.stdout)) >= {"row", "refusal"}


def test_the_request_is_not_readable_in_the_program(tmp_path: Path) -> None:
    request = {"engine": "mariadb", "host": "h", "port": 1, "user": "u", "database": "d", "password": "open-sesame"}
    assert "open-sesame" not in shipping.program(database.examine, request)


def test_text_of_all_kinds_survives(tmp_path: Path) -> None:
    done = run(shipping.program(system.look, {"units": [], "paths": ["/naïve 🦀 '\"\\"]}), tmp_path)
    if done.returncode == 0:
        assert shipping.answer(done.stdout)["paths"] == {"/naïve 🦀 '\"\\": None}
    else:  # no systemd here: the look fails by itself, in its own words
        assert "systemctl" in done.stderr


def test_relative_imports_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "shipment"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("from . import one\n")
    (package / "inner" / "one.py").write_text("from ..other import VALUE as value\n")
    (package / "other.py").write_text("VALUE = 7\n")
    (package / "main.py").write_text("import json\nfrom .inner import one\ndef go(add): return one.value + add\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(shipping, "_PACKAGES", {"shipment"})
    import shipment.main  # type: ignore[import-not-found]

    done = run(shipping.program(shipment.main.go, {"add": 3}), tmp_path)
    assert (done.stdout, done.stderr) == ("10\n", "")


def test_a_failure_on_the_server_ends_with_its_reason(tmp_path: Path) -> None:
    done = run(shipping.program(cache.value, {"wrong": 1}), tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("TypeError: value() got an unexpected keyword argument")


def test_the_launcher_on_servers_is_the_one_that_is_shipped() -> None:
    assert process.__name__ in shipping._sources(system.__name__)
