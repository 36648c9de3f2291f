#!/usr/bin/python
"""The door to ``stackctl.node.drizzle``."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.node import (  # all that is needed there: mitogen follows no imports
    drizzle,
    drizzle_accounts,
    drizzle_config,
    drizzle_data,
    drizzle_tree,
    drizzle_trial,
    drizzle_wire,
    elf,
    errors,
    files,
    libraries,
    process,
    release,
    running,
    service,
    sockets,
    unpack,
)

DOCUMENTATION = r"""
module: stackctl_drizzle
short_description: The Drizzle server of a host, from an archive's release to the running service
description:
  - V(looked) only looks; it refuses a prefix and a data directory that are not ours, and changes nothing.
  - V(installed) unpacks an archive beside the releases that are there, when it fits the server.
  - V(running) asks the loader for every library, tries a new release or configuration in a start beside the
    running server, then writes, switches and restarts; what does not come up is put back as it was.
  - V(looked) and V(installed) are called by the action M(stackctl_drizzle_archive).
options:
  state:
    description: How far to go.
    type: str
    choices: [looked, installed, running]
    default: running
  release:
    description: The release; the first sixteen digits of its archive's SHA-256.
    type: str
    required: true
  data:
    description: The data directory.
    type: path
    required: true
  plugins:
    description: Plugins that drizzled is to load beside its own choice.
    type: list
    elements: str
    default: []
  wished:
    description: Those of O(plugins) that the archive may lack.
    type: list
    elements: str
    default: []
  removed:
    description: Plugins that drizzled is not to load.
    type: list
    elements: str
    default: []
  needed:
    description: Sonames to look for, for V(looked).
    type: list
    elements: str
    default: []
  archive:
    description: The archive on the server, for V(installed).
    type: path
  checksum:
    description: The SHA-256 of that file, for V(installed).
    type: str
  files:
    description: The configuration, the unit and the folders of the service.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Where it lies.
        type: path
        required: true
      content:
        description: The text of a file; without it, the path is a folder.
        type: str
      mode:
        description: The mode, in octal digits.
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
    description: Files that go.
    type: list
    elements: path
    default: []
  users:
    description: Passwords by name, for the file that auth_file reads.
    type: dict
    default: {}
  listens:
    description: Where it must listen before the work counts as done.
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
  keep:
    description: How many releases stay.
    type: int
    default: 2
"""

EXAMPLES = r"""
- name: Look at the server
  stackctl_drizzle:
    state: looked
    release: 0123456789abcdef
    data: /srv/database/drizzle
"""

RETURN = r"""
machine: {description: The processor architecture., type: str, returned: when looked}
libc: {description: Name and version of the C library., type: str, returned: when looked}
current: {description: The release in force., type: str, returned: when looked}
present: {description: The releases that are there., type: list, returned: when looked}
log_size: {description: Bytes of each of InnoDB's log files., type: int, returned: when looked}
tree: {description: Where the parts of the release lie., type: dict, returned: when the release is there}
added: {description: Of the plugins those that the release has., type: list, returned: when the release is there}
packages: {description: Debian packages that are missing., type: list, returned: when looked}
done: {description: What was done; one line each., type: list, returned: when running}
removed: {description: Old releases that were removed., type: list, returned: when running}
stackctl_kind: {description: The sort of the failure., type: str, returned: failure}
stackctl_hint: {description: How to mend it., type: str, returned: failure}
stackctl_exit: {description: The exit code that the failure asks for., type: int, returned: failure}
"""

_ENTRY = {
    "path": {"type": "path", "required": True},
    "content": {"type": "str"},
    "mode": {"type": "str"},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
}
_LISTEN = {"address": {"type": "str", "required": True}, "port": {"type": "int", "required": True}}
_WORDS = {"type": "list", "elements": "str", "default": []}


def main() -> None:
    """Read the arguments, call one function, report."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": list(_STATES), "default": "running"},
            "release": {"type": "str", "required": True},
            "data": {"type": "path", "required": True},
            "plugins": _WORDS,
            "wished": _WORDS,
            "removed": _WORDS,
            "needed": _WORDS,
            "archive": {"type": "path"},
            "checksum": {"type": "str", "no_log": False},
            "files": {"type": "list", "elements": "dict", "default": [], "options": _ENTRY},
            "absent": {"type": "list", "elements": "path", "default": []},
            "users": {"type": "dict", "default": {}, "no_log": True},
            "listens": {"type": "list", "elements": "dict", "default": [], "options": _LISTEN},
            "keep": {"type": "int", "default": 2},
        },
        required_if=[("state", "installed", ["archive", "checksum"])],
        supports_check_mode=True,
    )
    server = drizzle.Drizzle(process.SystemRunner())
    asked = module.params
    chosen = drizzle_tree.Chosen(tuple(asked["plugins"]), tuple(asked["wished"]), tuple(asked["removed"]))
    try:
        result = _STATES[asked["state"]](server, asked, chosen, module.check_mode)
    except errors.NodeError as failure:
        module.fail_json(**failure.to_result())
    except process.ProcessError as failure:
        module.fail_json(msg=str(failure))
    module.exit_json(**result)


def _looked(server, asked, chosen, check):
    told = server.look(Path(asked["data"]), asked["release"], chosen)
    if asked["needed"]:
        told["packages"] = list(server.packages(asked["needed"]))
    return {"changed": False, **told}


def _installed(server, asked, chosen, check):
    if not check:
        tree = server.install(asked["release"], Path(asked["archive"]), asked["checksum"], chosen)
        return {"changed": True, **drizzle.describe(tree, chosen)}
    return {"changed": True}


def _running(server, asked, chosen, check):
    outcome = server.ensure(
        drizzle.Service(
            release=asked["release"],
            chosen=chosen,
            data=Path(asked["data"]),
            files=tuple(_wanted(words) for words in asked["files"]),
            absent=tuple(Path(path) for path in asked["absent"]),
            users=asked["users"],
            listens=tuple((words["address"], words["port"]) for words in asked["listens"]),
            keep=asked["keep"],
        ),
        check=check,
    )
    return {
        "changed": bool(outcome.done or outcome.changes),
        "done": list(outcome.done),
        "removed": list(outcome.removed),
        "diff": [
            *({"before": "", "after": f"{line}\n", "after_header": "drizzled"} for line in outcome.done),
            *(
                {
                    "before": change.before,
                    "after": change.after,
                    "before_header": str(change.path),
                    "after_header": str(change.path),
                }
                for change in outcome.changes
            ),
        ],
    }


def _wanted(words):
    mode = files.parse_mode(words["mode"], folder=words["content"] is None)
    return files.Wanted(Path(words["path"]), words["content"], mode, words["owner"], words["group"])


_STATES = {"looked": _looked, "installed": _installed, "running": _running}


if __name__ == "__main__":
    main()
