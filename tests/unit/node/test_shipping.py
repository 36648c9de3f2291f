"""What is sent to servers is whole: each module names every part of ``stackctl.node`` that it needs."""

import ast
from pathlib import Path

import pytest

from stackctl import paths

_MODULES = sorted(paths.data("playbooks", "plugins", "modules").glob("*.py"))
_NODE = paths.package() / "node"


def _imports(path: Path) -> set[str]:
    """Names of node modules that a file of ``stackctl.node`` imports."""
    found: set[str] = set()
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.ImportFrom) and statement.level:
            names = (
                [statement.module.split(".")[0]] if statement.module else [alias.name for alias in statement.names]
            )
            found.update(names)
    return found


def _closure(names: set[str]) -> set[str]:
    seen: set[str] = set()
    while todo := names - seen:
        name = todo.pop()
        seen.add(name)
        names = names | _imports(_NODE / f"{name}.py")
    return seen


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: path.stem)
def test_a_module_names_every_node_module_it_needs(path: Path) -> None:
    named: set[str] = set()
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.ImportFrom) and statement.module == "ansible.module_utils.node":
            named.update(alias.name for alias in statement.names)
    assert named == _closure(named), "mitogen sends only what the module itself names"


@pytest.mark.parametrize("path", sorted(_NODE.glob("*.py")), ids=lambda path: path.stem)
def test_node_code_stands_alone(path: Path) -> None:
    """Standard library and siblings by relative import, nothing else."""
    import sys

    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.ImportFrom) and not statement.level:
            assert statement.module is not None
            assert statement.module.split(".")[0] in sys.stdlib_module_names
        elif isinstance(statement, ast.Import):
            assert {alias.name.split(".")[0] for alias in statement.names} <= sys.stdlib_module_names


def test_the_folder_of_module_utils_holds_nothing_but_node() -> None:
    """Anything else there could hide a module of Ansible's own."""
    folder = paths.data("playbooks", "plugins", "module_utils")
    assert [path.name for path in folder.iterdir() if path.name != "__pycache__"] == ["node"]
    assert (folder / "node" / "process.py").read_text() == (_NODE / "process.py").read_text()
