"""systemd units enabled and running, waited for until they listen; a failure shows what the unit said."""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from . import sockets
from .errors import NodeError
from .process import ProcessError, Runner

State = Literal["started", "restarted", "stopped"]
_PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "UnitFileState",
    "NeedDaemonReload",
    "DropInPaths",
    "NRestarts",
    "ActiveEnterTimestampMonotonic",
    "ExecMainStartTimestampMonotonic",
)
_BUS_AWAY = re.compile("Transport endpoint is not connected|Connection reset by peer|Connection timed out")
"""systemd re-executes itself, or is very busy; it answers again soon."""
_BUS_ATTEMPTS = 5
_POLL = 0.25
_HEARING = 10.0
"""Seconds that a unit found running may yet take to listen."""
_PATIENCE = 2
"""How often systemd may start a unit anew before it counts as failed."""


@dataclass(frozen=True)
class Units:
    """Units of this system, taken together."""

    runner: Runner
    names: tuple[str, ...]
    timeout: float = 120.0
    """Seconds for the units to become active and to listen."""
    listening: Callable[[], tuple[sockets.Listener, ...]] = sockets.listeners
    clock: Callable[[], float] = field(default=time.monotonic)
    sleep: Callable[[float], None] = field(default=time.sleep)

    def ensure(
        self,
        state: State,
        *,
        enabled: bool | None = True,
        listens: Sequence[tuple[str, int]] = (),
        without: Sequence[str] = (),
        configuration: Sequence[Path] = (),
        check: bool = False,
    ) -> list[str]:
        """Bring the units into ``state``; return what was done (in check mode: would be), one line each.

        ``listens`` are addresses and ports that must answer before the work counts as done. Units ``without``
        which the others are to run are stopped first; their files may be gone already. A unit that runs since
        before one of the files in ``configuration`` was written is restarted: a run that was interrupted between
        the file and the restart is so finished by the next one. So is one that runs and does not listen.
        """
        found = self._show()
        if state == "started" and (
            _stale(found.values(), configuration) or _unseen(found, configuration) or self._is_deaf(found, listens)
        ):
            state = "restarted"
        # systemd overlooks a first drop-in in a folder that is new, so its own word is not enough.
        if not check and (
            state == "restarted" or any(unit["NeedDaemonReload"] == "yes" or _absent(unit) for unit in found.values())
        ):
            self.runner.run(["systemctl", "daemon-reload"])
            found = self._show()
        done = self._stop(without, check=check)
        for name, unit in found.items():
            if unit["LoadState"] == "masked":
                raise NodeError(f"{name} is masked", hint=f"systemctl unmask {name}")
            if _absent(unit) and not check:
                raise NodeError(f"there is no unit {name} on this server")
        self._enable(found, enabled, done, check=check)
        self._move(found, state, done, check=check)
        if state != "stopped" and not check:
            self._wait(listens)
        return done

    def _show(self, names: Sequence[str] = ()) -> dict[str, Mapping[str, str]]:
        names = names or self.names
        argv = ["systemctl", "show", f"--property={','.join(_PROPERTIES)}", *names]
        for attempt in range(_BUS_ATTEMPTS):
            done = self.runner.run(argv, check=False)
            if done.returncode == 0:
                break
            if attempt == _BUS_ATTEMPTS - 1 or not _BUS_AWAY.search(done.stderr):
                raise ProcessError(done)
            self.sleep(1.0)
        blocks = done.stdout.strip().split("\n\n")
        units = [dict(line.split("=", 1) for line in block.splitlines()) for block in blocks]
        return dict(zip(names, units, strict=True))

    def _stop(self, names: Sequence[str], *, check: bool) -> list[str]:
        found = self._show(names) if names else {}
        running = [name for name, unit in found.items() if unit["ActiveState"] not in {"inactive", "failed"}]
        if running and not check:
            self.runner.run(["systemctl", "stop", *running])
        return [f"stop {name}" for name in running]

    def _enable(
        self, found: Mapping[str, Mapping[str, str]], enabled: bool | None, done: list[str], *, check: bool
    ) -> None:
        if enabled is None:
            return
        verb, wrong = ("enable", {"disabled", ""}) if enabled else ("disable", {"enabled"})
        if names := [name for name, unit in found.items() if unit["UnitFileState"] in wrong]:
            if not check:
                self.runner.run(["systemctl", verb, *names])
            done.extend(f"{verb} {name}" for name in names)

    def _move(self, found: Mapping[str, Mapping[str, str]], state: State, done: list[str], *, check: bool) -> None:
        running = {name for name, unit in found.items() if unit["ActiveState"] in {"active", "reloading"}}
        if state == "restarted":
            verb, names = "restart", list(self.names)
        elif state == "started":
            verb, names = "start", [name for name in self.names if name not in running]
        else:
            verb, names = "stop", [name for name in self.names if name in running]
        if names and not check:
            self.runner.run(["systemctl", "reset-failed", *names], check=False)
            if self.runner.run(["systemctl", verb, *names], check=False).returncode:
                raise self._failure(verb)
        done.extend(f"{verb} {name}" for name in names)

    def _silent(self, listens: Sequence[tuple[str, int]]) -> list[str]:
        """Those of ``listens`` where nobody listens."""
        there = self.listening() if listens else ()
        return [
            f"{address}:{port}" for address, port in listens if not any(one.takes(address, port) for one in there)
        ]

    def _is_deaf(self, found: Mapping[str, Mapping[str, str]], listens: Sequence[tuple[str, int]]) -> bool:
        """Whether the units run, and have had their time, and yet do not listen everywhere."""
        if any(unit["ActiveState"] != "active" for unit in found.values()):
            return False
        began = self.clock()
        while self._silent(listens):
            if self.clock() - began > min(_HEARING, self.timeout):
                return True
            self.sleep(_POLL)
        return False

    def _wait(self, listens: Sequence[tuple[str, int]]) -> None:
        began = self.clock()
        while True:
            states = self._show()
            if any(map(_fails, states.values())):
                raise self._failure("start")
            silent = self._silent(listens)
            idle = [name for name, unit in states.items() if unit["ActiveState"] != "active"]
            if not silent and not idle:
                return
            if self.clock() - began > self.timeout:
                what = (
                    f"{', '.join(idle)} did not become active" if idle else f"nobody listens on {', '.join(silent)}"
                )
                raise NodeError(f"after {self.timeout:.0f} s {what}{self._said(self.names)}")
            self.sleep(_POLL)

    def _failure(self, verb: str) -> NodeError:
        states = self._show()
        failed = [name for name, unit in states.items() if _fails(unit)] or list(self.names)
        return NodeError(
            f"{', '.join(failed)} did not {verb}{self._said(failed)}",
            hint=f"journalctl -u {failed[0]} shows more",
        )

    def _said(self, names: Sequence[str]) -> str:
        argv = ["journalctl", "--quiet", "--no-pager", "--output=cat", "--lines=12"]
        for name in names:
            argv += ["--unit", name]
        lines = self.runner.run(argv, check=False).stdout.strip()
        return f"; it said last:\n{lines}" if lines else ""


def _absent(unit: Mapping[str, str]) -> bool:
    return unit["LoadState"] == "not-found"


def _fails(unit: Mapping[str, str]) -> bool:
    return unit["ActiveState"] == "failed" or int(unit.get("NRestarts") or 0) > _PATIENCE


def _stale(units: Iterable[Mapping[str, str]], configuration: Sequence[Path]) -> bool:
    """Whether a running unit began before one of the files was written."""
    written = max((path.stat().st_mtime for path in configuration if path.exists()), default=0.0)
    boot = time.time() - time.monotonic()
    for unit in units:
        began = int(unit.get("ExecMainStartTimestampMonotonic") or 0) or int(
            unit.get("ActiveEnterTimestampMonotonic") or 0
        )
        if unit["ActiveState"] == "active" and began and written > boot + began / 1e6:
            return True
    return False


def _unseen(units: Mapping[str, Mapping[str, str]], configuration: Sequence[Path]) -> bool:
    """Whether systemd runs a unit without one of its drop-ins among the files."""
    return any(
        path.parent.name == f"{name}.d" and str(path) not in unit.get("DropInPaths", "").split()
        for name, unit in units.items()
        for path in configuration
        if unit["ActiveState"] == "active" and path.exists()
    )
