"""What listens where on each host, and how the others reach it."""

import ipaddress
from dataclasses import dataclass

from stackctl.site.document import KeyPath
from stackctl.site.models import Role, Site

NEEDS: dict[Role, tuple[Role, ...]] = {"search": ("database", "queue", "cache")}
"""Which roles a role cannot work without, here or on another host."""


@dataclass(frozen=True)
class Listening:
    """One listening end: of which service, at which address and port, and which key sets the port."""

    label: str
    service: str
    listen: str
    port: int
    port_key: str = "port"

    @property
    def port_path(self) -> KeyPath:
        """The key path of the port."""
        return ("services", self.service, self.port_key)

    def __str__(self) -> str:
        return f"[{self.listen}]:{self.port}" if ":" in self.listen else f"{self.listen}:{self.port}"


@dataclass(frozen=True)
class Listener:
    """A service that listens on the hosts with a role; ``listen`` overrules the site where it is fixed."""

    role: Role
    service: str
    label: str
    port_key: str = "port"
    listen: str | None = None

    def of(self, site: Site) -> Listening:
        """The end as the site has it."""
        words = getattr(site.services, self.service)
        return Listening(
            self.label, self.service, self.listen or words.listen, getattr(words, self.port_key), self.port_key
        )


LISTENERS = (
    Listener("database", "database", "the database"),
    Listener("queue", "queue", "the queue"),
    Listener("queue", "queue", "the queue's HTTP protocol", port_key="http_port", listen="127.0.0.1"),
    Listener("cache", "cache", "the cache"),
    Listener("search", "search", "the search index"),
    Listener("search", "web", "the web front"),
)
"""Everything of ours that listens."""


def listening_on(site: Site, host: str) -> tuple[Listening, ...]:
    """The ends on a host, by its roles."""
    roles = site.hosts[host].roles
    return tuple(listener.of(site) for listener in LISTENERS if listener.role in roles)


def is_loopback(listen: str) -> bool:
    """Whether only the host itself reaches this address."""
    return ipaddress.ip_address(listen).is_loopback


def is_wildcard(listen: str) -> bool:
    """Whether this address stands for all of a host's."""
    return ipaddress.ip_address(listen).is_unspecified


def clash(one: Listening, other: Listening) -> bool:
    """Whether both cannot listen on one host; `::` takes the IPv4 ports too, as Linux has it by default."""
    if one.port != other.port:
        return False
    here, there = ipaddress.ip_address(one.listen), ipaddress.ip_address(other.listen)
    if here.version == there.version:
        return here == there or here.is_unspecified or there.is_unspecified
    return (here.version == 6 and here.is_unspecified) or (there.version == 6 and there.is_unspecified)


def own_address(listen: str) -> str:
    """The address at which a host reaches its own service."""
    address = ipaddress.ip_address(listen)
    if address.is_unspecified:
        return "::1" if address.version == 6 else "127.0.0.1"
    return str(address)


def endpoints(site: Site, role: Role, host: str) -> list[dict[str, str | int]]:
    """Where ``host`` reaches the service of a role: itself first, then others that can be reached from it."""
    words = getattr(site.services, role)
    carriers = site.hosts_with(role)
    found: list[dict[str, str | int]] = []
    if host in carriers:
        found.append({"host": own_address(words.listen), "port": words.port})
    if is_loopback(words.listen):
        return found
    for name in carriers:
        address = site.hosts[name].address if is_wildcard(words.listen) else words.listen
        if name != host and address is not None:
            found.append({"host": address, "port": words.port})
    return found
