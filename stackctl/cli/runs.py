"""`stackctl runs`: what was done to a site, read from the run records."""

import time
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from stackctl import console
from stackctl.apply import records
from stackctl.apply.records import Run, TaskLine
from stackctl.cli.options import Inventory, Json
from stackctl.site.load import open_site
from stackctl.units import format_seconds


class _ShowByDefault(TyperGroup):
    """A word that is no command is the id of a run."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = ["show", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(cls=_ShowByDefault, invoke_without_command=True)

RunId = Annotated[str, typer.Argument(metavar="[ID]", help="A run's id, its beginning, or `last`.")]


@app.callback()
def runs(ctx: typer.Context, inventory: Inventory = None, json: Json = False) -> None:
    """List the runs of every site, or of the one given with -i; `runs ID` shows one.

    Examples: stackctl runs · stackctl runs last · stackctl runs -i inventories/lab --json
    """
    if ctx.invoked_subcommand is not None:
        return
    found = records.read_runs(open_site(inventory).site.site if inventory else None)
    if json:
        console.print_json([run.to_json() for run in found])
        return
    if not found:
        console.note("no runs yet; `stackctl apply` makes one")
        return
    console.print_table(
        ["ID", "SITE", "KIND", "WHO", "BEGAN", "TOOK", "STATUS", "CHANGED"],
        [
            (run.id, run.site, run.kind, run.who, _when(run.began), _took(run), run.status, _changed(run))
            for run in found
        ],
    )


@app.command()
def show(run_id: RunId = "last", json: Json = False) -> None:
    """Show one run: its tasks with their times, what changed, what failed.

    Example: stackctl runs show last
    """
    run = records.find_run(run_id)
    tasks = records.read_tasks(run)
    if json:
        console.print_json({**run.to_json(), "tasks": [task.to_json() for task in tasks]})
        return
    console.print_mapping(_facts(run, tasks))
    if tasks:
        console.say("")
        console.print_table(
            ["ROLE", "TASK", "HOST", "RESULT", "TIME"],
            [(task.role or task.play, task.task, task.host, _result(run, task), _time(task)) for task in tasks],
        )
    for error in run.errors:
        console.say(f"\n{error}", style="red")


@app.command()
def prune(
    keep: Annotated[int, typer.Option(min=0, help="How many of the newest runs of a site stay.")] = 20,
    inventory: Inventory = None,
) -> None:
    """Remove old run records, of every site or of the one given with -i.

    Example: stackctl runs prune --keep 5
    """
    removed = records.prune(keep, open_site(inventory).site.site if inventory else None)
    console.note(f"removed {len(removed)} run{'' if len(removed) == 1 else 's'}")


def _facts(run: Run, tasks: list[TaskLine]) -> dict[str, object]:
    counted = ", ".join(f"{count} {outcome}" for outcome, count in sorted(records.counts(tasks).items()))
    facts: dict[str, object] = {
        "run": run.id,
        "site": run.site,
        "kind": run.kind,
        "who": run.who,
        "began": _when(run.began),
        "took": _took(run) or "unknown",
        "status": run.status,
        "tasks": counted or "none",
    }
    if run.resumed_from:
        facts["goes on with"] = run.resumed_from
    for name, value in run.options.items():
        if value:
            facts[name] = (
                value if isinstance(value, str) else ", ".join(map(str, value)) if value is not True else "yes"
            )
    for host, digest in run.plans.items():
        facts[f"plan of {host}"] = digest
    return facts


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _took(run: Run) -> str:
    return format_seconds(run.ended - run.began) if run.ended is not None else ""


def _changed(run: Run) -> int:
    return records.counts(records.read_tasks(run))["changed"]


def _result(run: Run, task: TaskLine) -> str:
    if task.outcome is None:
        return "running" if run.status == "running" else "cut off"
    return task.outcome


def _time(task: TaskLine) -> str:
    return format_seconds(task.seconds) if task.outcome is not None else ""
