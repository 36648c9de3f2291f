"""`stackctl check`: is the description of a site right?"""

import typer

from stackctl import console
from stackctl.cli.options import Inventory, Json
from stackctl.errors import ExitCode
from stackctl.site.document import shown
from stackctl.site.load import SiteError, open_site
from stackctl.site.overrides import doubts
from stackctl.site.summary import summary


def check(inventory: Inventory = None, json: Json = False) -> None:
    """Check a site's stack.yml: every error at once, with its line; no server is touched.

    Example: stackctl check -i inventories/lab
    """
    try:
        opened = open_site(inventory)
    except SiteError as failure:
        if not json:
            raise
        console.print_json({"errors": [problem.as_json() for problem in failure.problems]})
        raise typer.Exit(ExitCode.USAGE) from None
    hosts = summary(opened)
    warnings = (*opened.warnings, *doubts(opened))
    if json:
        console.print_json(
            {
                "site": opened.site.site,
                "file": str(opened.file),
                "hosts": [host.as_json() for host in hosts],
                "errors": [],
                "warnings": [warning.as_json() for warning in warnings],
            }
        )
        return
    console.print_table(
        ["HOST", "ADDRESS", "ROLES", "LAYOUT", "LISTENS ON"],
        [(h.name, h.address, ", ".join(h.roles), h.layout or "", h.listens_words) for h in hosts],
    )
    for warning in warnings:
        console.warn(str(warning))
    what = "is right" if not warnings else f"can be used; warnings: {len(warnings)}"
    console.note(f"{shown(opened.file)} {what}")
