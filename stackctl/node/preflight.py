"""What must hold on a server before the first change of a role."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import sockets
from .errors import NodeError


@dataclass(frozen=True)
class Claim:
    """An address and port that a service wants, and the names of the processes that may hold it already."""

    address: str
    port: int
    by: tuple[str, ...] = ()
    protocol: str = "tcp"


@dataclass(frozen=True)
class Means:
    """What the server has for its services."""

    memory: int
    """Bytes of RAM."""
    cpus: int


def means(meminfo: Path = Path("/proc/meminfo")) -> Means:
    """Memory and processors of this server."""
    lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
    return Means(memory=int(lines["MemTotal"].split()[0]) * 1024, cpus=os.cpu_count() or 1)


def check_mount(directory: Path, mounts: Sequence[Path]) -> None:
    """Refuse when ``directory`` belongs on one of the layout's ``mounts`` and that is not mounted."""
    holding = [mount for mount in mounts if directory == mount or mount in directory.parents]
    if not holding:
        return
    mount = max(holding, key=lambda path: len(path.parts))
    if not os.path.ismount(mount):
        raise NodeError(
            f"{directory} belongs on the volume {mount}, and nothing is mounted there",
            kind="refused",
            hint="apply the storage first (playbooks/storage.yml), or look why the mount failed: systemctl --failed",
        )


def check_claim(claim: Claim, present: Sequence[sockets.Listener]) -> None:
    """Refuse an address that is not this server's, and a port that another process holds."""
    if not sockets.is_ours(claim.address):
        raise NodeError(
            f"a service is to listen on {claim.address}, which is no address of this server",
            kind="input",
            hint="correct the address under services in stack.yml",
        )
    for listener in present:
        if listener.protocol != claim.protocol or not listener.takes(claim.address, claim.port):
            continue
        holders = sockets.owners(listener.inode)
        strangers = [owner for owner in holders if owner.name not in claim.by]
        if strangers:
            raise NodeError(
                f"port {claim.port} on {claim.address} is taken by {', '.join(map(str, strangers))}, "
                f"which listens on {listener.address}",
                hint="stop that process, or choose another port under services in stack.yml",
            )
