"""Drizzle's archive on its way to a server: checked here, sent only when the server has not unpacked it yet."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stackctl.apply.archive import Archive
from stackctl.errors import StackctlError
from stackctl.node import drizzle, unpack
from stackctl.node.drizzle_tree import Chosen, Tree
from stackctl.node.errors import NodeError

Module = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Runs the module of the same purpose on the server; what it says, also when it fails."""
Send = Callable[[Path], str]
"""Copies a file to the server; where it lies there."""


class Delivery:
    """One archive for one server."""

    def __init__(self, archive: Archive, data: str, chosen: Chosen, module: Module, send: Send) -> None:
        self._archive = archive
        self._chosen = chosen
        self._words: dict[str, Any] = {
            "release": archive.name,
            "data": data,
            "plugins": list(chosen.added),
            "wished": list(chosen.wished),
            "removed": list(chosen.removed),
        }
        self._module = module
        self._send = send

    def run(self, *, change: bool, check: bool) -> dict[str, Any]:
        """The task's result: without ``change`` it only looks, with ``check`` it says what it would do."""
        try:
            return self._run(change=change, check=check)
        except StackctlError as failure:
            told = {"failed": True, "msg": failure.message, "stackctl_exit": int(failure.code)}
            return told | ({"stackctl_hint": failure.hint} if failure.hint else {})
        except NodeError as failure:
            return {"failed": True, **failure.to_result()}

    def _run(self, *, change: bool, check: bool) -> dict[str, Any]:
        self._archive.check()
        found = self._asked("looked")
        if found.get("failed") or found["tree"]:
            return found
        file = self._archive.fetch()
        inspected, needed = self._inspect(file, found)
        looked = self._asked("looked", needed=list(needed))
        if looked.get("failed"):
            return looked
        told = {**looked, **inspected, "changed": change}
        if change:
            told["diff"] = {"before": "", "after": f"{self._archive.name}\n", "after_header": "releases of Drizzle"}
        if not change or check:
            return told
        sent = self._asked("installed", archive=self._send(file), checksum=self._archive.sha256)
        return sent if sent.get("failed") else told | sent

    def _asked(self, state: str, **words: Any) -> dict[str, Any]:
        said = self._module({**self._words, "state": state, **words})
        said.pop("invocation", None)
        return said

    def _inspect(self, file: Path, found: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Unpack it here, and hold it against what the server is: nothing is sent that does not fit."""
        with tempfile.TemporaryDirectory(prefix="stackctl-") as name:
            folder = Path(name)
            unpack.unpack(file, folder)
            tree = Tree.find(folder)
            needed = tree.check(self._chosen, found["machine"], drizzle.glibc(found["libc"]))
            return drizzle.describe(tree, self._chosen), needed
