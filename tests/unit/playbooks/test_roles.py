"""Roles keep the house's rules: specs, defaults, preflight, READMEs from the specs."""

import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackctl import paths

_ROLES = sorted(path.parents[1] for path in paths.data("playbooks", "roles").glob("*/tasks/main.yml"))
_PLAYBOOKS = sorted(paths.data("playbooks").glob("*.yml"))


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def _options(role: Path) -> dict[str, Any]:
    options: dict[str, Any] = _load(role / "meta" / "argument_specs.yml")["argument_specs"]["main"].get("options", {})
    return options


@pytest.mark.parametrize("role", _ROLES, ids=lambda role: role.name)
def test_the_readme_is_what_the_specs_say(role: Path) -> None:
    script = runpy.run_path(str(paths.package().parent / "scripts" / "role-docs"))
    assert (role / "README.md").read_text() == script["readme"](role), "run scripts/role-docs"


@pytest.mark.parametrize("role", _ROLES, ids=lambda role: role.name)
def test_every_default_stands_in_the_specs_with_its_value(role: Path) -> None:
    file = role / "defaults" / "main.yml"
    defaults = _load(file) or {} if file.exists() else {}
    options = _options(role)
    for name, value in defaults.items():
        assert name in options
        assert options[name]["default"] == value
    for name, option in options.items():
        if "default" in option and name.startswith(role.name):
            assert name in defaults


@pytest.mark.parametrize("role", _ROLES, ids=lambda role: role.name)
def test_variables_carry_the_roles_name(role: Path) -> None:
    file = role / "defaults" / "main.yml"
    for name in (_load(file) or {}) if file.exists() else {}:
        assert name.startswith(f"{role.name}_")
    internal = role / "vars" / "main.yml"
    for name in (_load(internal) or {}) if internal.exists() else {}:
        assert name.startswith(f"__{role.name}_")


@pytest.mark.parametrize("role", _ROLES, ids=lambda role: role.name)
def test_handlers_are_restarts(role: Path) -> None:
    file = role / "handlers" / "main.yml"
    for handler in (_load(file) or []) if file.exists() else []:
        assert handler["name"].split()[0] in {"Restart", "Reload"}


def test_the_site_only_imports() -> None:
    for entry in _load(paths.data("playbooks", "site.yml")):
        assert set(entry) == {"name", "ansible.builtin.import_playbook"}
    order = [entry["ansible.builtin.import_playbook"] for entry in _load(paths.data("playbooks", "site.yml"))]
    assert order == ["storage.yml", "database.yml", "queue.yml", "cache.yml", "search.yml"]


@pytest.mark.parametrize("playbook", _PLAYBOOKS, ids=lambda path: path.stem)
def test_plays_gather_no_facts_and_hold_no_tasks_of_their_own(playbook: Path) -> None:
    for play in _load(playbook):
        if "ansible.builtin.import_playbook" in play:
            continue
        assert play["gather_facts"] is False
        if playbook.name in _imported_by_the_site():
            assert play["tags"] == [playbook.stem]
            assert "tasks" not in play


def _imported_by_the_site() -> set[str]:
    imported = {play["ansible.builtin.import_playbook"] for play in _load(paths.data("playbooks", "site.yml"))}
    assert "storage.yml" in imported
    return imported
