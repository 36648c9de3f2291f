"""Who listens where, as the kernel tells it under /proc."""

import errno
import ipaddress
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TABLES = {"tcp": ("tcp", "0A"), "tcp6": ("tcp", "0A"), "udp": ("udp", "07"), "udp6": ("udp", "07")}
"""Table, protocol and the state that means listening (TCP_LISTEN, unconnected UDP)."""


@dataclass(frozen=True)
class Listener:
    """A socket that waits for others."""

    protocol: str
    address: str
    port: int
    inode: int

    def takes(self, address: str, port: int) -> bool:
        """Whether this socket keeps another from listening at ``address`` and ``port``."""
        mine, theirs = ipaddress.ip_address(self.address), ipaddress.ip_address(address)
        if self.port != port:
            return False
        if mine == theirs:
            return True
        same = mine.version == theirs.version
        return (mine.is_unspecified and (same or mine.version == 6)) or (
            theirs.is_unspecified and (same or theirs.version == 6)
        )


@dataclass(frozen=True)
class Owner:
    """A process that holds a socket."""

    pid: int
    name: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.name})"


def listeners(proc: Path = Path("/proc")) -> tuple[Listener, ...]:
    """Every listening TCP socket and every waiting UDP socket of this system."""
    return tuple(found for table in _TABLES for found in _read(proc, table))


def owners(inode: int, proc: Path = Path("/proc")) -> tuple[Owner, ...]:
    """The processes that hold the socket; empty where this process may not look."""
    wanted = f"socket:[{inode}]"
    found = []
    for process in proc.iterdir():
        if not process.name.isdigit():
            continue
        try:
            if any(str(handle.readlink()) == wanted for handle in (process / "fd").iterdir()):
                found.append(Owner(int(process.name), (process / "comm").read_text().strip()))
        except OSError:
            continue
    return tuple(sorted(found, key=lambda owner: owner.pid))


def is_ours(address: str) -> bool:
    """Whether ``address`` belongs to this system, so that a service can listen there."""
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError as error:
        if error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
            return False
        raise
    return True


def _read(proc: Path, table: str) -> Iterator[Listener]:
    protocol, listening = _TABLES[table]
    try:
        lines = (proc / "net" / table).read_text().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split()
        if fields[3] == listening:
            address, port = fields[1].split(":")
            yield Listener(protocol, _address(address), int(port, 16), int(fields[9]))


def _address(text: str) -> str:
    """The kernel prints addresses as words of 32 bits in the machine's own order."""
    words = [int(text[at : at + 8], 16) for at in range(0, len(text), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    address = ipaddress.ip_address(packed)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
