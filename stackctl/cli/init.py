"""`stackctl init`: a new site."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from stackctl import console
from stackctl.site.create import create, examples
from stackctl.site.document import shown


def init(
    directory: Annotated[Path, typer.Argument(help="A new or empty folder.", show_default=False)],
    example: Annotated[
        str,
        typer.Option(
            "--example", help="What to start from: `single` (one real server) or `lab`.", autocompletion=examples
        ),
    ] = "single",
    name: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--name", help="The site's name; the folder's, if not given.", show_default=False),
    ] = None,
) -> None:
    """Write a new site: a commented stack.yml, group_vars/, the JSON Schema for your editor.

    Example: stackctl init sites/frankfurt
    """
    file = create(directory, example, name)
    where = shown(file.parent)
    console.say(f"{shown(file)} is written. Next, edit it (stackctl explain shows every key), then:")
    console.print_mapping(
        {
            f"  stackctl check -i {where}": "all that is wrong with it, at once",
            f"  stackctl plan -i {where}": "what would be done to which disk",
            f"  stackctl apply -i {where}": "do it",
        }
    )
