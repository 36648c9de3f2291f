"""The inventory plugin, asked by the real ansible-inventory."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackctl import paths
from stackctl.site.load import open_site
from stackctl.site.variables import host_variables

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def inventory(tmp_path: Path) -> Run:
    """Runs ansible-inventory with the project's ansible.cfg and a state folder of its own."""

    def _run(source: Path, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "ANSIBLE_NOCOLOR": "1",
        }
        return subprocess.run(
            [paths.program("ansible-inventory"), "-i", source, *words],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return _run


def _plain(value: Any) -> Any:
    """Without Ansible's marks of text that is no template."""
    if isinstance(value, dict):
        return value.get("__ansible_unsafe") or {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A copy of the single example, to put variables beside."""
    folder = tmp_path / "site"
    shutil.copytree(ROOT / "inventories" / "single", folder)
    return folder


def test_the_graph_of_the_lab(inventory: Run) -> None:
    done = inventory(ROOT / "inventories" / "lab" / "stack.yml", "--graph")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    groups = [line.strip("|- @:") for line in done.stdout.splitlines() if "@" in line]
    assert groups == ["all", "ungrouped", "database", "queue", "cache", "search", "storage", "lab"]
    assert done.stdout.count("metal-1") == 6


def test_ansible_sees_what_stackctl_publishes(inventory: Run, site: Path) -> None:
    done = inventory(site / "stack.yml", "--host", "metal-1")
    assert done.returncode == 0, done.stderr
    assert _plain(json.loads(done.stdout)) == host_variables(open_site(site))["metal-1"]


def test_variables_beside_the_file_win(inventory: Run, site: Path) -> None:
    (site / "group_vars" / "all.yml").write_text("database_port: 1111\ncache_port: 1111\nown: 1\n")
    (site / "group_vars" / "cache.yml").write_text("cache_port: 2222\n")
    (site / "host_vars").mkdir()
    (site / "host_vars" / "metal-1.yml").write_text("search_web_port: 8080\nansible_host: 192.0.2.9\n")
    seen = _plain(json.loads(inventory(site / "stack.yml", "--host", "metal-1").stdout))
    assert (seen["database_port"], seen["cache_port"], seen["own"]) == (1111, 2222, 1)
    assert (seen["search_web_port"], seen["ansible_host"]) == (8080, "192.0.2.9")


def test_the_folder_as_the_inventory(inventory: Run, site: Path) -> None:
    """What else lies there is taken for no inventory: the secrets, the schema, a README."""
    (site / "secrets.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n3030\n")
    (site / ".stack.schema.json").write_text("{}")
    (site / "README.md").write_text("words")
    done = inventory(site, "--graph")
    assert (done.returncode, done.stderr) == (0, "")
    assert "metal-1" in done.stdout


def test_a_wrong_site_ends_the_run_with_every_error(inventory: Run, site: Path) -> None:
    file = site / "stack.yml"
    file.write_text(file.read_text().replace("layout: raid10", "layout: raid11\n    rols: []"))
    lines = file.read_text().splitlines()
    layout = next(number for number, line in enumerate(lines, 1) if "raid11" in line)
    done = inventory(file, "--graph")
    assert done.returncode != 0
    assert (
        f"{file}:{layout}: hosts.metal-1.layout: raid11 is no layout of this site; did you mean raid10?"
        in done.stderr
    )
    assert f"{file}:{layout + 1}: hosts.metal-1.rols: is not a known key; did you mean roles?" in done.stderr
    assert "Traceback" not in done.stderr


def test_broken_yaml_ends_the_run_with_its_line(inventory: Run, site: Path) -> None:
    file = site / "stack.yml"
    file.write_text("plugin: stackctl\nhosts: [\n")
    done = inventory(file, "--graph")
    assert done.returncode != 0
    assert f"{file}:3: not valid YAML: " in done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hosts.yml", "all: {hosts: {other: {}}}\n"),
        ("stack.yml", "plugin: 'community.general.lxd'\n"),
    ],
)
def test_files_of_others_are_left_to_them(inventory: Run, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = inventory(tmp_path / name, "--graph")
    assert "with 'stackctl' plugin" not in done.stderr


def test_beside_another_inventory(inventory: Run, site: Path, tmp_path: Path) -> None:
    (tmp_path / "hosts.ini").write_text("[extra]\nother ansible_host=192.0.2.1\n")
    done = inventory(site / "stack.yml", "-i", str(tmp_path / "hosts.ini"), "--graph")
    assert done.returncode == 0, done.stderr
    assert "@extra" in done.stdout
    assert "metal-1" in done.stdout


def test_an_ansible_without_stackctl_says_so_once(site: Path, tmp_path: Path) -> None:
    """As if it were the Ansible of another Python: the package is hidden behind one that is not there."""
    (tmp_path / "stackctl.py").write_text("raise ModuleNotFoundError(name='stackctl')\n")
    done = subprocess.run(
        [paths.program("ansible-inventory"), "-i", site / "stack.yml", "--graph"],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert f"needs the Python package stackctl (stackctl is missing from {sys.executable})" in done.stderr
    assert "run the ansible-playbook that is installed beside stackctl" in done.stderr
    assert "Traceback" not in done.stderr
