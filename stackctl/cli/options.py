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
