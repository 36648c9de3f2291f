#!/usr/bin/python
"""The door to ``stackctl.node.preflight``."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import errors, preflight, sockets

DOCUMENTATION = r"""
module: stackctl_preflight
short_description: What must hold before the first change of a role
description:
  - Refuses when a directory belongs on a volume of the layout that is not mounted.
  - Refuses an address that is not the server's, and a port that a stranger holds; names that process.
  - Changes nothing; returns the server's memory and processors.
  - In check mode a missing mount is a warning, as the storage may be yet to come.
options:
  directory:
    description: The directory that the role writes its data to.
    type: path
  mounts:
    description: Mount points of the server's layout.
    type: list
    elements: path
    default: []
  claims:
    description: Where the role's services will listen.
    type: list
    elements: dict
    default: []
    suboptions:
      address:
        description: The address.
        type: str
        required: true
      port:
        description: The port.
        type: int
        required: true
      by:
        description: Names of processes that may hold the port already, because they are the service itself.
        type: list
        elements: str
        default: []
      protocol:
        description: The protocol.
        type: str
        choices: [tcp, udp]
        default: tcp
"""

EXAMPLES = r"""
- name: Look before the first change
  stackctl_preflight:
    directory: /srv/database/mariadb
    mounts: [/srv/database, /srv/documents]
    claims:
      - {address: 127.0.0.1, port: 3306, by: [mariadbd]}
"""

RETURN = r"""
memory: {description: Bytes of RAM., type: int, returned: success}
cpus: {description: Processors., type: int, returned: success}
"""


def main() -> None:
    """Read the arguments, call the checks, report."""
    claim = {
        "address": {"type": "str", "required": True},
        "port": {"type": "int", "required": True},
        "by": {"type": "list", "elements": "str", "default": []},
        "protocol": {"type": "str", "choices": ["tcp", "udp"], "default": "tcp"},
    }
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path"},
            "mounts": {"type": "list", "elements": "path", "default": []},
            "claims": {"type": "list", "elements": "dict", "default": [], "options": claim},
        },
        supports_check_mode=True,
    )
    asked = module.params
    try:
        if asked["directory"]:
            try:
                preflight.check_mount(Path(asked["directory"]), [Path(mount) for mount in asked["mounts"]])
            except errors.NodeError as failure:
                if not module.check_mode:
                    raise
                module.warn(failure.message)
        present = sockets.listeners() if asked["claims"] else ()
        for words in asked["claims"]:
            preflight.check_claim(
                preflight.Claim(words["address"], words["port"], tuple(words["by"]), words["protocol"]), present
            )
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result())
    means = preflight.means()
    module.exit_json(changed=False, memory=means.memory, cpus=means.cpus)


if __name__ == "__main__":
    main()
