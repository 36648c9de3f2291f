"""The action that brings Drizzle's archive to a server: a thin door to ``stackctl.apply.drizzle``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from stackctl.apply.archive import Archive
from stackctl.apply.drizzle import Delivery
from stackctl.node.drizzle_tree import Chosen

DOCUMENTATION = r"""
module: stackctl_drizzle_archive
short_description: Drizzle's archive, checked, and unpacked on a server beside the releases that are there
description:
  - The controller fetches the archive, checks its SHA-256 and its signature, and looks whether it fits the server.
  - It is sent only when the server has not unpacked it yet; a release that is there needs no archive any more.
options:
  state:
    description: Only check (V(checked)), or unpack it there too (V(present)).
    type: str
    choices: [checked, present]
    default: present
  archive:
    description: A file of the controller, relative to the site's folder, or an http(s) address.
    type: str
    required: true
  sha256:
    description: Its SHA-256 in hex.
    type: str
    required: true
  signature:
    description: A detached OpenPGP signature; a file or an address.
    type: str
  key:
    description: The public key of that signature; a file or an address.
    type: str
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
"""

EXAMPLES = r"""
- name: Put Drizzle beside the releases that are there
  stackctl_drizzle_archive:
    archive: files/drizzle-7.2.tar.xz
    sha256: "{{ database_drizzle_archive_sha256 }}"
    data: /srv/database/drizzle
"""

RETURN = r"""
current: {description: The release in force., type: str, returned: success}
present: {description: The releases that were there., type: list, returned: success}
log_size: {description: Bytes of each of InnoDB's log files., type: int, returned: success}
tree: {description: Where the parts of the release lie., type: dict, returned: success}
added: {description: Of the plugins those that the release has., type: list, returned: success}
packages: {description: Debian packages that are missing., type: list, returned: success}
"""

_WORDS = {"type": "list", "elements": "str", "default": []}


class ActionModule(ActionBase):  # type: ignore[misc]
    """Look, check, send, unpack."""

    TRANSFERS_FILES = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the action's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, asked = self.validate_argument_spec(
            argument_spec={
                "state": {"type": "str", "choices": ["checked", "present"], "default": "present"},
                "archive": {"type": "str", "required": True},
                "sha256": {"type": "str", "required": True},
                "signature": {"type": "str"},
                "key": {"type": "str", "no_log": False},
                "data": {"type": "path", "required": True},
                "plugins": _WORDS,
                "wished": _WORDS,
                "removed": _WORDS,
            }
        )
        variables = task_vars or {}
        archive = Archive(
            asked["archive"],
            asked["sha256"].lower(),
            asked["signature"] or None,
            asked["key"] or None,
            Path(str(variables.get("stackctl_site_directory") or variables.get("inventory_dir") or ".")),
            "database_drizzle_archive",
        )
        chosen = Chosen(tuple(asked["plugins"]), tuple(asked["wished"]), tuple(asked["removed"]))

        def module(words: Mapping[str, Any]) -> dict[str, Any]:
            said: dict[str, Any] = self._execute_module(
                module_name="stackctl_drizzle", module_args=dict(words), task_vars=task_vars
            )
            return said

        try:
            delivery = Delivery(archive, str(asked["data"]), chosen, module, self._send)
            return result | delivery.run(change=asked["state"] == "present", check=self._task.check_mode)
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)

    def _send(self, file: Path) -> str:
        """Copy the archive to a temporary folder of the server."""
        folder = self._connection._shell.tmpdir or self._make_tmp_path()
        path: str = self._transfer_file(str(file), self._connection._shell.join_path(folder, "drizzle.archive"))
        self._fixup_perms2((folder, path))
        return path
