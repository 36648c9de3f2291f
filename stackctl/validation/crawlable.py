"""Where a page of ours may be served so that the crawler takes it: on loopback, as far as the operator allows."""

import ipaddress
import re
from collections.abc import Iterable

_LOOPBACK = ("127.0.0.1", "::1")


def places(allow: Iterable[str]) -> list[tuple[str, int]]:
    """Loopback addresses and ports in the crawler's allow list, port 0 for any; those with any port come first.

    Entries are networks or addresses, with a port if need be: ``127.0.0.0/8``, ``127.0.0.1:8080``, ``[::1]:80``.
    """
    found: list[tuple[str, int]] = []
    for entry in allow:
        network, port = _parts(entry)
        if network is not None:
            found += [(address, port) for address in _LOOPBACK if ipaddress.ip_address(address) in network]
    return sorted(dict.fromkeys(found), key=lambda place: (place[1] != 0, place[0] != _LOOPBACK[0]))


_WITH_PORT = re.compile(r"(?:\[(?P<boxed>[^\]]+)\]|(?P<plain>[^:\[\]]+))(?::(?P<port>\d+))?")


def _parts(entry: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network | None, int]:
    """The network and the port; no network where the entry is none (the application refuses it itself)."""
    match = _WITH_PORT.fullmatch(entry.strip())
    network, port = (match["boxed"] or match["plain"], match["port"]) if match else (entry.strip(), None)
    try:
        return ipaddress.ip_network(network), int(port or 0)
    except ValueError:
        return None, 0
