"""`stackctl validate`: does the stack work as the site says?"""

from pathlib import Path
from typing import Annotated

import typer

from stackctl import console
from stackctl.cli.options import Inventory, Json
from stackctl.site.load import open_site
from stackctl.validation import junit, report
from stackctl.validation.roles import SUITES
from stackctl.validation.run import validate as run_suites

Hosts = Annotated[
    list[str] | None, typer.Argument(help="Hosts or groups of the site; all without any.", show_default=False)
]
Roles = Annotated[
    list[str] | None,
    typer.Option("--role", help=f"Only this suite, may be repeated: {', '.join(SUITES)}.", show_default=False),
]
Keyword = Annotated[
    str | None,
    typer.Option(
        "-k", "--keyword", metavar="EXPR", help="Only checks that match, as pytest's -k.", show_default=False
    ),
]
Crash = Annotated[
    bool,
    typer.Option("--crash", help="Also kill the database, to see it come back: seconds without it."),
]
Junit = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML too.", show_default=False)
]


def validate(
    hosts: Hosts = None,
    inventory: Inventory = None,
    role: Roles = None,
    keyword: Keyword = None,
    crash: Crash = False,
    junit_file: Junit = None,
    json: Json = False,
) -> None:
    """Check that the servers are as the site says and that the services do their work.

    Changes nothing that stays. Exit code 4 when a check finds a fault, 1 when a host cannot be checked.

    Example: stackctl validate -i inventories/lab --role queue --role cache
    """
    opened = open_site(inventory)
    if junit_file is not None:
        junit.writable(junit_file)
    found = run_suites(
        opened.file, opened.site.site, hosts=hosts or (), suites=role or (), keyword=keyword, crash=crash
    )
    if junit_file is not None:
        junit.write(found, junit_file)
    if json:
        console.print_json(found.to_json())
    else:
        report.show(found)
    report.conclude(found)
