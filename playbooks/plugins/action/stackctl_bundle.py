"""The action that brings the search app to a server: a thin door to ``stackctl.apply.bundle``."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from stackctl.apply.bundle import Source, Target, bundle
from stackctl.errors import StackctlError

DOCUMENTATION = r"""
module: stackctl_bundle
short_description: The search app's release on a server
description:
  - Asks the server for its Python and what it has, and sends the release only when it is missing.
  - The controller builds the release with its own pip; the server needs no package index.
options:
  root:
    description: The folder of the app on the server.
    type: path
    required: true
  keep:
    description: How many releases stay there.
    type: int
    default: 3
"""

EXAMPLES = r"""
- name: Install the search app
  stackctl_bundle:
    root: /opt/stacksearch
"""

RETURN = r"""
digest: {description: The release in force., type: str, returned: success}
sent: {description: Whether the archive had to be sent., type: bool, returned: success}
"""


class ActionModule(ActionBase):  # type: ignore[misc]
    """Look, build, send, switch."""

    TRANSFERS_FILES = True
    _VALID_ARGS = frozenset({"root", "keep"})

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the action's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        words = {"root": self._task.args.get("root"), "keep": self._task.args.get("keep", 3)}
        found = self._release(words, task_vars)
        if found.get("failed"):
            return result | found
        try:
            target = Target(found["python"], found["machine"], found["libc"])
            digest = Source.shipped().digest(target)
            missing = digest not in found["present"]
            if digest != found["current"] and not self._task.check_mode:
                words["digest"] = digest
                if missing:
                    built = bundle(target)
                    words |= {"archive": self._send(str(built.archive)), "checksum": built.checksum}
                switched = self._release(words, task_vars)
                if switched.get("failed"):
                    return result | switched
        except StackctlError as failure:
            return result | {
                "failed": True,
                "msg": failure.message,
                "stackctl_hint": failure.hint or "",
                "stackctl_exit": int(failure.code),
            }
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)
        return result | {
            "changed": digest != found["current"],
            "digest": digest,
            "sent": missing and not self._task.check_mode,
            "diff": {"before": f"{found['current'] or ''}\n", "after": f"{digest}\n", "after_header": words["root"]},
        }

    def _release(self, words: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """What the module of the same purpose says."""
        said: dict[str, Any] = self._execute_module(
            module_name="stackctl_release", module_args=dict(words), task_vars=task_vars
        )
        said.pop("invocation", None)
        return said

    def _send(self, archive: str) -> str:
        """Copy the archive to a temporary folder of the server."""
        folder = self._connection._shell.tmpdir or self._make_tmp_path()
        path: str = self._transfer_file(archive, self._connection._shell.join_path(folder, "release.tar.gz"))
        self._fixup_perms2((folder, path))
        return path
