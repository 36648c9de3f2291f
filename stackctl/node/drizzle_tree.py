"""A tree of Drizzle as an archive brings it: where its parts lie, what it needs, and whether it fits a server."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from . import elf
from .elf import Elf, ElfError
from .errors import NodeError

_PLUGIN = re.compile(r"lib([a-z0-9_]+)_plugin\.so")
_LIST = re.compile(rb"[a-z0-9_]+(?:,[a-z0-9_]+)+,?")
ALLOCATOR = "libtcmalloc"
"""What halves Drizzle's throughput (2602 instead of 5795 read-only transactions a second at 16 connections, 2009)."""


@dataclass(frozen=True)
class Chosen:
    """Plugins that the site adds to those that drizzled loads by itself, and those that it takes away."""

    added: tuple[str, ...] = ()
    wished: tuple[str, ...] = ()
    """Of the added ones, those that may be absent from the archive."""
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tree:
    """The parts, as paths below ``root``."""

    root: Path
    program: str
    plugin_directory: str
    library_directories: tuple[str, ...]
    plugins: tuple[str, ...]
    """Names of those that are loadable files."""

    @classmethod
    def find(cls, root: Path) -> "Tree":
        """Look for the parts. Raises NodeError of kind ``input`` where there is no server among the files."""
        files = [path for path in sorted(root.rglob("*")) if path.is_file()]
        programs = [path for path in files if path.name == "drizzled" and path.parent.name in {"sbin", "bin"}]
        if not programs:
            raise NodeError(
                "the archive holds no sbin/drizzled and no bin/drizzled",
                kind="input",
                hint="make it of the folder that `make install` filled; docs/drizzle.md shows the layout",
            )
        program = min(programs, key=lambda path: (len(path.parts), path.parent.name != "sbin"))
        plugins: dict[Path, list[str]] = {}
        for path in files:
            if match := _PLUGIN.fullmatch(path.name):
                plugins.setdefault(path.parent, []).append(match[1])
        folder = max(plugins, key=lambda place: len(plugins[place]), default=program.parent)
        shared = {path.parent for path in files if path.name.startswith("lib") and ".so" in path.name} - {folder}
        return cls(
            root,
            str(program.relative_to(root)),
            str(folder.relative_to(root)),
            tuple(str(place.relative_to(root)) for place in sorted(shared)),
            tuple(plugins.get(folder, ())),
        )

    @property
    def base(self) -> str:
        """The folder that holds sbin, for --basedir."""
        return str(Path(self.program).parents[1])

    @property
    def search(self) -> tuple[Path, ...]:
        """Folders with libraries of its own."""
        return tuple(self.root / place for place in self.library_directories)

    def plugin(self, name: str) -> Path:
        """The file of a loadable plugin."""
        return self.root / self.plugin_directory / f"lib{name}_plugin.so"

    def to_result(self) -> dict[str, Any]:
        """Plain values for templates."""
        return {
            "program": self.program,
            "base": self.base,
            "plugin_directory": self.plugin_directory,
            "library_directories": list(self.library_directories),
            "plugins": list(self.plugins),
        }

    def has(self, plugin: str) -> bool:
        """Whether a plugin is there, as a file or compiled in."""
        return plugin in self.plugins or f"_drizzled_{plugin}_plugin_".encode() in self._server.names

    @cached_property
    def _server(self) -> Elf:
        return _read(self.root / self.program)

    @cached_property
    def by_itself(self) -> tuple[str, ...]:
        """Loadable plugins that drizzled loads without being told: a list compiled into it.

        Empty where none is recognised; the trial start shows then what is wrong with one of them.
        """
        lists = (match[0].decode().strip(",").split(",") for match in _LIST.finditer(self._image()))
        there = set(self.plugins)
        fitting = [names for names in lists if set(names) <= there]
        longest: list[str] = max(fitting, key=len, default=[])
        return tuple(longest)

    def _image(self) -> bytes:
        return (self.root / self.program).read_bytes()

    def chosen(self, chosen: Chosen) -> tuple[str, ...]:
        """The added plugins, without those wished ones that are not there.

        Raises NodeError of kind ``input`` that names the others which are not there.
        """
        absent = [name for name in chosen.added if not self.has(name)]
        if strangers := [name for name in absent if name not in chosen.wished]:
            raise NodeError(
                f"the archive has no plugin {', '.join(strangers)}",
                kind="input",
                hint=f"it has {', '.join(self.plugins) or 'no loadable plugins'}; see database_drizzle_plugins",
            )
        return tuple(name for name in chosen.added if name not in absent)

    def loaded(self, chosen: Chosen) -> tuple[Path, ...]:
        """Files that a server with these plugins loads: the program first."""
        names = dict.fromkeys([*self.by_itself, *self.chosen(chosen)])
        files = [self.plugin(name) for name in names if name in self.plugins and name not in chosen.removed]
        return (self.root / self.program, *files)

    def check(self, chosen: Chosen, machine: str, glibc: elf.Version) -> tuple[str, ...]:
        """Hold what is to be loaded against a server; return the sonames that the server has to give.

        Raises NodeError: kind ``input`` for another architecture, a newer glibc or a plugin that is not there,
        kind ``refused`` where tcmalloc is linked.
        """
        needed: set[str] = set()
        for path, found in self._closure(self.loaded(chosen)):
            name = str(path.relative_to(self.root))
            if not found.runs_on(machine):
                raise NodeError(
                    f"the archive is for another machine: its {name} is for {found}, and the server is {machine}",
                    kind="input",
                    hint=f"name an archive that was built for {machine}",
                )
            if found.glibc > glibc:
                raise NodeError(
                    f"{name} needs glibc {_version(found.glibc)} or newer, and the server has {_version(glibc)}",
                    kind="input",
                    hint="name an archive that was built on the server's release of Debian",
                )
            if any(soname.startswith(ALLOCATOR) for soname in found.needed):
                raise allocator(name)
            needed.update(found.needed)
        return tuple(sorted(needed - self._own.keys()))

    def _closure(self, files: Iterable[Path]) -> Iterator[tuple[Path, Elf]]:
        """The files and the libraries of the tree's own that they need."""
        todo, seen = list(files), set()
        while todo:
            path = todo.pop(0)
            if path in seen:
                continue
            seen.add(path)
            found = _read(path)
            yield path, found
            todo += [self._own[soname] for soname in found.needed if soname in self._own]

    @cached_property
    def _own(self) -> dict[str, Path]:
        """The libraries that the tree brings, by the name that the loader looks for."""
        return {path.name: path for place in self.search for path in sorted(place.iterdir()) if ".so" in path.name}


def allocator(name: str) -> NodeError:
    """The refusal of a server that is linked to tcmalloc."""
    return NodeError(
        f"{name} is linked to tcmalloc, which halves Drizzle's throughput",
        kind="refused",
        hint="name an archive that was built without --enable-tcmalloc",
    )


def _read(path: Path) -> Elf:
    try:
        return elf.read(path)
    except ElfError as error:
        raise NodeError(
            f"the archive's {path.parent.name}/{path.name} cannot be loaded: {error}",
            kind="input",
            hint="make the archive of what `make install` filled, not of the folder it was built in",
        ) from None


def _version(version: elf.Version) -> str:
    return ".".join(map(str, version))
