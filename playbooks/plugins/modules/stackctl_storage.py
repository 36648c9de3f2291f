#!/usr/bin/python
"""The documentation of the action of this name, which does its work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: stackctl_storage
short_description: Disks made into a layout, from blank to mounted
description:
  - Inspects the server, plans what is left to do, refuses what would destroy, applies, and reads back.
  - Disks are named by serial number or WWN. What is not blank, not ours and not named in O(wipe) is refused.
  - Changes nothing where the layout is complete; a run that was cut short is finished by the next one.
options:
  layout:
    description: The layout, as in the site's C(layouts).
    type: dict
    required: true
  wipe:
    description: Serial numbers (or WWNs) of disks whose contents the operator releases for destruction.
    type: list
    elements: str
    default: []
  expected_digest:
    description: The digest of the plan that the operator has confirmed; any other plan is refused.
    type: str
  state:
    description: Only look and plan (V(planned)), or carry out the plan too (V(applied)).
    type: str
    choices: [planned, applied]
    default: applied
attributes:
  check_mode:
    support: full
    description: Plans, and changes nothing.
  diff_mode:
    support: full
    description: Shows the steps and their commands.
"""

EXAMPLES = r"""
- name: Make the layout
  stackctl_storage:
    layout: "{{ storage_layout }}"
    wipe: [LAB-1]
"""

RETURN = r"""
plan: {description: The plan that was made., type: dict, returned: when the server could be looked at}
digest: {description: The plan's digest., type: str, returned: when the server could be looked at}
complete: {description: Whether nothing is left to do., type: bool, returned: always}
missing: {description: Programs that the layout needs and the server lacks., type: list, returned: always}
steps: {description: The steps that were carried out., type: list, returned: when something was done}
findings: {description: What was read back., type: list, returned: when nothing is left to do}
stackctl_hint: {description: How to mend the failure., type: str, returned: failure}
stackctl_exit: {description: The exit code that the failure asks for., type: int, returned: failure}
"""
