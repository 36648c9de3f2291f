#!/usr/bin/python
"""The door to ``stackctl.node.files``."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import errors, files

DOCUMENTATION = r"""
module: stackctl_files
short_description: Files and folders as they should be, many in one call
description:
  - Each file is compared first and written in one stroke, so that a power cut leaves the old or the new one.
  - Check mode and diff work where parents and owners do not exist yet.
options:
  files:
    description: The files and folders, in this order.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Where it lies; parents are made on the way.
        type: path
        required: true
      content:
        description: The text of a file; without it, the path is a folder.
        type: str
      mode:
        description: The mode, in octal digits; 0644 for files, 0755 for folders without it.
        type: str
      owner:
        description: The user it belongs to.
        type: str
        default: root
      group:
        description: The group it belongs to.
        type: str
        default: root
  absent:
    description: Files and links that go.
    type: list
    elements: path
    default: []
"""

EXAMPLES = r"""
- name: Configure memcached
  stackctl_files:
    files:
      - path: /etc/memcached.conf
        content: "{{ lookup('ansible.builtin.template', 'memcached.conf.j2') }}"
  notify: Restart memcached
"""

RETURN = r"""
written: {description: Paths that differed., type: list, returned: success}
"""


def main() -> None:
    """Read the arguments, apply each file, report."""
    entry = {
        "path": {"type": "path", "required": True},
        "content": {"type": "str"},
        "mode": {"type": "str"},
        "owner": {"type": "str", "default": "root"},
        "group": {"type": "str", "default": "root"},
    }
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "default": [], "options": entry},
            "absent": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
    )
    changes = []
    try:
        for words in module.params["files"]:
            wanted = files.Wanted(
                path=Path(words["path"]),
                content=words["content"],
                mode=files.parse_mode(words["mode"], folder=words["content"] is None),
                owner=words["owner"],
                group=words["group"],
            )
            if change := files.apply(wanted, check=module.check_mode):
                changes.append(change)
        gone = (files.remove(Path(path), check=module.check_mode) for path in module.params["absent"])
        changes.extend(filter(None, gone))
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result(), written=[str(change.path) for change in changes])
    module.exit_json(
        changed=bool(changes),
        written=[str(change.path) for change in changes],
        diff=[
            {
                "before": change.before,
                "after": change.after,
                "before_header": str(change.path),
                "after_header": str(change.path),
            }
            for change in changes
        ],
    )


if __name__ == "__main__":
    main()
