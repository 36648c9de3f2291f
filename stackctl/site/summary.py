"""A site at a glance: a line a host."""

from dataclasses import asdict, dataclass
from typing import Any

from stackctl.site.listeners import listening_on
from stackctl.site.load import OpenSite


@dataclass(frozen=True)
class HostSummary:
    """One host: how it is reached, what it runs, its layout, where it listens."""

    name: str
    address: str
    roles: tuple[str, ...]
    layout: str | None
    listens: dict[str, tuple[int, ...]]
    """Ports by address."""

    @property
    def listens_words(self) -> str:
        """Addresses and ports in one line."""
        return "; ".join(f"{address} {' '.join(map(str, ports))}" for address, ports in self.listens.items())

    def as_json(self) -> dict[str, Any]:
        """The parts as a JSON object."""
        return asdict(self)


def summary(opened: OpenSite) -> tuple[HostSummary, ...]:
    """The hosts in the order of the file."""
    return tuple(_host(opened, name) for name in opened.site.hosts)


def _host(opened: OpenSite, name: str) -> HostSummary:
    host = opened.site.hosts[name]
    address = "lab machine" if host.address is None else _address(host.address, host.port)
    listens: dict[str, list[int]] = {}
    for item in listening_on(opened.site, name):
        listens.setdefault(item.listen, []).append(item.port)
    return HostSummary(name, address, host.roles, host.layout, {key: tuple(ports) for key, ports in listens.items()})


def _address(address: str, port: int) -> str:
    if port == 22:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
