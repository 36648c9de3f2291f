"""Which addresses may be fetched: public ones, and those the operator has allowed.

What strangers submit must not reach loopback, private or link-local networks, a cloud's metadata service,
nor a public address that is a tunnel to one of those. The tables follow the IANA special-purpose registries
(RFC 6890 and its successors); Python's ``is_global`` is too kind to multicast, NAT64 and 6to4.
"""

import functools
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_CLOSED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network, RFC 791
        "10.0.0.0/8",  # private, RFC 1918
        "100.64.0.0/10",  # carriers' NAT, RFC 6598
        "127.0.0.0/8",  # loopback, RFC 1122
        "168.63.129.16/32",  # Azure's platform services
        "169.254.0.0/16",  # link-local and metadata, RFC 3927
        "172.16.0.0/12",  # private, RFC 1918
        "192.0.0.0/24",  # IETF protocols, RFC 6890
        "192.0.2.0/24",  # documentation, RFC 5737
        "192.88.99.0/24",  # 6to4 relays, RFC 7526
        "192.168.0.0/16",  # private, RFC 1918
        "198.18.0.0/15",  # benchmarks, RFC 2544
        "198.51.100.0/24",  # documentation, RFC 5737
        "203.0.113.0/24",  # documentation, RFC 5737
        "224.0.0.0/4",  # multicast, RFC 5771
        "240.0.0.0/4",  # reserved and broadcast, RFC 1112
    )
)
_OPEN_V6 = ipaddress.IPv6Network("2000::/3")  # the only global unicast block that IANA assigns from, RFC 4291
_CLOSED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocols, with Teredo and ORCHID, RFC 2928
        "2001:db8::/32",  # documentation, RFC 3849
        "2002::/16",  # 6to4: carries an IPv4 address, RFC 3056
        "3fff::/20",  # documentation, RFC 9637
    )
)


def is_public(address: Address) -> bool:
    """Whether the address is a plain public unicast one that leads to no tunnel."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        return address in _OPEN_V6 and not any(address in network for network in _CLOSED_V6)
    return not any(address in network for network in _CLOSED_V4)


@dataclass(frozen=True)
class Allowed:
    """A network that the operator allows, on one port or on any."""

    network: Network
    port: int | None = None

    def __str__(self) -> str:
        if self.port is None:
            return str(self.network)
        return f"[{self.network}]:{self.port}" if self.network.version == 6 else f"{self.network}:{self.port}"

    def covers(self, address: Address, port: int) -> bool:
        """Whether the address and port lie in it."""
        return address in self.network and self.port in (None, port)


_ALLOWED = re.compile(
    r"(?P<v4>[0-9.]+(/\d+)?)(:(?P<port4>\d+))?|\[(?P<boxed>[0-9A-Fa-f:.]+(/\d+)?)\](:(?P<port6>\d+))?"
    r"|(?P<v6>[0-9A-Fa-f:.]*::?[0-9A-Fa-f:.]*(/\d+)?)"
)


def parse_allowed(text: str) -> Allowed:
    """Read ``10.0.0.0/8``, ``127.0.0.1:8080``, ``fd00::/8`` or ``[::1]:80``; raises ValueError."""
    match = _ALLOWED.fullmatch(text.strip())
    if match is None:
        raise ValueError("write a network such as 10.0.0.0/8, 127.0.0.1:8080 or [::1]:80")
    network = ipaddress.ip_network(match["v4"] or match["boxed"] or match["v6"])
    port = match["port4"] or match["port6"]
    if port is not None and not 1 <= int(port) <= 65535:
        raise ValueError(f"{port} is not a port")
    return Allowed(network, int(port) if port else None)


class BlockedAddressError(OSError):
    """A connection that the policy refuses."""


class Policy:
    """Decides about the address that is about to be connected to."""

    def __init__(self, allow: Sequence[Allowed] = (), ports: Sequence[int] = (80, 443)) -> None:
        self._allow = tuple(allow)
        self._ports = frozenset(ports)
        self.refusal = functools.lru_cache(maxsize=4096)(self._refusal)

    def own(self, host: str, port: int) -> bool:
        """Whether the address is one that the operator has allowed by name of its network."""
        address = _parse(host)
        return address is not None and any(entry.covers(address, port) for entry in self._allow)

    def _refusal(self, host: str, port: int) -> str | None:
        """Why the address may not be connected to; None when it may."""
        address = _parse(host)
        if address is None:
            return f"{host!r} is not an address"
        if any(entry.covers(address, port) for entry in self._allow):
            return None
        if not is_public(address):
            return f"the address {address} is not public and not allowed"
        if port not in self._ports:
            return f"the port {port} is not allowed"
        return None

    def check(self, host: str, port: int) -> None:
        """Raise BlockedAddressError when the address may not be connected to."""
        refusal = self.refusal(host, port)
        if refusal is not None:
            raise BlockedAddressError(refusal)


def _parse(host: str) -> Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.scope_id is not None:
            return ipaddress.IPv6Address(int(address))
    return address
