#!/usr/bin/python
"""The door to ``stackctl.node.packages``."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import apt, errors, locks, packages, policy, process

DOCUMENTATION = r"""
module: stackctl_packages
short_description: Debian packages made present
description:
  - Asks dpkg first, so that a run with nothing to install costs one query.
  - Waits for another package manager and then says which process holds the lock.
  - Fetches the package lists only when they are old or do not know a name.
  - Keeps services from starting until they are configured.
options:
  names:
    description: Names of Debian packages.
    type: list
    elements: str
    required: true
  lock_timeout:
    description: Seconds to wait for another package manager.
    type: int
    default: 600
  lists_max_age:
    description: Seconds after which the package lists count as old.
    type: int
    default: 86400
"""

EXAMPLES = r"""
- name: Install memcached
  stackctl_packages:
    names: [memcached]
"""

RETURN = r"""
missing: {description: Those of the names that were absent., type: list, returned: success}
installed: {description: All packages that came., type: list, returned: success}
refreshed: {description: Whether the package lists were fetched., type: bool, returned: success}
mended: {description: Whether an interrupted installation was finished., type: bool, returned: success}
waited: {description: Seconds spent waiting for another package manager., type: float, returned: success}
stackctl_kind: {description: The sort of the failure., type: str, returned: failure}
stackctl_hint: {description: How to mend it., type: str, returned: failure}
"""


def main() -> None:
    """Read the arguments, call one function, report."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "lock_timeout": {"type": "int", "default": 600},
            "lists_max_age": {"type": "int", "default": 86400},
        },
        supports_check_mode=True,
    )
    debian = packages.Packages(
        process.SystemRunner(),
        lock_timeout=module.params["lock_timeout"],
        lists_max_age=module.params["lists_max_age"],
    )
    try:
        outcome = debian.ensure(module.params["names"], check=module.check_mode)
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result())
    module.exit_json(
        changed=outcome.changed,
        missing=outcome.missing,
        installed=outcome.installed,
        refreshed=outcome.refreshed,
        mended=outcome.mended,
        waited=round(outcome.waited, 1),
        diff={"before": "", "after": "".join(f"{name}\n" for name in outcome.installed)},
    )


if __name__ == "__main__":
    main()
