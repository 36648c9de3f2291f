"""`stackctl inspect`: what the servers have."""

import json as codec
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Optional

import typer

from stackctl import console
from stackctl.apply.facts import Facts, collect
from stackctl.cli.options import Inventory, Json
from stackctl.errors import InputError
from stackctl.hardware.controllers.model import Controller
from stackctl.hardware.disk import Disk
from stackctl.hardware.machine import Machine
from stackctl.hardware.mask import masked
from stackctl.site.load import open_site
from stackctl.storage import health
from stackctl.storage.readback import faults
from stackctl.units import format_size

Host = Annotated[
    Optional[str],  # noqa: UP045
    typer.Argument(help="A host of the site, or a group of them; all without one.", show_default=False),
]
Dump = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--dump", help="Write the raw facts of each server to HOST.json in this folder.", show_default=False
    ),
]
Masked = Annotated[
    bool,
    typer.Option(
        "--mask",
        help="Mask serial numbers, WWNs, UUIDs, names and addresses in the dump, always the same by the same.",
    ),
]


def inspect(
    inventory: Inventory = None, host: Host = None, json: Json = False, dump: Dump = None, mask: Masked = False
) -> None:
    """Look at the servers: processors, memory, disks, arrays, volume groups, file systems; nothing is changed.

    A masked dump can go with a bug report: it gives the same plan, and names neither disks nor people.

    Example: stackctl inspect -i inventories/lab metal-1 --json

    Example: stackctl inspect -i inventories/lab --dump report --mask
    """
    if mask and dump is None:
        raise InputError("--mask masks a dump, and there is none", hint="add --dump FOLDER")
    facts = collect(open_site(inventory), host)
    if dump is not None:
        _dump(masked(facts) if mask else facts, dump)
    machines = {name: Machine.from_facts(found) for name, found in facts.items()}
    if json:
        console.print_json({name: machine.to_json() for name, machine in machines.items()})
        return
    for name, machine in machines.items():
        _show(name, machine)


def _dump(facts: Mapping[str, Facts], folder: Path) -> None:
    """Files that their owner alone can read: they tell what is where."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in facts.items():
        file = folder / f"{name}.json"
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text(codec.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        console.note(f"wrote {file}")


def _show(name: str, machine: Machine) -> None:
    here = machine.host
    parts = [
        f"{here.system} {here.version}",
        f"Linux {here.kernel}",
        f"{here.processors} processors ({here.processor})",
        f"{format_size(here.memory)} memory",
        " ".join(part for part in (here.vendor, here.product) if part),
    ]
    console.say(f"{name}: {', '.join(filter(None, parts))}", style="bold")
    console.print_table(
        ["DISK", "BY", "TRANSPORT", "SECTORS", "TABLE", "HOLDS"],
        [
            (
                disk.title,
                "spinning" if disk.limits.rotational else "flash",
                disk.transport,
                f"{disk.limits.logical_block}/{disk.limits.physical_block}",
                disk.table or "none",
                _holds(disk),
            )
            for disk in machine.disks
        ],
    )
    for controller in machine.controllers:
        _show_controller(controller)
    for array in machine.arrays:
        members = ", ".join(member.device for member in array.members)
        console.say(f"array {array.name or array.device}: {array.level}, chunk {format_size(array.chunk)}, {members}")
    for group in machine.groups:
        volumes = ", ".join(volume.name for volume in group.logical) or "no volumes"
        console.say(f"volume group {group.name}: {volumes}")
    for mount in machine.mounts:
        console.say(f"mount {mount.path}: {mount.type} on {mount.device}")
    for program in machine.missing:
        console.note(f"{program} is not installed there")
    for error in machine.errors:
        console.warn(error)
    for finding in faults(health.check(machine)):
        console.warn(str(finding))
    console.say("")


def _show_controller(controller: Controller) -> None:
    console.say(f"controller {controller.title}: {controller.battery or 'no battery'}")
    for disk in controller.virtual_disks:
        strip = f", strip {format_size(disk.strip)}" if disk.strip else ""
        console.say(
            f"virtual disk {disk.id} {disk.name}".rstrip() + f": {disk.level} of {len(disk.drives)} drives{strip}, "
            f"{disk.write_policy.words}, {disk.state}, now {disk.device or 'unknown'}"
        )


def _holds(disk: Disk) -> str:
    parts = [signature.type for signature in disk.signatures if signature.type != disk.table]
    parts += [
        f"{part.name}: {', '.join(signature.type for signature in part.signatures) or 'nothing'}"
        for part in disk.partitions
    ]
    return "; ".join(parts) or "nothing"
