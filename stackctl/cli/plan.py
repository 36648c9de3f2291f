"""`stackctl plan`: what would be done to the disks of a site."""

import json as codec
from pathlib import Path
from typing import Annotated, Optional

import typer

from stackctl import console
from stackctl.apply.survey import survey
from stackctl.cli import plans
from stackctl.cli.options import Inventory, Json, Limit, Wipe
from stackctl.site.load import open_site

Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--out", help="Write the plans as JSON to this file, too.", show_default=False),
]


def plan(
    inventory: Inventory = None, wipe: Wipe = None, limit: Limit = None, json: Json = False, out: Out = None
) -> None:
    """Look at the servers and show what is left to do on their disks; nothing is changed.

    Names every disk by its serial number, what it holds, what will happen to it, and the alignment of every layer.
    A disk that holds anything is refused (exit 3) until --wipe names it.

    Example: stackctl plan -i inventories/lab
    """
    found = survey(open_site(inventory), wipe=wipe or (), limit=limit)
    if out is not None:
        out.write_text(codec.dumps(found.to_json(), indent=2) + "\n", encoding="utf-8")
    if json:
        console.print_json(found.to_json())
    else:
        plans.show(found)
    found.check()
    if not found.plans:
        console.note("no server has a layout: no disks are touched")
    elif not found.pending:
        console.note("nothing to do: the disks carry their layouts")
