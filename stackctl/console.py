"""The only printer: data to stdout, narration to stderr, nested progress with times."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from stackctl.units import format_seconds

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_PIPE_WIDTH = 100_000
_depth = 0


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> None:
    """A table on stdout; every cell is shown by ``str`` and is never read as markup.

    It folds to a terminal's width; in a pipe every row is one line.
    """
    table = Table(title=title, box=None, pad_edge=False, title_justify="left", header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    wide = out if out.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)
    wide.print(table, soft_wrap=False)


def say(text: str, *, style: str | None = None) -> None:
    """A line of data for people, on stdout."""
    out.print(escape(text), style=style)


def note(text: str, *, style: str | None = None) -> None:
    """A line of narration on stderr, indented under the step that is under way."""
    err.print("  " * _depth + escape(text), style=style)


def warn(text: str) -> None:
    """A warning on stderr."""
    note(f"warning: {text}", style="yellow")


def error(text: str) -> None:
    """An error on stderr."""
    err.print(f"error: {escape(text)}", style="red")


@contextmanager
def step(title: str) -> Iterator[None]:
    """A named step of long work: its title when it begins, its time when it ends; steps nest."""
    global _depth
    note(f"▸ {title}", style="bold" if _depth == 0 else None)
    began = time.monotonic()
    _depth += 1
    ended = "failed"
    try:
        yield
        ended = "done"
    except KeyboardInterrupt:
        ended = "interrupted"
        raise
    finally:
        _depth -= 1
        style = "green" if ended == "done" else "red"
        mark = "✓" if ended == "done" else "✗"
        note(f"{mark} {title}: {ended} in {format_seconds(time.monotonic() - began)}", style=style)


@contextmanager
def foot(lines: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Keep ``lines()`` at the foot of the terminal, drawn anew twice a second, while narration scrolls above.

    They are gone at the end. Where stderr is no terminal, nothing is drawn.
    """
    if not err.is_terminal:
        yield
        return

    def drawn() -> Group:
        return Group(*(Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in lines()))

    with Live(get_renderable=drawn, console=err, refresh_per_second=2, transient=True, redirect_stdout=False):
        yield


def can_ask() -> bool:
    """True where someone sits at a terminal and can answer."""
    return sys.stdin.isatty()


def confirm(question: str) -> bool:
    """Ask on the terminal; False where nobody is there to answer."""
    if not can_ask():
        return False
    return err.input(f"{escape(question)} [y/N] ").strip().lower() in {"y", "yes"}


def print_mapping(values: Mapping[str, object]) -> None:
    """Aligned ``name  value`` lines on stdout."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        say(f"{name:<{width}}  {value}")
