"""What Ansible sees of a site: groups of hosts, and the variables of each host."""

import json
import shlex
from pathlib import Path
from typing import Any

from stackctl.lab import state
from stackctl.site.listeners import endpoints
from stackctl.site.load import OpenSite
from stackctl.site.mirrors import mirrors_of
from stackctl.site.models import Layout, Site
from stackctl.site.values import ROLES

LAB_IS_DOWN = ".lab-is-down.invalid"
"""Ends the address of a lab machine that is not up; no name resolves under it (RFC 2606)."""


def groups(site: Site) -> dict[str, tuple[str, ...]]:
    """The hosts of every group: one per role in use, `storage` (hosts with a layout) and `lab`."""
    found: dict[str, tuple[str, ...]] = {role: site.hosts_with(role) for role in ROLES}
    found["storage"] = tuple(name for name, host in site.hosts.items() if host.layout is not None)
    found["lab"] = tuple(name for name, host in site.hosts.items() if host.lab is not None)
    return {group: hosts for group, hosts in found.items() if hosts}


def site_variables(opened: OpenSite) -> dict[str, Any]:
    """What holds for every host; the plugin puts it on the group `all`, so that `group_vars/` override it."""
    services = opened.site.services
    return {
        "ansible_python_interpreter": "/usr/bin/python3",
        "stackctl_site": opened.site.site,
        "stackctl_site_file": str(opened.file),
        "stackctl_site_directory": str(opened.directory),
        "stackctl_mirrors": mirrors_of(opened.site.mirrors),
        "database_listen": services.database.listen,
        "database_port": services.database.port,
        "queue_listen": services.queue.listen,
        "queue_port": services.queue.port,
        "queue_http_port": services.queue.http_port,
        "cache_listen": services.cache.listen,
        "cache_port": services.cache.port,
        "search_index_listen": services.search.listen,
        "search_index_port": services.search.port,
        "search_web_listen": services.web.listen,
        "search_web_port": services.web.port,
    }


def own_variables(opened: OpenSite, name: str) -> dict[str, Any]:
    """What holds for one host: how to reach it, its layout, where it reaches the services."""
    site = opened.site
    variables: dict[str, Any] = {
        **_connection(site, name),
        "stackctl_endpoints": {role: endpoints(site, role, name) for role in ROLES},
    }
    layout = site.layout_of(name)
    if layout is not None:
        variables["storage_layout"] = {"name": site.hosts[name].layout, **layout_as_plain(layout)}
    return variables


def host_variables(opened: OpenSite) -> dict[str, dict[str, Any]]:
    """Every variable of every host, without what `group_vars/` and `host_vars/` add."""
    common = site_variables(opened)
    return {name: {**common, **own_variables(opened, name)} for name in opened.site.hosts}


def layout_as_plain(layout: Layout) -> dict[str, Any]:
    """What the site says of a layout, as plain values; it goes through Ansible, and Layout reads it back."""
    plain: dict[str, Any] = json.loads(json.dumps(layout.model_dump(exclude_unset=True)))
    return plain


def _connection(site: Site, name: str) -> dict[str, Any]:
    host = site.hosts[name]
    if host.address is not None:
        return _ssh(host.address, host.port, host.user)
    endpoint = state.endpoint(site.site, name)
    if endpoint is None:
        return _ssh(f"{name}{LAB_IS_DOWN}", host.port, host.user)
    return {
        **_ssh(endpoint.address, endpoint.port, endpoint.user),
        "ansible_ssh_private_key_file": str(endpoint.identity_file),
        "ansible_ssh_common_args": shlex.join(
            word
            for option in (
                f"UserKnownHostsFile={_one_word(endpoint.known_hosts)}",
                "StrictHostKeyChecking=yes",
                "IdentitiesOnly=yes",
            )
            for word in ("-o", option)
        ),
    }


def _one_word(path: Path) -> str:
    """A path as ssh reads it in an option: blanks need its own quotes."""
    return f'"{path}"' if " " in str(path) else str(path)


def _ssh(address: str, port: int, user: str) -> dict[str, Any]:
    variables = {"ansible_host": address, "ansible_port": port, "ansible_user": user}
    return variables if user == "root" else {**variables, "ansible_become": True}
