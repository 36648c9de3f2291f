#!/usr/bin/python
"""The door to ``stackctl.node.collect``."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import (  # all that is needed there: mitogen follows no imports
    blocks,
    claim,
    collect,
    controllers,
    fingerprint,
    process,
    reports,
    signatures,
    system,
    usage,
)

DOCUMENTATION = r"""
module: stackctl_inspect
short_description: What a server is and what is on its disks
description:
  - Reads block devices, their limits, signatures and holders, md arrays, LVM, XFS geometry, mounts and boot files.
  - Asks the tools of RAID controllers (storcli, perccli, ssacli), where they are installed.
  - Changes nothing, and needs no program beyond Debian's essential ones; what is missing is said in the facts.
options:
  paths:
    description: Folders to be told about, such as mount points to be.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Inspect
  stackctl_inspect:
    paths: [/srv/database]
"""

RETURN = r"""
facts: {description: The facts; C(docs/storage.md) tells their format., type: dict, returned: success}
"""


def main() -> None:
    """Read the arguments, call one function, report."""
    module = AnsibleModule(
        argument_spec={"paths": {"type": "list", "elements": "str", "default": []}},
        supports_check_mode=True,
    )
    module.exit_json(changed=False, facts=collect.collect(paths=module.params["paths"]))


if __name__ == "__main__":
    main()
