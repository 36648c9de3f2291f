"""`stackctl validate` on a server without a layout: green as it is, and each thing broken once is caught."""

import json
import subprocess
from pathlib import Path

import pytest

from stackctl import paths
from tests.breakages import BREAKAGES, NEEDS_LAYOUT, Breakage, ended, is_caught
from tests.conftest import draw
from tests.lib.applied import Server

SERVICES = {"database", "queue", "cache", "search", "listeners", "reboot"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "breakage" in metafunc.fixturenames:
        candidates = [breakage for breakage in BREAKAGES if not breakage.on_disks]
        chosen = draw(metafunc.config, "breakages", candidates, 4)
        metafunc.parametrize("breakage", chosen, ids=[breakage.name.replace(" ", "-") for breakage in chosen])


def test_all_services_are_green(stack: Server, tmp_path: Path) -> None:
    done = stack.stackctl("validate", "--json", "--junit", str(tmp_path / "report.xml"), check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert ended(report, "failed") == {}
    assert set(ended(report, "not shown")) <= NEEDS_LAYOUT
    assert done.returncode == 0
    assert {check["role"] for check in report["checks"]} == SERVICES
    assert (tmp_path / "report.xml").read_text().count("<testcase ") == len(report["checks"])


def test_what_is_broken_is_caught_and_nothing_else(stack: Server, breakage: Breakage) -> None:
    is_caught(
        breakage, stack.ssh, lambda *words: stack.stackctl("validate", "--json", *words, check=False), NEEDS_LAYOUT
    )


def test_on_request_the_database_is_killed_and_comes_back(stack: Server) -> None:
    pid = "systemctl show --value -p MainPID mariadb"
    before = stack.ssh(pid).stdout
    done = stack.stackctl("validate", "--json", "--crash", "--role", "database", "-k", "kill", check=False)
    (check,) = json.loads(done.stdout)["checks"]
    assert (check["name"], check["outcome"], check["detail"]) == ("comes_back_from_a_kill", "passed", "")
    assert stack.ssh(pid).stdout not in {before, "0\n"}
    tables = stack.ssh("mariadb -BNe \"SHOW TABLES LIKE 'stackctl_validate%'\" stacksearch").stdout
    assert tables == ""


def test_plain_pytest_makes_the_same_checks(stack: Server, tmp_path: Path) -> None:
    argv = [paths.program("pytest"), f"--ansible-inventory={stack.inventory / 'stack.yml'}"]
    argv += ["--pyargs", "stackctl.validation.suites.test_cache", "stackctl.validation.suites.test_queue", "-q"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout
    assert "10 passed" in done.stdout
