"""`stackctl validate` on a machine with the whole stack: green as it is, and each thing broken once is caught."""

import json
from pathlib import Path

import pytest

from stackctl.process import Result
from tests.breakages import BREAKAGES, Breakage, ended, is_caught
from tests.conftest import draw
from tests.vm.conftest import Stack

pytestmark = [pytest.mark.vm, pytest.mark.xdist_group("stack")]

ALWAYS = {"storage", "listeners", "reboot"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "breakage" in metafunc.fixturenames:
        # those of services are made on a server that needs no emulation: tests/native
        candidates = [breakage for breakage in BREAKAGES if breakage.on_disks]
        chosen = draw(metafunc.config, "breakages", candidates, 1)
        metafunc.parametrize("breakage", chosen, ids=[breakage.name.replace(" ", "-") for breakage in chosen])


def test_the_whole_stack_is_green(stack: Stack, tmp_path: Path) -> None:
    done = stack.stackctl("validate", "--json", "--junit", str(tmp_path / "report.xml"), check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert ended(report, "failed") == {}
    assert ended(report, "not shown") == {}
    assert done.returncode == 0
    assert {check["role"] for check in report["checks"]} == ALWAYS | set(stack.roles)
    assert (tmp_path / "report.xml").read_text().count("<testcase ") == len(report["checks"])


def test_what_is_broken_is_caught_and_nothing_else(stack: Stack, breakage: Breakage) -> None:
    def validate(*words: str) -> Result:
        return stack.stackctl("validate", "--json", *words, check=False)

    is_caught(breakage, stack.ssh, validate, frozenset())
