#!/usr/bin/python
"""The door to ``stackctl.node.execute``."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import (  # all that is needed there: mitogen follows no imports
    blocks,
    claim,
    collect,
    controllers,
    devices,
    errors,
    execute,
    fingerprint,
    kinds,
    locks,
    process,
    reports,
    signatures,
    system,
    tables,
    usage,
)

DOCUMENTATION = r"""
module: stackctl_storage_apply
short_description: A storage plan carried out
description:
  - The action M(stackctl_storage) calls this with a plan that it has made; there is no need to call it oneself.
  - Looks at every disk once more, and refuses when one is not what the plan saw, before anything is written.
  - Steps that are done already are passed over; after a power cut a new plan goes on from what is there.
options:
  plan:
    description: The plan as JSON values.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Carry out a plan
  stackctl_storage_apply:
    plan: "{{ planned.plan }}"
"""

RETURN = r"""
steps: {description: What was done; each step with its time., type: list, returned: always}
stackctl_kind: {description: The sort of the failure., type: str, returned: failure}
stackctl_hint: {description: How to mend it., type: str, returned: failure}
stackctl_exit: {description: The exit code that the failure asks for., type: int, returned: failure}
"""


def main() -> None:
    """Read the arguments, call one function, report."""
    module = AnsibleModule(argument_spec={"plan": {"type": "dict", "required": True}})
    outcome = execute.Outcome()
    try:
        execute.execute(module.params["plan"], outcome=outcome)
    except errors.NodeError as failure:
        module.fail_json(**outcome.to_result(), **failure.to_result())
    module.exit_json(**outcome.to_result())


if __name__ == "__main__":
    main()
