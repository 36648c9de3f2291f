#!/usr/bin/python
"""The door to ``stackctl.node.service``."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import errors, process, service, sockets

DOCUMENTATION = r"""
module: stackctl_service
short_description: systemd units enabled and running, waited for until they listen
description:
  - Takes several units in one call; reloads systemd when it has to.
  - A unit that does not start is told with the last lines of its journal.
  - In check mode a unit that does not exist yet is taken as coming.
options:
  names:
    description: Names of units, with their suffix.
    type: list
    elements: str
    required: true
  state:
    description: What the units should be.
    type: str
    choices: [started, restarted, stopped]
    default: started
  enabled:
    description: Whether they start at boot.
    type: bool
    default: true
  listens:
    description: Where somebody must listen before the work counts as done.
    type: list
    elements: dict
    default: []
    suboptions:
      address:
        description: The address.
        type: str
        required: true
      port:
        description: The TCP port.
        type: int
        required: true
  without:
    description: Units to stop first; their files may be gone already.
    type: list
    elements: str
    default: []
  configuration:
    description: Files whose change the running units must have seen; units that began earlier are restarted.
    type: list
    elements: path
    default: []
  timeout:
    description: Seconds to wait for that.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: Start memcached
  stackctl_service:
    names: [memcached.service]
    listens:
      - {address: 127.0.0.1, port: 11211}
"""

RETURN = r"""
done: {description: What was done; one line each., type: list, returned: success}
"""


def main() -> None:
    """Read the arguments, call one function, report."""
    listen = {"address": {"type": "str", "required": True}, "port": {"type": "int", "required": True}}
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["started", "restarted", "stopped"], "default": "started"},
            "enabled": {"type": "bool", "default": True},
            "listens": {"type": "list", "elements": "dict", "default": [], "options": listen},
            "without": {"type": "list", "elements": "str", "default": []},
            "configuration": {"type": "list", "elements": "path", "default": []},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    asked = module.params
    units = service.Units(process.SystemRunner(), tuple(asked["names"]), timeout=asked["timeout"])
    try:
        done = units.ensure(
            asked["state"],
            enabled=asked["enabled"],
            listens=[(words["address"], words["port"]) for words in asked["listens"]],
            without=asked["without"],
            configuration=[Path(path) for path in asked["configuration"]],
            check=module.check_mode,
        )
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result())
    except process.ProcessError as failure:
        module.fail_json(msg=str(failure))
    module.exit_json(changed=bool(done), done=done)


if __name__ == "__main__":
    main()
