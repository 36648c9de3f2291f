#!/usr/bin/python
"""The door to ``stackctl.node.mariadb.initialise``."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import errors, mariadb, process, running

DOCUMENTATION = r"""
module: stackctl_mariadb_data
short_description: MariaDB's data directory, filled once
description:
  - Fills an empty directory with MariaDB's own tables, beside its place, and moves it there when it is whole.
  - Refuses a directory that holds anything else, and an empty one while the server runs on data elsewhere.
options:
  directory:
    description: The data directory.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Fill the data directory
  stackctl_mariadb_data:
    directory: /srv/database/mariadb
"""

RETURN = r"""# """


def main() -> None:
    """Read the arguments, call one function, report."""
    module = AnsibleModule(
        argument_spec={"directory": {"type": "path", "required": True}},
        supports_check_mode=True,
    )
    directory = Path(module.params["directory"])
    try:
        changed = mariadb.initialise(process.SystemRunner(), directory, check=module.check_mode)
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result())
    module.exit_json(changed=changed)


if __name__ == "__main__":
    main()
