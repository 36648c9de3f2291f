"""Processes that run on a server, by their names."""

from collections.abc import Iterator
from pathlib import Path


def named(name: str, proc: Path = Path("/proc")) -> Iterator[Path]:
    """The folder in ``proc`` of each process of this name."""
    for comm in proc.glob("[0-9]*/comm"):
        try:
            if comm.read_text().strip() == name:
                yield comm.parent
        except OSError:
            continue


def working_directory(name: str, proc: Path = Path("/proc")) -> Path | None:
    """The folder that a process of this name works in (a database server: its data); None where none runs."""
    for process in named(name, proc):
        try:
            return (process / "cwd").readlink()
        except OSError:
            continue
    return None
