#!/usr/bin/python
"""The door to ``stackctl.node.sources``."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import errors, files, sources

DOCUMENTATION = r"""
module: stackctl_apt_sources
short_description: Where apt fetches Debian from
description:
  - Writes a file of its own and switches off Debian's entries only where told to replace them.
  - Sources that others added are never touched.
options:
  archive:
    description: The Debian archive.
    type: str
  security:
    description: The Debian security archive.
    type: str
  replace:
    description: Whether Debian's own entries give way; otherwise these only fill in where there is none.
    type: bool
    default: false
  authority:
    description: A certificate authority in PEM that the mirrors are known by.
    type: str
"""

EXAMPLES = r"""
- name: Point apt at the site's mirror
  stackctl_apt_sources:
    archive: https://mirror.example/debian
    replace: true
"""

RETURN = r"""
written: {description: Files that differed., type: list, returned: success}
"""

_APT = Path("/etc/apt")


def main() -> None:
    """Read the arguments, plan, apply, report."""
    module = AnsibleModule(
        argument_spec={
            "archive": {"type": "str"},
            "security": {"type": "str"},
            "replace": {"type": "bool", "default": False},
            "authority": {"type": "str"},
        },
        supports_check_mode=True,
    )
    asked = module.params
    release = sources.release_name()
    if release is None:
        module.fail_json(msg="this server does not run Debian", stackctl_hint="Debian 12 and 13 are supported")
    mirrors = sources.Mirrors(
        asked["archive"] or None, asked["security"] or None, asked["replace"], asked["authority"] or None
    )
    due = sources.plan(sources.read(_APT), release, mirrors)
    changes = []
    try:
        for path, text in due.items():
            changes.append(files.apply(files.Wanted(_APT / path, text), check=module.check_mode))
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result())
    module.exit_json(
        changed=bool(due),
        written=[str(_APT / path) for path in due],
        diff=[
            {"before": c.before, "after": c.after, "before_header": str(c.path), "after_header": str(c.path)}
            for c in changes
            if c
        ],
    )


if __name__ == "__main__":
    main()
