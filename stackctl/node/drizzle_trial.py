"""A trial start of drizzled: on data of its own, beside the running server, with the configuration that is to come.

Drizzle cannot check a configuration without starting: `--help` ends before an unknown option is noticed.
"""

import os
import pwd
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from . import drizzle_wire, process
from .drizzle_config import Option, Places, for_trial
from .drizzle_tree import ALLOCATOR, Tree, allocator
from .errors import NodeError
from .process import Running

_TELLING = re.compile(
    r"abort|error|fail|unrecogni|couldn't|cannot|can't|unable|unknown|terminat|what\(\)", re.IGNORECASE
)
_POLL = 0.1


@dataclass(frozen=True)
class Trial:
    """One trial. ``user`` runs it; None for this process's own."""

    tree: Tree
    user: str | None = "drizzle"
    home: Path = Path("/var/tmp")  # noqa: S108
    """Where its folder is made; a file system for some tens of megabytes."""
    timeout: float = 120.0
    """Seconds that the start may take, and the end."""
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords by name."""

    def run(self, options: Sequence[Option]) -> None:
        """Start, log in, and stop. Raises NodeError with drizzled's own line where it does not start."""
        with self._folder() as folder:
            places = Places(folder, folder / "users", *_free_ports(2))
            self._write(places.users, "".join(f"{name}:{password}\n" for name, password in self.users.items()))
            self._write(folder / "etc" / "drizzled.cnf", for_trial(options, places))
            (folder / "data").mkdir()
            self._own(folder / "data")
            said = folder / "said"
            with process.running(
                [*self._as_user(), *self._argv(folder)], output=said, timeout=self.timeout
            ) as drizzled:
                self._wait(drizzled, places.port, said)
                self._check_allocator(drizzled)
                self._check_login(places.port)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(prefix="stackctl-drizzle-", dir=self.home))
        try:
            self._own(folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(exist_ok=True)
        self._own(path.parent)
        path.touch(mode=0o600)
        path.write_text(text)
        self._own(path)

    def _own(self, path: Path) -> None:
        if self.user:
            entry = pwd.getpwnam(self.user)
            os.chown(path, entry.pw_uid, entry.pw_gid)

    def _as_user(self) -> list[str]:
        if not self.user:
            return []
        return ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups", "--no-new-privs"]

    def _argv(self, folder: Path) -> list[str]:
        tree = self.tree
        return [
            # by env, so that no program of the system runs with these libraries
            "env",
            f"LD_LIBRARY_PATH={':'.join(map(str, tree.search))}",
            str(tree.root / tree.program),
            f"--config-dir={folder / 'etc'}",
            f"--basedir={tree.root / tree.base}",
            f"--plugin-dir={tree.root / tree.plugin_directory}",
            f"--datadir={folder / 'data'}",
            f"--pid-file={folder / 'drizzled.pid'}",
        ]

    def _wait(self, drizzled: Running, port: int, said: Path) -> None:
        end = time.monotonic() + self.timeout
        while not drizzle_wire.answers("127.0.0.1", port):
            if (code := drizzled.ended()) is not None:
                raise NodeError(
                    f"this drizzled does not start with this configuration (it ended with {code}): "
                    f"{telling(said.read_text(errors='replace'))}",
                    kind="input",
                    hint="it was tried beside the running server, which is untouched; correct "
                    "database_drizzle_options or database_drizzle_plugins, or name another archive",
                )
            if time.monotonic() > end:
                raise NodeError(
                    f"this drizzled did not answer within {self.timeout:.0f} s in a trial start: "
                    f"{telling(said.read_text(errors='replace'))}",
                    hint="the running server is untouched",
                )
            time.sleep(_POLL)

    def _check_allocator(self, drizzled: Running) -> None:
        """A plugin that drizzled loads by itself may have brought it in."""
        maps = Path(f"/proc/{drizzled.pid}/maps").read_text()
        if match := re.search(rf"\S*/({ALLOCATOR}\S*)", maps):
            raise allocator(f"what this drizzled loads ({match[1]})")

    def _check_login(self, port: int) -> None:
        """The archive's auth_file lets the right ones in, and nothing else lets in everybody."""
        for name, password in list(self.users.items())[:1]:
            try:
                with drizzle_wire.Client("127.0.0.1", port, name, password):
                    pass
            except drizzle_wire.WireError as refusal:
                raise NodeError(f"this drizzled refuses the right password of {name}: {refusal}") from None
        try:
            with drizzle_wire.Client("127.0.0.1", port, "nobody", "wrong"):
                pass
        except drizzle_wire.WireError:
            return
        raise NodeError(
            "this drizzled lets everybody in, with any password",
            kind="refused",
            hint="auth_file must be among its plugins, and no plugin that lets anybody in",
        )


def telling(said: str) -> str:
    """The lines of drizzled that say why it ended; the last ones where none looks so."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return "\n".join([line for line in lines if _TELLING.search(line)][-6:] or lines[-6:]) or "it said nothing"


def _free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports
