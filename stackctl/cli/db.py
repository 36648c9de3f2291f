"""`stackctl db`: what concerns a site's database as a whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Optional

import typer

from stackctl import console
from stackctl.apply.recording import recorded
from stackctl.cli import moves
from stackctl.cli.options import Inventory, Json
from stackctl.database.endpoints import read_endpoints
from stackctl.database.ends import TARGET_PORT, OnSite, on_site
from stackctl.database.engines import ENGINES
from stackctl.database.move import Job
from stackctl.database.move import move as do
from stackctl.database.plan import MovePlan
from stackctl.database.session import Server
from stackctl.errors import InputError, RefusedError
from stackctl.site.load import open_site

app = typer.Typer(no_args_is_help=True, help="A site's database as a whole.")

To = Annotated[
    str,
    typer.Option("--to", metavar="ENGINE", help=f"The engine to move to: {', '.join(ENGINES)}.", show_default=False),
]
Database = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--database", help="Which database, where the accounts own several.", show_default=False),
]
Host = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--host", help="Whose database, where several hosts carry one.", show_default=False),
]
TargetHost = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--target-host", help="The host to move to; the same one, if not given.", show_default=False),
]
TargetPort = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--target-port",
        min=1,
        max=65535,
        help=f"Where the target's MySQL protocol listens: {TARGET_PORT} on the same host, else its database_port.",
        show_default=False,
    ),
]
EndpointsFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--endpoints", metavar="FILE", help="Move between the two servers of this file instead.", show_default=False
    ),
]
Replace = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--replace",
        metavar="TABLE",
        help="A table that the target may lose with all its rows; may be given more than once.",
        show_default=False,
    ),
]
Check = Annotated[bool, typer.Option("--check", help="Show the plan and what stands in the way; write nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Agree to the plan without being asked.")]


@app.callback()
def _db() -> None:
    """A site's database as a whole."""


@app.command()
def move(
    to: To,
    inventory: Inventory = None,
    database: Database = None,
    host: Host = None,
    target_host: TargetHost = None,
    target_port: TargetPort = None,
    endpoints: EndpointsFile = None,
    replace: Replace = None,
    check: Check = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Move a database with its rows from one engine to another; stop the application before.

    Lists all that cannot be moved before anything is written, brings the rows over, compares both ends row by row.
    After an interruption the same command goes on. Tables that the target has of its own are refused (exit 3).

    Example: stackctl db move -i sites/frankfurt --to drizzle --check

    Example: stackctl db move --endpoints ends.yml --to mariadb --yes
    """

    def show(plan: MovePlan) -> None:
        if not json:
            moves.show(plan)
        elif plan.refusals:
            console.print_json(plan.to_json())

    def agree(plan: MovePlan) -> bool:
        if yes:
            return True
        if not console.can_ask():
            raise RefusedError("nobody here to agree to the move", hint="--check shows the plan; --yes agrees to it")
        return console.confirm(f"Move {plan.rows} rows from {plan.source} to {plan.target}?")

    on = OnSite(to, database, host, target_host, target_port)
    with _ends(inventory, endpoints, on, check) as (source, target):
        report = do(source, target, Job(frozenset(replace or ()), check), show=show, agree=agree)
        if json:
            console.print_json(report.to_json())
        else:
            moves.conclude(report)
        report.check()


@contextmanager
def _ends(inventory: Path | None, endpoints: Path | None, on: OnSite, check: bool) -> Iterator[tuple[Server, Server]]:
    """The two ends: of a site, whose lock is held and whose runs are recorded; or of a file."""
    if endpoints is None:
        site = open_site(inventory)
        options = {"to": on.to, "database": on.database, "target_host": on.target_host, "check": check}
        kind = "db check" if check else "db move"
        with recorded(site.site.site, kind, options=options), on_site(site, on) as ends:
            yield ends
        return
    if inventory is not None or on != OnSite(on.to):
        raise InputError("--endpoints says all of where to move; leave the options of a site out")
    file = read_endpoints(endpoints)
    if file.target.engine != on.to:
        raise InputError(f"--to {on.to}, and the target of {endpoints} is {file.target.engine}")
    yield file.source.server(), file.target.server()
