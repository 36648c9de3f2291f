"""The inventory plugin: a thin door to stackctl.site, which reads and checks stack.yml."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

try:
    from stackctl.errors import StackctlError
    from stackctl.site.load import open_file
    from stackctl.site.values import FILE_NAMES
    from stackctl.site.variables import groups, own_variables, site_variables

    MISSING = None
except ImportError as failure:
    FILE_NAMES = ("stack.yml", "stack.yaml")
    MISSING = failure.name or str(failure)

DOCUMENTATION = """
name: stackctl
short_description: Hosts, groups and variables from a site's stack.yml
description:
  - Reads the file through the models of the stackctl package, which the Python that runs Ansible must have.
  - Makes a group of each role in use, C(storage) of the hosts with a layout, and C(lab) of the lab's machines.
  - Variables of the whole site stand on the group C(all), so that C(group_vars/) beside the file override them.
  - C(stackctl explain) lists every key of the file.
author: the stackctl project
options:
  plugin:
    description: Marks the file as one for this plugin.
    required: true
    choices: [stackctl]
"""

EXAMPLES = """
plugin: stackctl
site: example
hosts:
  metal-1: {address: 203.0.113.11, layout: raid10, roles: [database, queue, cache, search]}
layouts:
  raid10:
    disks: {count: 4}
    volumes:
      database: {size: 50%, mount: /srv/database}
      documents: {size: rest, mount: /srv/documents}
"""


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]
    """Publishes a site."""

    NAME = "stackctl"

    def verify_file(self, path: str) -> bool:
        """Take files of the right name, unless they say that they are for another plugin."""
        file = Path(path)
        if file.name not in FILE_NAMES or not super().verify_file(path):
            return False
        named = re.search(r"^plugin:[ \t]*[\"']?([\w.]+)", file.read_text(errors="replace"), re.MULTILINE)
        return named is None or named[1] == self.NAME

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Read the site and publish its hosts, groups and variables."""
        super().parse(inventory, loader, path, cache)
        if MISSING is not None:
            raise AnsibleParserError(
                f"{path} needs the Python package stackctl ({MISSING} is missing from {sys.executable}); "
                "run the ansible-playbook that is installed beside stackctl"
            )
        try:
            opened = open_file(Path(path))
            for name, value in site_variables(opened).items():
                inventory.set_variable("all", name, value)
            for host in opened.site.hosts:
                inventory.add_host(host)
                for name, value in own_variables(opened, host).items():
                    inventory.set_variable(host, name, value)
        except StackctlError as failure:
            raise AnsibleParserError(str(failure)) from None
        for group, hosts in groups(opened.site).items():
            inventory.add_group(group)
            for host in hosts:
                inventory.add_child(group, host)
