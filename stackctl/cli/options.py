"""The options that commands share."""

from pathlib import Path
from typing import Annotated, Optional

import typer

Inventory = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "-i",
        "--inventory",
        envvar="STACKCTL_INVENTORY",
        help="The site: a folder with a stack.yml, or the file. Without it: ./stack.yml, else the lab that ships.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Limit = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--limit", help="Only these hosts or groups, separated by commas.", show_default=False),
]
Wipe = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--wipe",
        metavar="SERIAL",
        help="A disk, by its serial number, that may lose all it holds; may be given more than once.",
        show_default=False,
    ),
]
