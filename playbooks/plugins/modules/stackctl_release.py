#!/usr/bin/python
"""The door to ``stackctl.node.release``."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import errors, process, release

DOCUMENTATION = r"""
module: stackctl_release
short_description: Releases of an app on a server
description:
  - Unpacks a release beside the others and switches the link C(current) to it in one stroke.
  - Without I(digest) it only tells what is there.
  - Called by the action C(stackctl_bundle), which builds the archive.
options:
  root:
    description: The folder of the app; releases lie below it, by digest.
    type: path
    required: true
  interpreter:
    description: The Python that runs the app.
    type: path
    default: /usr/bin/python3
  digest:
    description: The release to switch to.
    type: str
  archive:
    description: The archive of that release on the server; needed when the release is not there yet.
    type: path
  checksum:
    description: The archive's SHA-256.
    type: str
  keep:
    description: How many releases stay.
    type: int
    default: 3
"""

EXAMPLES = r"""
- name: Ask what is there
  stackctl_release:
    root: /opt/stacksearch
"""

RETURN = r"""
python: {description: Major and minor version of the interpreter., type: str, returned: success}
machine: {description: The processor architecture., type: str, returned: success}
libc: {description: Name and version of the C library., type: str, returned: success}
current: {description: The digest in force before the call., type: str, returned: success}
present: {description: The digests that were there., type: list, returned: success}
removed: {description: Old releases that were removed., type: list, returned: success}
"""


def main() -> None:
    """Read the arguments, look, install and switch, report."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "required": True},
            "interpreter": {"type": "path", "default": "/usr/bin/python3"},
            "digest": {"type": "str"},
            "archive": {"type": "path"},
            "checksum": {"type": "str"},
            "keep": {"type": "int", "default": 3},
        },
        required_by={"archive": ["digest", "checksum"]},
        supports_check_mode=True,
    )
    asked = module.params
    releases = release.Releases(process.SystemRunner(), Path(asked["root"]), asked["interpreter"])
    digest = asked["digest"]
    removed: list[str] = []
    try:
        found = releases.look()
        changed = digest not in (None, found.current)
        if changed and not module.check_mode:
            if digest not in found.present:
                if not asked["archive"]:
                    module.fail_json(msg=f"the release {digest} is not on the server and no archive came with it")
                releases.install(digest, Path(asked["archive"]), asked["checksum"])
            releases.switch(digest)
            removed = releases.prune(max(asked["keep"], 1))
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result())
    module.exit_json(
        changed=changed,
        python=found.python,
        machine=found.machine,
        libc=found.libc,
        current=found.current,
        present=found.present,
        removed=removed,
    )


if __name__ == "__main__":
    main()
