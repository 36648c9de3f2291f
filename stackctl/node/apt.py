"""What apt and dpkg say, read: what a transaction would do, and why one failed."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .errors import NodeError

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_NUMBER = r"([\d.,]+) (k|M|G|T)?B"

_FETCH = re.compile(r"Failed to fetch (\S+)\s+(.+)")
_UNKNOWN = re.compile(
    r"E: (?:Unable to locate package (\S+)"
    r"|Package '([^']+)' has no installation candidate"
    r"|Couldn't find any package by (?:glob|regex) '([^']+)'"
    r"|Version '[^']+' for '([^']+)' was not found)"
)
_UNREACHABLE = re.compile(
    r"Could not resolve|Temporary failure resolving|Could not connect|Unable to connect|Connection failed"
    r"|Connection timed out|Connection refused|No route to host|Network is unreachable|connection timed out"
    r"|Could not wait for server fd|Error reading from server|Undetermined Error|Could not handshake"
)
_BROKEN = re.compile(r"error processing (?:package|archive) (\S+)")
_UNMET = re.compile(r"^ (\S+ : .+)$", re.MULTILINE)
_NO_SPACE_AT = re.compile(r"enough free space in (\S+?)/?\.?(?:\s|$)|(?:to|open file|create) '?(/[^\s']+)'?")
_RELEASE = re.compile(r"Release file for (\S+) is (not valid yet|expired)[^.]*")
_UNSIGNED = re.compile(r"The repository '(\S+)[^']*' (?:is not signed|does not have a Release file)")
_UNSIGNED_HINT = "install the repository's key, or take the repository out of the apt sources"
_REMOVALS = re.compile(r"The following packages will be REMOVED:\n((?: .*\n)+)")


@dataclass(frozen=True)
class Transaction:
    """What an installation would do."""

    packages: tuple[str, ...]
    """Names that would be new on the system."""
    download: int
    """Bytes to fetch."""
    disk: int
    """Bytes that the installed files take."""


def read_transaction(said: str) -> Transaction:
    """Read the summary that ``apt-get --print-uris install`` prints."""
    names: list[str] = []
    inside = False
    for line in said.splitlines():
        if line.startswith("The following NEW packages will be installed:"):
            inside = True
        elif inside and line.startswith("  "):
            names.extend(line.split())
        else:
            inside = False
    return Transaction(
        packages=tuple(sorted(names)),
        download=_bytes(re.search(rf"Need to get {_NUMBER}", said)),
        disk=_bytes(re.search(rf"After this operation, {_NUMBER} of additional", said)),
    )


def fault(said: str, doing: str) -> NodeError:
    """The error for the operator, from what apt or dpkg ``said`` while it was ``doing`` something.

    Kinds: ``locked``, ``unknown_package``, ``no_space``, ``unreachable_mirror``, ``certificate``,
    ``hash_mismatch``, ``not_on_mirror``, ``clock``, ``unsigned``, ``unmet``, ``would_remove``, ``broken_dpkg``,
    ``failed``.
    """
    for read in (_locked, _unknown, _no_space, _fetch, _repository, _conflict, _broken):
        if found := read(said):
            return NodeError(f"{doing}: {found.message}", kind=found.kind, hint=found.hint)
    lines = [line for line in said.splitlines() if line.startswith(("E:", "dpkg:"))] or said.strip().splitlines()[-5:]
    return NodeError(f"{doing}: " + ("\n".join(lines) or "apt-get failed and said nothing"))


def no_space(path: Path, needed: int | None) -> NodeError:
    """The error for a file system under ``path`` that lacks room for ``needed`` bytes."""
    inside = _existing(path)
    mount, free = mount_point(inside), free_bytes(inside)
    if needed is not None and needed > free:
        told = f": {_size(needed)} are needed, {_size(free)} are free, {_size(needed - free)} are missing"
    else:
        told = f": {_size(free)} are free"
    return NodeError(
        f"no space on the file system {mount} ({_device(mount)}) for {path}{told}",
        kind="no_space",
        hint=f"free some space on {mount} (`apt-get clean` removes fetched packages), then run the command again",
    )


def free_bytes(path: Path) -> int:
    """Bytes that root can still write on the file system of ``path``."""
    room = os.statvfs(_existing(path))
    return room.f_bfree * room.f_frsize


def mount_point(path: Path) -> Path:
    """Where the file system of ``path`` is mounted."""
    path = _existing(path).resolve()
    while path != path.parent and not os.path.ismount(path):
        path = path.parent
    return path


def _locked(said: str) -> NodeError | None:
    match = re.search(r"E: Could not get lock (\S+?)\.? (?:It is held by process (\d+) \(([^)]*)\)|-)", said)
    if not match:
        return None
    who = f"process {match[2]} ({match[3]})" if match[2] else "another process"
    return NodeError(f"the package manager is locked by {who} ({match[1]})", kind="locked")


def _unknown(said: str) -> NodeError | None:
    names = sorted({next(filter(None, groups)) for groups in _UNKNOWN.findall(said)})
    if not names:
        return None
    return NodeError(
        f"no package of this name in the package lists: {', '.join(names)}",
        kind="unknown_package",
        hint="check the spelling, and that the apt sources carry the right release and components",
    )


def _no_space(said: str) -> NodeError | None:
    if "No space left on device" not in said and "enough free space" not in said:
        return None
    paths = [first or second for first, second in _NO_SPACE_AT.findall(said)]
    transaction = read_transaction(said)
    path = Path(paths[-1] if paths else "/var")
    archive = "archives" in str(path)
    needed = transaction.download if archive else transaction.disk
    return no_space(path, needed or None)


def _fetch(said: str) -> NodeError | None:
    fetches = _FETCH.findall(said)
    if not fetches:
        return None
    address, reason = fetches[0]
    host = urlsplit(address).hostname or address
    reason = reason.strip()
    if "signatures" in reason:
        return NodeError(
            f"the repository at {host} is not signed by a key that this server knows: {reason}",
            kind="unsigned",
            hint=_UNSIGNED_HINT,
        )
    if "certificate" in reason.lower():
        return NodeError(
            f"the package mirror {host} shows a certificate that this server does not trust: {reason}",
            kind="certificate",
            hint="name the authority's certificate under mirrors.ca in stack.yml",
        )
    if _UNREACHABLE.search(reason):
        return NodeError(
            f"the package mirror {host} cannot be reached: {reason}",
            kind="unreachable_mirror",
            hint="check the server's network and name service, or name another mirror under mirrors.apt in stack.yml",
        )
    if "Hash Sum mismatch" in reason or "unexpected size" in reason:
        return NodeError(
            f"the package mirror {host} sent a file that does not match its lists ({reason}): {address}",
            kind="hash_mismatch",
            hint="the mirror may be amid an update, or a proxy in between stale; try later or name another mirror",
        )
    if re.match(r"40[34]\b|410\b", reason):
        return NodeError(
            f"the package mirror {host} does not have {address} ({reason})",
            kind="not_on_mirror",
            hint="check mirrors.apt and mirrors.apt_security in stack.yml",
        )
    return NodeError(f"the package mirror {host} failed: {reason}", kind="unreachable_mirror")


def _repository(said: str) -> NodeError | None:
    if match := _RELEASE.search(said):
        return NodeError(
            f"the package lists of {match[1]} are {match[2]} by this server's clock",
            kind="clock",
            hint="check the server's clock (timedatectl), then the mirror",
        )
    if match := _UNSIGNED.search(said):
        return NodeError(
            f"the repository {match[1]} is not signed by a key that this server knows",
            kind="unsigned",
            hint=_UNSIGNED_HINT,
        )
    return None


def _conflict(said: str) -> NodeError | None:
    if (removals := _REMOVALS.search(said)) and "remove is disabled" in said:
        return NodeError(
            f"it would remove {', '.join(removals[1].split())}",
            kind="would_remove",
            hint="those packages conflict with the ones to install; remove them by hand if they are not needed",
        )
    if "have unmet dependencies" in said:
        detail = "; ".join(_UNMET.findall(said)) or "apt did not say which"
        return NodeError(
            f"packages do not fit together: {detail}",
            kind="unmet",
            hint="look for held packages (apt-mark showhold) and for apt sources of another release",
        )
    return None


def _broken(said: str) -> NodeError | None:
    names = list(dict.fromkeys(name.rstrip(":") for name in _BROKEN.findall(said)))
    if not names and "dpkg was interrupted" not in said:
        return None
    reasons = re.findall(r"error processing (?:package|archive) \S+ \([^)]*\):\n (.+)", said)
    what = f"dpkg failed on {', '.join(names)}" if names else "dpkg was interrupted"
    return NodeError(
        what + (f": {'; '.join(dict.fromkeys(reasons))}" if reasons else ""),
        kind="broken_dpkg",
        hint="see /var/log/dpkg.log and /var/log/apt/term.log on the server; `dpkg --configure -a` shows it again",
    )


def _bytes(match: re.Match[str] | None) -> int:
    if match is None:
        return 0
    return int(float(match[1].replace(",", "")) * _UNITS[f"{match[2] or ''}B"])


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _device(mount: Path) -> str:
    try:
        for line in Path("/proc/self/mounts").read_text().splitlines():
            device, where, *_ = line.split()
            if where == str(mount):
                return device
    except OSError:
        pass
    return "unknown device"


def _size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
