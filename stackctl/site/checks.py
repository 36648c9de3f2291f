"""What no single key can tell: names that are defined nowhere, addresses used twice, services out of reach."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from stackctl.site.document import Document, KeyPath, Problem
from stackctl.site.listeners import LISTENERS, NEEDS, Listening, clash, is_loopback, is_wildcard, listening_on
from stackctl.site.messages import did_you_mean
from stackctl.site.models import Host, Layout, Site
from stackctl.site.values import ROLES
from stackctl.units import format_size

_RESERVED = frozenset({"all", "ungrouped", "localhost", "lab", "storage", *ROLES})
_DATA_FOLDERS = {"database": "/srv/database", "search": "/srv/documents"}
_UNGUARDED = {
    "queue": "anyone who reaches it can submit jobs",
    "cache": "anyone who reaches it can read and write what is cached",
    "search": "anyone who reaches it can change the index",
}


@dataclass
class Findings:
    """What is wrong, and what is doubtful."""

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


def check(site: Site, document: Document, *, whole: bool) -> Findings:
    """Check a site against itself.

    ``whole`` is False when wrong parts were taken out before; nothing is then concluded from what is absent.
    """
    found = Findings()
    defined = document.value.get("layouts")
    layouts = tuple(defined) if isinstance(defined, dict) else ()
    for error in (_names, _addresses, _lab_disks, _clashes, _one_address_each, _authority):
        found.errors += (document.problem(path, message) for path, message in error(site, document))
    found.errors += (document.problem(path, message) for path, message in _undefined_layouts(site, layouts))
    if whole:
        found.errors += (document.problem(path, message) for path, message in _unreached(site))
        for doubt in (_unused_layouts, _idle_hosts, _data_on_the_system_disk):
            found.warnings += (document.problem(path, message) for path, message in doubt(site))
    found.warnings += (document.problem(path, message) for path, message in _unguarded(site))
    return found


Found = Iterator[tuple[KeyPath, str]]


def _names(site: Site, document: Document) -> Found:
    for name in site.hosts:
        if name in _RESERVED:
            yield ("hosts", name), f"{name} is the name of a group; give the host another"


def _undefined_layouts(site: Site, layouts: tuple[str, ...]) -> Found:
    for name, host in site.hosts.items():
        if host.layout is not None and host.layout not in layouts:
            known = did_you_mean(host.layout, layouts) if layouts else "the site defines none"
            yield ("hosts", name, "layout"), f"{host.layout} is no layout of this site; {known}"


def _addresses(site: Site, document: Document) -> Found:
    first: dict[tuple[str, int], str] = {}
    for name, host in site.hosts.items():
        if host.address is None:
            continue
        end = (host.address.lower().rstrip("."), host.port)
        if end in first:
            yield (
                ("hosts", name, "address"),
                f"{host.address} port {host.port} is where {first[end]} is reached; two hosts cannot share it",
            )
        first.setdefault(end, name)


def _lab_disks(site: Site, document: Document) -> Found:
    for name, host in site.hosts.items():
        layout = site.layouts.get(host.layout or "")
        if host.lab is None or layout is None:
            continue
        have, want, size = host.lab.disks.count, layout.disks.count, host.lab.disks.size
        place: KeyPath = ("hosts", name, "lab", "disks")
        if have < want:
            yield (*place, "count"), f"layout {host.layout} takes {want} disks, the lab machine has {have}: too few"
        elif have > want and not layout.disks.serial:
            yield (
                (*place, "count"),
                f"layout {host.layout} takes exactly {want} disks and cannot choose among the machine's {have}",
            )
        if not _fits(layout, size):
            yield (
                (*place, "size"),
                f"layout {host.layout} takes disks of {layout.disks.size}, the machine's have {format_size(size)}",
            )


def _fits(layout: Layout, size: int) -> bool:
    return all(bound.holds(size) for bound in layout.disks.size_bounds())


def _clashes(site: Site, document: Document) -> Found:
    clashes: dict[tuple[Listening, Listening], list[str]] = defaultdict(list)
    for name, host in site.hosts.items():
        for pair in combinations(listening_on(site, name), 2):
            if clash(*pair):
                clashes[pair].append(name)
        yield from _clash_with_ssh(site, name, host)
    for (one, other), hosts in clashes.items():
        place, rest = (
            (one, other) if document.has(one.port_path) and not document.has(other.port_path) else (other, one)
        )
        yield (
            place.port_path,
            f"{place.label} would listen on {place}, where {rest.label} listens on {rest} (host {', '.join(hosts)})",
        )


def _clash_with_ssh(site: Site, name: str, host: Host) -> Found:
    for item in listening_on(site, name):
        if item.port == (22 if host.lab else host.port):
            yield item.port_path, f"{item.label} would listen on port {item.port}, which is SSH's (host {name})"


def _one_address_each(site: Site, document: Document) -> Found:
    for item in LISTENERS:
        here = item.of(site)
        carriers = site.hosts_with(item.role)
        if len(carriers) > 1 and not is_loopback(here.listen) and not is_wildcard(here.listen):
            yield (
                ("services", here.service, "listen"),
                f"{here.listen} is the address of one host, but {', '.join(carriers)} carry the role {item.role}",
            )


def _authority(site: Site, document: Document) -> Found:
    if site.mirrors.ca is not None:
        file = document.file.parent / Path(site.mirrors.ca).expanduser()
        if not file.is_file():
            yield ("mirrors", "ca"), f"there is no file {site.mirrors.ca}"


def _unreached(site: Site) -> Found:
    """Roles that need a service which nobody carries, or which listens where they cannot reach it."""
    for role, needed in NEEDS.items():
        for name in site.hosts_with(role):
            for service in needed:
                carriers = site.hosts_with(service)
                if not carriers:
                    yield ("hosts", name, "roles"), f"the role {role} needs the role {service}, which no host carries"
                elif name not in carriers and is_loopback(getattr(site.services, service).listen):
                    yield (
                        ("services", service, "listen"),
                        f"{role} on {name} needs {service} on {', '.join(carriers)}, which listens on loopback only",
                    )


def _unused_layouts(site: Site) -> Found:
    used = {host.layout for host in site.hosts.values()}
    for name in site.layouts:
        if name not in used:
            yield ("layouts", name), "no host has this layout"


def _idle_hosts(site: Site) -> Found:
    for name, host in site.hosts.items():
        if not host.roles and host.layout is None:
            yield ("hosts", name), "has neither a layout nor a role: nothing will be done here"


def _data_on_the_system_disk(site: Site) -> Found:
    for name, host in site.hosts.items():
        layout = site.layouts.get(host.layout or "")
        if layout is None:
            continue
        mounts = set(layout.mounts.values())
        for role, folder in _DATA_FOLDERS.items():
            if role in host.roles and folder not in mounts:
                yield (
                    ("hosts", name, "layout"),
                    f"{host.layout} mounts nothing at {folder}: the data of {role} will be on the system disk",
                )


def _unguarded(site: Site) -> Found:
    for service, why in _UNGUARDED.items():
        listen = ipaddress.ip_address(getattr(site.services, service).listen)
        if listen.is_unspecified or listen.is_global:
            yield ("services", service, "listen"), f"listens on {listen}: {why}"
