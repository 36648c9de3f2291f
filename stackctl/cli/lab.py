"""`stackctl lab`: virtual servers that stand in for real ones."""

from dataclasses import asdict
from typing import Annotated, Optional

import typer

from stackctl import console
from stackctl.cli.options import Inventory, Json
from stackctl.lab import rack
from stackctl.lab.machine import Machine
from stackctl.process import replace
from stackctl.site.load import open_site

app = typer.Typer(no_args_is_help=True, help="Virtual servers that stand in for real ones, in QEMU.")

Hosts = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(help="Lab machines of the site; all of them without a name.", show_default=False),
]


@app.command()
def up(inventory: Inventory = None, hosts: Hosts = None) -> None:
    """Make the machines and start them; wait until they take SSH.

    A second time it does nothing, and after an interruption it goes on.

    Example: stackctl lab up -i inventories/lab
    """
    site = open_site(inventory).site
    rack.up(site, hosts or ())
    _print(rack.status(site))


@app.command()
def down(
    inventory: Inventory = None,
    hosts: Hosts = None,
    keep_disks: Annotated[
        bool, typer.Option("--keep-disks", help="Shut down only; `lab up` starts them again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete disks that hold data without asking.")] = False,
) -> None:
    """End the machines and delete their disks.

    Asks before it deletes data disks that hold anything; with nobody there to answer, it refuses (exit 3).

    Example: stackctl lab down --yes
    """
    agree = (lambda _: True) if yes else console.confirm
    rack.down(open_site(inventory).site.site, hosts or (), keep_disks=keep_disks, agree=agree)


@app.command()
def restart(
    inventory: Inventory = None,
    hosts: Hosts = None,
    hard: Annotated[
        bool, typer.Option("--hard", help="As by a power cut: the guest gets no chance to write.")
    ] = False,
) -> None:
    """Restart the machines and wait until they take SSH again.

    Example: stackctl lab restart --hard metal-1
    """
    rack.restart(open_site(inventory).site, hosts or (), hard=hard)


@app.command()
def status(inventory: Inventory = None, as_json: Json = False) -> None:
    """What each machine does, how to reach it, and where its search page is.

    Example: stackctl lab status --json
    """
    found = rack.status(open_site(inventory).site)
    if as_json:
        console.print_json([asdict(machine) for machine in found])
    else:
        _print(found)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def ssh(
    context: typer.Context,
    inventory: Inventory = None,
    host: Annotated[Optional[str], typer.Argument(help="The machine; not needed where there is one.")] = None,  # noqa: UP045
) -> None:
    """Open a shell on a machine, or run a command there.

    Example: stackctl lab ssh metal-1 -- lsblk
    """
    machine, command = _machine_and_command(rack.machines(open_site(inventory).site), host, context.args)
    replace(machine.ssh_argv(*command))


def _machine_and_command(machines: list[Machine], host: str | None, rest: list[str]) -> tuple[Machine, list[str]]:
    """The machine that is meant and the command for it; the first word may be a name or belong to the command."""
    for machine in machines:
        if machine.host == host:
            return machine, rest
    words = [*([host] if host is not None else []), *rest]
    if len(machines) == 1:
        return machines[0], words
    names = ", ".join(machine.host for machine in machines)
    raise typer.BadParameter(f"name one of the machines: {names}")


def _print(machines: list[rack.Status]) -> None:
    console.print_table(
        ("host", "state", "pid", "ssh", "web", "accelerator", "disks", "search page"),
        [
            (
                machine.host,
                machine.state,
                machine.pid or "",
                machine.ssh_port or "",
                machine.web_port or "",
                machine.accelerator or "",
                ", ".join(machine.disks),
                machine.search_page or "",
            )
            for machine in machines
        ],
    )
