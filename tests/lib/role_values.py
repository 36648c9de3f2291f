"""The values of a role's variables on a host of a site, as Ansible's own templates give them; no server is asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import filter_loader, init_plugin_loader, lookup_loader
from ansible.template import Templar, trust_as_template

from stackctl import paths
from stackctl.site.load import open_file
from stackctl.site.variables import groups, host_variables

ROLES = paths.data("playbooks", "roles")


def variables(site: Path, host: str, role: str, files: Sequence[str]) -> dict[str, Any]:
    """What a role sees on a host: its own ``files`` (``defaults``, ``OTHER/vars``), over them the inventory's."""
    init_plugin_loader()
    lookup_loader.add_directory(str(paths.data("playbooks", "plugins", "lookup")))
    filter_loader.add_directory(str(paths.data("playbooks", "plugins", "filter")))
    found: dict[str, Any] = {}
    for file in files:
        owner, _, part = file.rpartition("/")
        found |= _trusted(yaml.safe_load((ROLES / (owner or role) / part / "main.yml").read_text()))
    opened = open_file(site)
    hosts = host_variables(opened)
    return {
        **found,
        **hosts[host],
        "inventory_hostname": host,
        "groups": {group: list(members) for group, members in groups(opened.site).items()},
        "hostvars": hosts,
        "ansible_search_path": [str(ROLES / role)],
        "role_path": str(ROLES / role),
        "ansible_check_mode": True,
    }


def value(role: str, seen: Mapping[str, Any], name: str) -> Any:
    """The value of a variable among those that the role sees."""
    loader = DataLoader()
    loader.set_basedir(str(ROLES / role))
    return Templar(loader, dict(seen)).template(seen[name])


def _trusted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _trusted(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_trusted(each) for each in value]
    return trust_as_template(value) if isinstance(value, str) else value
