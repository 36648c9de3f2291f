"""What may listen on a server: what the site says, what a server has anyway, what the operator declares."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, replace

from stackctl.site.engines import database_engine
from stackctl.site.listeners import is_loopback
from stackctl.validation.inventory import Target
from stackctl.validation.system import Socket, System


@dataclass(frozen=True)
class Expected:
    """A socket of ours that has to be there. ``processes`` are the names it may carry, any of which."""

    role: str
    what: str
    address: str
    port: int
    processes: tuple[str, ...]

    def is_at(self, socket: Socket) -> bool:
        """Whether the socket is at this very address: a wildcard is another one."""
        return socket.protocol == "tcp" and socket.port == self.port and _same(self.address, socket.address)

    def is_ours(self, socket: Socket) -> bool:
        """Whether the process behind the socket is the one expected here."""
        return not set(self.processes).isdisjoint(socket.processes)

    def __str__(self) -> str:
        return f"{self.what} on {f'[{self.address}]' if ':' in self.address else self.address}:{self.port}"


@dataclass(frozen=True)
class Ware:
    """A listener that belongs to a role: the variables that say where, or the address that is fixed.

    ``shared`` says that other programs carry the process's name too.
    """

    role: str
    what: str
    processes: tuple[str, ...]
    port: str
    listen: str
    fixed: bool = False
    shared: bool = False


WARES = (
    Ware("queue", "the queue", ("gearmand",), "queue_port", "queue_listen"),
    Ware("queue", "the queue's HTTP protocol", ("gearmand",), "queue_http_port", "127.0.0.1", fixed=True),
    Ware("cache", "the cache", ("memcached",), "cache_port", "cache_listen"),
    Ware("search", "the search index", ("searchd",), "search_index_port", "search_index_listen"),
    Ware("search", "the web front", ("apache2", "nginx"), "search_web_port", "search_web_listen"),
    Ware(
        "search",
        "the search application",
        ("python3", "stacksearch", "stacksearch-web"),
        "search_application_port",
        "127.0.0.1",
        fixed=True,
        shared=True,
    ),
)


def _wares(target: Target) -> tuple[Ware, ...]:
    """Those of the server's roles, with the ports of its database's engine."""
    found = tuple(ware for ware in WARES if ware.role in target.groups)
    if "database" not in target.groups:
        return found
    engine = database_engine(str(target["database_engine"]))
    ports = [("the database", "database_port"), *((port.what, port.variable) for port in engine.ports)]
    database = (Ware("database", what, (engine.process,), port, "database_listen") for what, port in ports)
    return (*database, *found)


_PROXY = ("systemd", "systemd-socket-")
"""As the kernel cuts the names: the manager that listens, and systemd-socket-proxyd that it starts."""
_ANYWHERE = ("sshd",)
_DHCP_PORTS = frozenset({68, 546})
_LOOPBACK_ONLY = frozenset({("chronyd", 323), ("systemd-resolve", 53)})


def expected(target: Target) -> tuple[Expected, ...]:
    """The sockets that the roles of a server have to have."""
    found = [
        Expected(
            ware.role,
            ware.what,
            ware.listen if ware.fixed else str(target[ware.listen]),
            int(target[ware.port]),
            ware.processes,
        )
        for ware in _wares(target)
    ]
    if "queue" in target.groups and not is_loopback(str(target["queue_listen"])):
        # gearmand has one address for all protocols: systemd takes the queue's and hands on to gearmand's own
        found = [replace(one, processes=_PROXY) if one.what == "the queue" else one for one in found]
        found.append(Expected("queue", "gearmand", "127.0.0.1", int(target["queue_loopback_port"]), ("gearmand",)))
    return tuple(found)


def declared(target: Target) -> tuple[tuple[str, int], ...]:
    """Addresses and ports that the operator allows beyond the roles: the variable ``validation_listeners``."""
    return tuple((str(one["listen"]), int(one["port"])) for one in target.get("validation_listeners", ()))


def missing(role: str, target: Target, system: System) -> list[str]:
    """The role's expected sockets that are not there, or that another process holds."""
    wrong = []
    for one in expected(target):
        if one.role != role:
            continue
        there = [socket for socket in system.sockets if one.is_at(socket)]
        if not there:
            wrong.append(f"nothing listens as {one}")
        elif not any(one.is_ours(socket) for socket in there):
            wrong.append(f"the place of {one} is taken by {there[0]}")
    return wrong


def astray(role: str, target: Target, system: System) -> list[str]:
    """Sockets of the role's own processes that are nowhere in the site."""
    everything = expected(target)
    ours = {process for ware in _wares(target) if ware.role == role and not ware.shared for process in ware.processes}
    allowed = declared(target)
    return [
        f"{socket} listens, and the site does not say so"
        for socket in system.sockets
        if ours.intersection(socket.processes)
        and not any(one.is_at(socket) for one in everything)
        and not _is_declared(socket, allowed)
    ]


def beyond(target: Target, system: System) -> list[str]:
    """Every socket that neither the site says, nor a server has anyway, nor the operator declares."""
    everything, allowed = expected(target), declared(target)
    return [
        f"{socket} listens, and the site does not say so"
        for socket in system.sockets
        if not any(one.is_at(socket) and one.is_ours(socket) for one in everything)
        and not _is_baseline(socket)
        and not _is_declared(socket, allowed)
    ]


def _is_baseline(socket: Socket) -> bool:
    if set(socket.processes) & set(_ANYWHERE):
        return True
    if socket.protocol == "udp" and socket.port in _DHCP_PORTS:
        return True
    known = any((process, socket.port) in _LOOPBACK_ONLY for process in socket.processes)
    return known and socket.address != "*" and ipaddress.ip_address(socket.address).is_loopback


def _is_declared(socket: Socket, allowed: Iterable[tuple[str, int]]) -> bool:
    return any(socket.port == port and _same(listen, socket.address) for listen, port in allowed)


def _same(wanted: str, found: str) -> bool:
    """Whether two addresses are one; ``*`` is how `::` looks where it takes IPv4 too."""
    if found == "*":
        return ipaddress.ip_address(wanted) == ipaddress.ip_address("::")
    return ipaddress.ip_address(wanted) == ipaddress.ip_address(found)
