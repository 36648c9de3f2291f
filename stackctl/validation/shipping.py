"""Turns a function of ours into one Python program that a server runs from its standard input.

The program carries the sources of every module that the function needs beside the standard library (ours, and
PyMySQL), imports them from memory, calls the function with the request and prints the answer as one line of JSON.
"""

import ast
import base64
import importlib.util
import json
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGES = frozenset({__name__.split(".", 1)[0], "pymysql"})

_LOADER = '''\
import base64, importlib.abc, importlib.util, json, sys, zlib
SOURCES, FUNCTION, REQUEST = json.loads(zlib.decompress(base64.b85decode("{cargo}")))
class Shipped(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the modules that came with this program."""
    def find_spec(self, name, path=None, target=None):
        if name in SOURCES:
            return importlib.util.spec_from_loader(name, self, is_package=self.is_package(name))
    def is_package(self, name):
        return SOURCES[name][0]
    def get_source(self, name):
        return SOURCES[name][1]
sys.meta_path.insert(0, Shipped())
module, function = FUNCTION
print(json.dumps(getattr(importlib.import_module(module), function)(**REQUEST)))
'''


def program(function: Callable[..., Any], request: Mapping[str, object]) -> str:
    """The program that calls ``function(**request)``, whose arguments and result are plain JSON values.

    ``function`` lies at the top of a module of this package that imports nothing but the standard library, PyMySQL
    and modules of the same kind.
    """
    cargo = json.dumps([_sources(function.__module__), [function.__module__, function.__name__], dict(request)])
    packed = base64.b85encode(zlib.compress(cargo.encode())).decode("ascii")
    return _LOADER.replace("{cargo}", packed)


def answer(stdout: str) -> Any:
    """The function's result, read from what the program printed."""
    return json.loads(stdout.splitlines()[-1])


@cache
def _sources(module: str) -> dict[str, tuple[bool, str]]:
    """Whether each needed module is a package, and its source; parents come as empty packages."""
    found: dict[str, tuple[bool, str]] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        is_package, source = _read(name)
        found[name] = (is_package, source)
        waiting += _imports(name, is_package, source)
    for name in list(found):
        for parent in _parents(name):
            found.setdefault(parent, (True, ""))
    return found


def _read(module: str) -> tuple[bool, str]:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"{module} has no source to ship")
    return spec.submodule_search_locations is not None, Path(spec.origin).read_text(encoding="utf-8")


def _parents(module: str) -> list[str]:
    words = module.split(".")
    return [".".join(words[:count]) for count in range(1, len(words))]


def _imports(module: str, is_package: bool, source: str) -> list[str]:
    """Modules to ship that the source imports, relative imports resolved."""
    package = module if is_package else module.rpartition(".")[0]
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names.append(base)
            names += [f"{base}.{alias.name}" for alias in node.names if _is_module(f"{base}.{alias.name}")]
    return [name for name in names if name.split(".", 1)[0] in _PACKAGES]


def _is_module(name: str) -> bool:
    if name.split(".", 1)[0] not in _PACKAGES:
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
