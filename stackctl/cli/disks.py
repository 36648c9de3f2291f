"""`stackctl disks`: looking at disks beyond one layout."""

import json as codec
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from stackctl import console
from stackctl.apply.facts import Facts, collect, collect_here
from stackctl.cli.options import Inventory, Json
from stackctl.errors import ExitCode, InputError
from stackctl.hardware.machine import Machine
from stackctl.site.load import open_site
from stackctl.storage.audit import REQUESTS, Audit, Begin
from stackctl.storage.audit import audit as look
from stackctl.units import format_size

app = typer.Typer(no_args_is_help=True, help="Audit disks: is every layer aligned, and what does it cost if not?")

Hosts = Annotated[
    list[str] | None, typer.Argument(help="Hosts or groups of the site; all without any.", show_default=False)
]
Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--machine", metavar="FILE", help="A dump of `stackctl inspect --dump`; may be repeated.", show_default=False
    ),
]
Local = Annotated[bool, typer.Option("--local", help="This very machine, without a site. Needs root to see all.")]


@app.command()
def audit(
    hosts: Hosts = None,
    inventory: Inventory = None,
    machine: Files = None,
    local: Local = False,
    json: Json = False,
) -> None:
    """Show where every layer begins, what that must be a multiple of, and what is lost where it is not.

    Reads and changes nothing; the machines need not be stackctl's. Exit code 4 when something is off.

    Example: stackctl disks audit --local
    """
    if sum((bool(hosts), bool(machine), local)) > 1:
        raise InputError("hosts, --machine and --local exclude each other", hint="give one of them")
    if local:
        facts: Mapping[str, Facts] = collect_here()
    elif machine:
        facts = {file.stem: _read(file) for file in machine}
    else:
        facts = collect(open_site(inventory), ",".join(hosts or ()) or None)
    found = {name: look(Machine.from_facts(each)) for name, each in facts.items()}
    if json:
        console.print_json({name: each.to_json() for name, each in found.items()})
    else:
        for name, each in found.items():
            _show(name, each)
    if any(each.faults for each in found.values()):
        raise typer.Exit(ExitCode.FAULT)


def _read(file: Path) -> Facts:
    try:
        facts = codec.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:
        raise InputError(
            f"{file} is no dump of a machine: {failure}", hint="stackctl inspect --dump FOLDER"
        ) from None
    if not isinstance(facts, dict):
        raise InputError(f"{file} is no dump of a machine: no JSON object", hint="stackctl inspect --dump FOLDER")
    return facts


def _show(name: str, found: Audit) -> None:
    console.say(name, style="bold")
    rows = [
        (
            begin.layer,
            begin.subject,
            begin.ground,
            f"{begin.start // 512} ({format_size(begin.start)})",
            f"{format_size(begin.multiple_of)} ({begin.why})",
            _off(begin),
        )
        for begin in found.begins
    ]
    if rows:
        console.print_table(["LAYER", "OF", "ON", "BEGINS AT SECTOR", "MUST BE A MULTIPLE OF", "OFF BY"], rows)
    else:
        console.say("all that it holds begins where its disks begin")
    if found.costs:
        _show_costs(found)
    for fault in found.faults:
        how = "in place" if fault.in_place else "only by making it anew"
        console.say(f"✗ {fault.subject}: {fault.words}", style="red")
        console.say(f"  mended {how}: {fault.mend}")
    for warning in found.warnings:
        console.warn(str(warning))
    for note in found.notes:
        console.note(f"not looked at: {note}")
    if not found.faults:
        console.say("✓ nothing is off" + (", of what could be looked at" if found.notes else ""), style="green")
    console.say("")


def _off(begin: Begin) -> str:
    if not begin.off:
        return "0"
    return format_size(begin.off) + (", mended above" if begin.mended_above else "")


def _show_costs(found: Audit) -> None:
    console.say("Random requests that take one disk more than they must:")
    shares = {(cost.subject, cost.ground): dict[int, float]() for cost in found.costs}
    for cost in found.costs:
        shares[cost.subject, cost.ground][cost.request] = cost.straddling
    console.print_table(
        ["OF", "ON", *(format_size(request) for request in REQUESTS)],
        [(*names, *(f"{share[request]:.1%}" for request in REQUESTS)) for names, share in shares.items()],
    )
