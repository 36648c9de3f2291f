"""Looks at servers: what each of them has, as a Machine."""

from collections.abc import Mapping
from typing import Any

from stackctl.apply.environment import shipped_playbook
from stackctl.apply.events import Event, TaskEnded
from stackctl.apply.playbook import Play
from stackctl.apply.records import Recorder
from stackctl.apply.run import run
from stackctl.hardware.machine import Machine
from stackctl.node import collect as node
from stackctl.site.load import OpenSite

Facts = Mapping[str, Any]


def inspect(open_site: OpenSite, limit: str | None = None) -> dict[str, Machine]:
    """What the servers of a site have, by host; nothing is changed on them. Raises as ``collect`` does."""
    return {host: Machine.from_facts(facts) for host, facts in collect(open_site, limit).items()}


def collect(
    open_site: OpenSite,
    limit: str | None = None,
    *,
    hosts: str = "all",
    recorder: Recorder | None = None,
    verbosity: int = 0,
) -> dict[str, Facts]:
    """The facts of the servers of a group, or of all, by host, as the node's collector gives them.

    Raises RunError when one of them cannot be reached or looked at.
    """
    found: dict[str, Facts] = {}

    def watch(event: Event) -> None:
        if isinstance(event, TaskEnded) and "facts" in event.result:
            found[event.host] = event.result["facts"]

    play = Play(
        shipped_playbook("inspect.yml"), open_site.file, {"inspect_hosts": hosts}, limit=limit, verbosity=verbosity
    )
    run(open_site, play, recorder=recorder, watch=watch).check()
    return found


def collect_here() -> dict[str, Facts]:
    """The facts of this very machine, under its name; what only root may read is told under their ``errors``."""
    facts = node.collect()
    return {facts["host"]["name"]: facts}
