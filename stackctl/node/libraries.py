"""Shared libraries on a server: which a program finds there, and the Debian packages that bring others."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import NodeError
from .process import Runner

_RELEASES = ("12", "13")
_BOOST = re.compile(r"libboost_(\w+)\.so\.(1\.\d+\.\d+)")
_BOOSTS = {"12": {"1.74.0", "1.81.0"}, "13": {"1.83.0", "1.88.0"}}
"""The versions of Boost that a release of Debian has."""
_GLIBC = ("libc", "libcrypt", "libdl", "libm", "libpthread", "libresolv", "librt", "libutil", "ld-linux")

_PACKAGES: dict[str, tuple[str | None, str | None]] = {
    "libaio.so.1": ("libaio1", None),
    "libbz2.so.1.0": ("libbz2-1.0", "libbz2-1.0"),
    "libcrypto.so.3": ("libssl3", "libssl3t64"),
    "libcurl-gnutls.so.4": ("libcurl3-gnutls", "libcurl3t64-gnutls"),
    "libcurl.so.4": ("libcurl4", "libcurl4t64"),
    "libevent-2.1.so.7": ("libevent-2.1-7", "libevent-2.1-7t64"),
    "libgcc_s.so.1": ("libgcc-s1", "libgcc-s1"),
    "libgcrypt.so.20": ("libgcrypt20", "libgcrypt20"),
    "libgearman.so.8": ("libgearman8", "libgearman8t64"),
    "libgpg-error.so.0": ("libgpg-error0", "libgpg-error0"),
    "libicudata.so.72": ("libicu72", None),
    "libicudata.so.76": (None, "libicu76"),
    "libicui18n.so.72": ("libicu72", None),
    "libicui18n.so.76": (None, "libicu76"),
    "libicuuc.so.72": ("libicu72", None),
    "libicuuc.so.76": (None, "libicu76"),
    "liblber-2.5.so.0": ("libldap-2.5-0", None),
    "libldap-2.5.so.0": ("libldap-2.5-0", None),
    "libldap.so.2": (None, "libldap2"),
    "liblzma.so.5": ("liblzma5", "liblzma5"),
    "libmemcached.so.11": ("libmemcached11", "libmemcached11t64"),
    "libmemcachedutil.so.2": ("libmemcachedutil2", "libmemcachedutil2t64"),
    "libncurses.so.6": ("libncurses6", "libncurses6"),
    "libpam.so.0": ("libpam0g", "libpam0g"),
    "libpcre.so.3": ("libpcre3", None),
    "libprotobuf.so.32": ("libprotobuf32", "libprotobuf32t64"),
    "librabbitmq.so.4": ("librabbitmq4", "librabbitmq4"),
    "libreadline.so.8": ("libreadline8", "libreadline8t64"),
    "libssl.so.3": ("libssl3", "libssl3t64"),
    "libstdc++.so.6": ("libstdc++6", "libstdc++6"),
    "libtinfo.so.6": ("libtinfo6", "libtinfo6"),
    "libuuid.so.1": ("libuuid1", "libuuid1"),
    "libz.so.1": ("zlib1g", "zlib1g"),
    "libzmq.so.5": ("libzmq5", "libzmq5"),
}
"""Packages of Debian 12 and 13 by the soname that they bring."""


@dataclass(frozen=True)
class Release:
    """Which Debian a server is."""

    version: str
    """``12``, ``13``; anything else where it is no Debian."""
    name: str

    def __str__(self) -> str:
        return self.name


def release(file: Path = Path("/etc/os-release")) -> Release:
    """This server's release."""
    words = dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
    words = {key: value.strip("\"'") for key, value in words.items()}
    version = words.get("VERSION_ID", "") if words.get("ID") == "debian" else ""
    return Release(version, f"Debian {version}" if version else words.get("PRETTY_NAME", "an unknown system"))


def package(soname: str, version: str) -> str | None:
    """The package of Debian ``version`` (12, 13) that brings a library; None where we know of none."""
    if version not in _RELEASES:
        return None
    if match := _BOOST.fullmatch(soname):
        return f"libboost-{match[1].replace('_', '-')}{match[2]}" if match[2] in _BOOSTS[version] else None
    if re.split(r"[.-]so|\.so|-x86|-aarch", soname)[0] in _GLIBC:
        return "libc6"
    return _PACKAGES.get(soname, (None, None))[_RELEASES.index(version)]


def elsewhere(soname: str, version: str) -> str | None:
    """The other release of Debian that has a library."""
    return next((other for other in _RELEASES if other != version and package(soname, other)), None)


def known(runner: Runner) -> frozenset[str]:
    """Sonames that the loader of this system finds without being told where."""
    said = runner.run(["/sbin/ldconfig", "-p"], check=False).stdout
    return frozenset(line.split()[0] for line in said.splitlines() if "=>" in line)


def packages(sonames: Iterable[str], there: frozenset[str], debian: Release) -> tuple[str, ...]:
    """The packages that bring those of ``sonames`` that are not ``there``.

    Raises NodeError of kind ``input`` that names the libraries which this release of Debian does not have.
    """
    found, strangers = set(), []
    for soname in sorted(set(sonames) - there):
        if name := package(soname, debian.version):
            found.add(name)
        else:
            strangers.append(soname)
    if strangers:
        raise missing(strangers, debian)
    return tuple(sorted(found))


def missing(sonames: Sequence[str], debian: Release) -> NodeError:
    """The error for libraries that cannot be had."""
    other = next(filter(None, (elsewhere(soname, debian.version) for soname in sonames)), None)
    hint = "put them into the archive (beside its own libraries), or install them on the server"
    if other:
        hint = f"the archive is for Debian {other}: use one for {debian}, or a server with Debian {other}"
    return NodeError(
        f"the archive needs libraries that {debian} does not have: {', '.join(sonames)}", kind="input", hint=hint
    )


@dataclass(frozen=True)
class Linked:
    """What the loader finds for a file."""

    found: dict[str, str]
    """Paths by soname."""
    missing: tuple[str, ...]
    complaints: tuple[str, ...]
    """Versions of symbols that a library is too old for."""


def linked(runner: Runner, file: Path, search: Sequence[Path]) -> Linked:
    """Ask the loader (ldd) what it finds for ``file``, with the folders ``search`` first."""
    done = runner.run(["ldd", str(file)], check=False, env={"LD_LIBRARY_PATH": ":".join(map(str, search))})
    found: dict[str, str] = {}
    absent: list[str] = []
    for line in done.stdout.splitlines():
        soname, arrow, where = line.strip().partition(" => ")
        if arrow and where.startswith("not found"):
            absent.append(soname)
        elif arrow:
            found[soname] = where.split(" (")[0]
    complaints = re.findall(r"(/\S+: version `[^']+' not found)", done.stdout + done.stderr)
    return Linked(found, tuple(dict.fromkeys(absent)), tuple(dict.fromkeys(complaints)))
