"""How the house is built: which way imports point, who may start processes and print, how long a module may be."""

import ast
import graphlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOUNDATION = {"console", "process", "paths", "units", "errors", "lock"}
PARTS = {"site", "hardware", "storage", "lab", "image", "apply", "validation", "database"}
LONGEST = 400
"""Lines; a module that grows past 350 usually hides a second noun."""
WORLDLY = {"subprocess", "os", "shutil", "tempfile", "socket", "pathlib", "stackctl.process", "stackctl.console"}
"""What arithmetic has no use for."""
STARTERS = {"subprocess", "pty", "pexpect", "multiprocessing", "asyncio.subprocess"}


def _modules(package: str) -> dict[str, Path]:
    """Dotted names of all modules of a package, with their files."""
    found = {}
    for file in sorted((ROOT / package).rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


STACKCTL = _modules("stackctl")
STACKSEARCH = _modules("stacksearch")
ALL = {**STACKCTL, **STACKSEARCH}
ON_SERVERS = {name for name in STACKCTL if name.startswith(("stackctl.node", "stackctl.validation.probes"))}


@cache
def _tree(name: str) -> ast.Module:
    return ast.parse(ALL[name].read_text(encoding="utf-8"), str(ALL[name]))


@cache
def _imports(name: str) -> frozenset[tuple[str, bool]]:
    """What a module imports, in full; and whether it does so by a relative import."""
    return frozenset(_found_imports(name))


def _found_imports(name: str) -> Iterator[tuple[str, bool]]:
    package = name if ALL[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield (whole if whole in ALL else base), bool(node.level)


def _part(name: str) -> str:
    """The part of the package that a module belongs to; empty for the package itself."""
    return [*name.split("."), ""][1]


def _ours(name: str) -> set[str]:
    return {imported for imported, _ in _imports(name) if imported in STACKCTL and _part(imported)}


def _calls(name: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def test_imports_point_one_way() -> None:
    allowed = {
        **dict.fromkeys(FOUNDATION, FOUNDATION),
        **dict.fromkeys(PARTS, FOUNDATION | PARTS | {"node"}),
        "node": {"node"},
        "cli": FOUNDATION | PARTS | {"cli"},
    }
    assert [
        f"{name} imports {imported}"
        for name in STACKCTL
        for imported in sorted(_ours(name))
        if _part(name) and _part(imported) not in allowed.get(_part(name), set())
    ] == []


def test_every_part_is_known() -> None:
    assert {_part(name) for name in STACKCTL} <= {"", "cli", "node", *FOUNDATION, *PARTS}


def test_storage_is_pure() -> None:
    """Arithmetic over frozen values, also by way of what it imports of its own."""
    assert [
        f"{name} imports {imported}"
        for name in STACKCTL
        if _part(name) == "storage"
        for imported, _ in sorted(_imports(name))
        if imported in WORLDLY
    ] == []


def test_node_is_the_standard_library_and_itself() -> None:
    """It is shipped to servers: relative imports of its own, nothing else of ours, nothing from PyPI."""
    for name in (name for name in STACKCTL if _part(name) == "node"):
        for imported, relative in _imports(name):
            if relative:
                assert _part(imported) == "node", f"{name} imports {imported}"
            else:
                assert imported.split(".")[0] in sys.stdlib_module_names, f"{name} imports {imported}"


def test_the_two_packages_stand_apart() -> None:
    other = {"stackctl": "stacksearch", "stacksearch": "stackctl"}
    assert [
        f"{name} imports {imported}"
        for name in ALL
        for imported, _ in sorted(_imports(name))
        if imported.split(".")[0] == other[name.split(".")[0]]
    ] == []


def test_no_import_goes_in_a_circle() -> None:
    for modules in (STACKCTL, STACKSEARCH):
        graph = {name: {to for to, _ in _imports(name) if to in modules and to != name} for name in modules}
        graph["stackctl.cli"] = set()  # the command line's root takes in its commands at its end
        list(graphlib.TopologicalSorter(graph).static_order())


def test_one_module_starts_processes() -> None:
    """Others may name the constants and exceptions of subprocess, but call nothing of it."""
    starting = {"os.system", "os.popen", "os.fork", "os.execv", "os.execvp", "os.execvpe", "os.posix_spawn"}
    found = []
    for name in STACKCTL.keys() - ON_SERVERS - {"stackctl.process"}:
        calls = list(_calls(name))
        found += [
            f"{name}:{line}: {call}" for call, line in calls if call in starting or call.startswith("subprocess.")
        ]
        direct = {imported for imported, _ in _imports(name)} & (STARTERS - {"subprocess"})
        found += [f"{name} imports {imported}" for imported in direct]
        found += [
            f"{name}:{node.lineno}: from subprocess"
            for node in ast.walk(_tree(name))
            if isinstance(node, ast.ImportFrom) and node.module == "subprocess"
        ]
    assert found == []


def test_one_module_prints() -> None:
    printing = {"print", "input", "sys.stdout.write", "sys.stderr.write", "typer.echo", "rich.print", "Console"}
    assert [
        f"{name}:{line}: {call}"
        for name in STACKCTL.keys() - ON_SERVERS - {"stackctl.console"}
        for call, line in _calls(name)
        if call in printing
    ] == []


def test_modules_are_short() -> None:
    lines = {name: len(file.read_text(encoding="utf-8").splitlines()) for name, file in ALL.items()}
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}


def test_modules_say_what_they_are_for() -> None:
    assert [name for name in ALL if not (ast.get_docstring(_tree(name)) or "").strip()] == []
