"""`stackctl apply`: from blank disks to running services."""

from typing import Annotated, Optional

import typer

from stackctl import console
from stackctl.apply.job import Done, Job, search_pages
from stackctl.apply.job import apply as do
from stackctl.apply.survey import Survey
from stackctl.cli import plans
from stackctl.cli.options import Inventory, Json, Limit, Wipe
from stackctl.errors import RefusedError
from stackctl.site.load import OpenSite, open_site
from stackctl.units import format_seconds

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Agree to the plan for the disks without being asked.")]
Check = Annotated[bool, typer.Option("--check", help="Show what would change; change nothing.")]
Tags = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--tags", help="Only these parts: storage, database, queue, cache, search.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Leave out of the progress what changed nothing.")]
Verbose = Annotated[int, typer.Option("--verbose", "-v", count=True, help="Show Ansible's own output; -vv: more.")]


def apply(
    inventory: Inventory = None,
    yes: Yes = False,
    wipe: Wipe = None,
    check: Check = False,
    limit: Limit = None,
    tags: Tags = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Bring a site's servers to what stack.yml says: disks, database, queue, cache, search.

    Looks at every server first, shows the plan for the disks, and asks before anything is changed on them. After an
    interruption the same command goes on. A second time it changes nothing.

    Example: stackctl apply -i inventories/lab --yes
    """
    site = open_site(inventory)
    job = Job(frozenset(wipe or ()), check, limit, tags, quiet, verbose)

    def show(survey: Survey) -> None:
        if not json and (survey.pending or survey.problems):
            plans.show(survey)

    def agree(survey: Survey) -> bool:
        if yes:
            return True
        if not console.can_ask():
            raise RefusedError(
                "there is something to do on the disks, and nobody here to agree to it",
                hint="`stackctl plan` shows it; --yes agrees to it",
            )
        hosts = ", ".join(plan.host for plan in survey.pending)
        return console.confirm(f"Carry out the plan for the disks of {hosts}?")

    done = do(site, job, show=show, agree=agree)
    if json:
        plain = {"plans": done.survey.to_json()["hosts"], "search_pages": search_pages(site)}
        console.print_json(done.outcome.to_json() | plain)
    else:
        _summary(site, job, done)
    done.outcome.check()


def _summary(site: OpenSite, job: Job, done: Done) -> None:
    totals = done.outcome.totals
    console.print_table(["ROLE", "TIME"], [(name, format_seconds(seconds)) for name, seconds in totals.roles.items()])
    console.say("")
    console.print_table(["HOST", "OK", "CHANGED", "FAILED", "SKIPPED"], totals.table())
    if done.outcome.faults:
        return
    word = "would change" if job.check else "changed"
    what = f"{len(totals.changes)} tasks {word} something" if totals.changes else f"nothing {word}"
    console.note(f"{what}; took {format_seconds(done.outcome.seconds)}; run {done.outcome.run_id}", style="green")
    for host, page in search_pages(site).items():
        console.say(f"search page of {host}: {page}")
