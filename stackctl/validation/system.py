"""A server's units, sockets and mounts as values, and what is wrong with them in plain words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Unit:
    """A systemd unit. ``said`` is the end of its journal, where it does not run."""

    name: str
    load: str
    active: str
    sub: str
    enabled: str
    result: str
    stale: bool
    said: tuple[str, ...]
    at_boot: bool
    """Whether something that starts at boot wants it."""

    def wrong_now(self) -> str | None:
        """Why the unit does not run; None where it does."""
        if self.load == "not-found":
            return f"{self.name} is not installed"
        if self.load == "masked":
            return f"{self.name} is masked, so that nothing can start it"
        if self.active == "active":
            return None
        why = "" if self.result in {"", "success"} else f", its last run ended with {self.result}"
        said = f"; it said: {' | '.join(self.said)}" if self.said else ""
        return f"{self.name} is {self.active} ({self.sub}){why}{said}"

    def wrong_after_reboot(self) -> str | None:
        """Why the unit will not come back by itself; None where it will."""
        if self.load == "not-found":
            return f"{self.name} is not installed"
        if self.load == "masked" or not self.at_boot:
            return f"{self.name} is {self.enabled or 'unknown to systemd'}, so that a reboot leaves it stopped"
        return None


@dataclass(frozen=True)
class Socket:
    """A listening socket; ``address`` is `*` where it takes IPv4 and IPv6 alike."""

    protocol: str
    address: str
    port: int
    processes: tuple[str, ...]

    def __str__(self) -> str:
        where = f"[{self.address}]" if ":" in self.address else self.address
        return f"{' and '.join(self.processes) or 'an unknown process'} on {self.protocol} {where}:{self.port}"


@dataclass(frozen=True)
class PathFound:
    """A path on the server: its start, and the mount point that it lies under."""

    directory: bool
    mode: str
    owner: str
    group: str
    mount: str


@dataclass(frozen=True)
class Mount:
    """A mounted file system."""

    mount: str
    type: str
    source: str


@dataclass(frozen=True)
class System:
    """One look at a server."""

    units: Mapping[str, Unit]
    failed_units: tuple[str, ...]
    sockets: tuple[Socket, ...]
    mounts: tuple[Mount, ...]
    paths: Mapping[str, PathFound | None]
    kernels: Mapping[str, bool]
    """Whether each installed kernel has its initramfs, by version."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "System":
        """The answer of ``probes.system.look``."""
        return cls(
            {name: _unit(unit, unit["id"] in value["at_boot"]) for name, unit in value["units"].items()},
            tuple(value["failed_units"]),
            tuple(
                Socket(one["protocol"], one["address"], one["port"], tuple(one["processes"]))
                for one in value["sockets"]
            ),
            tuple(Mount(**one) for one in value["mounts"]),
            {path: None if found is None else PathFound(**found) for path, found in value["paths"].items()},
            value["kernels"],
        )

    def wrong_now(self, units: Sequence[str]) -> list[str]:
        """What is wrong with units that should run."""
        return [said for name in units if (said := self.units[name].wrong_now()) is not None]

    def mount_at(self, path: str) -> Mount | None:
        """What is mounted at exactly this path: the topmost, where there are several."""
        return next((mount for mount in reversed(self.mounts) if mount.mount == path), None)


def _unit(value: Mapping[str, Any], at_boot: bool) -> Unit:
    return Unit(
        value["id"],
        value["load"],
        value["active"],
        value["sub"],
        value["enabled"],
        value["result"],
        value["stale"],
        tuple(value["said"]),
        at_boot,
    )
