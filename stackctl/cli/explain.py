"""`stackctl explain` and `stackctl schema`: every key of stack.yml."""

from enum import StrEnum
from typing import Annotated, Optional

import typer

from stackctl import console
from stackctl.cli.options import Inventory, Json
from stackctl.hardware.dump import Dump
from stackctl.site.effective import effective
from stackctl.site.load import open_site
from stackctl.site.reference import keys, keys_under
from stackctl.site.schema import json_schema


class Described(StrEnum):
    """What has a schema."""

    SITE = "stack.yml"
    MACHINE = "machine"


def _key_paths() -> list[str]:
    return [key.dotted for key in keys()]


def explain(
    key: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            help="A key path, such as `hosts.NAME.lab`; all, if not given.",
            show_default=False,
            autocompletion=_key_paths,
        ),
    ] = None,
    inventory: Inventory = None,
    values: Annotated[
        bool, typer.Option("--values", help="Show what this site ends up with, and where each value comes from.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the keys of stack.yml: type, default, meaning; or with --values what a site ends up with.

    Example: stackctl explain layouts.NAME.disks

    Example: stackctl explain --values -i inventories/lab services
    """
    if values:
        shown = effective(open_site(inventory), key)
        if json:
            console.print_json({item.dotted: {"value": item.value, "source": item.source} for item in shown})
        else:
            console.print_table(["KEY", "VALUE", "FROM"], [(item.dotted, item.value, item.source) for item in shown])
        return
    found = keys_under(key)
    if json:
        console.print_json(
            [
                {"key": k.dotted, "type": k.type, "required": k.required, "default": k.default, "doc": k.doc}
                for k in found
            ]
        )
    else:
        console.print_table(
            ["KEY", "TYPE", "DEFAULT", "MEANING"], [(k.dotted, k.type, k.default_words, k.doc) for k in found]
        )


def schema(
    what: Annotated[Described, typer.Argument(help="`stack.yml`, or `machine`: the dump of one.")] = Described.SITE,
) -> None:
    """Print the JSON Schema of stack.yml, for editors; or that of a machine's dump (docs/machine-dump.md).

    Example: stackctl schema > .stack.schema.json

    Example: stackctl schema machine
    """
    console.print_json(json_schema() if what is Described.SITE else json_schema(Dump, "a machine's dump"))
