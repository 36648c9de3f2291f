"""Where apt fetches Debian from: pointed at a mirror, without touching what others added."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

OWN = Path("sources.list.d/stackctl.sources")
DISTRIBUTION = (Path("sources.list"), Path("sources.list.d/debian.sources"))
"""The files that Debian's installers and images write; only these are ever changed."""
AUTHORITY = Path("stackctl-mirror-ca.pem")
AUTHORITY_USE = Path("apt.conf.d/80stackctl-mirror-ca")

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_ONE_LINE = re.compile(r"deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)(?P<components>[^#]*)")
_HEAD = "# Written by stackctl: the mirrors of the site.\n"


@dataclass(frozen=True)
class Mirrors:
    """The archives to fetch from; None where nobody says."""

    archive: str | None
    security: str | None
    replace: bool = False
    """Whether Debian's own entries give way; otherwise these only fill in where there is none."""
    authority: str | None = None
    """A certificate authority, PEM, that the mirrors are known by."""


def read(apt: Path = Path("/etc/apt")) -> dict[Path, str]:
    """The files of ``apt`` that say where packages come from, by their path below it."""
    paths = [*apt.glob("sources.list"), *apt.glob("sources.list.d/*.sources"), *apt.glob("sources.list.d/*.list")]
    own = [apt / AUTHORITY, apt / AUTHORITY_USE]
    return {path.relative_to(apt): path.read_text(errors="replace") for path in (*paths, *own) if path.is_file()}


def release_name(os_release: Path = Path("/etc/os-release")) -> str | None:
    """Debian's code name; None where this is no Debian."""
    fields = dict(line.split("=", 1) for line in os_release.read_text().splitlines() if "=" in line)
    return fields.get("VERSION_CODENAME") if fields.get("ID") == "debian" else None


def plan(files: Mapping[Path, str], release: str, mirrors: Mirrors) -> dict[Path, str]:
    """The files of /etc/apt (paths relative to it) as they should be; only those that are to be written.

    ``files`` are the present ones, ``release`` is Debian's code name.
    """
    due: dict[Path, str] = {}
    stanzas: list[str] = []
    present = {path: text for path, text in files.items() if path != OWN}
    archives = (
        (mirrors.archive, {release, f"{release}-updates"}),
        (mirrors.security, {f"{release}-security", f"{release}/updates"}),
    )
    for address, suites in archives:
        if address is None:
            continue
        found = {uri for path, text in present.items() for uri in _addresses(path, text, suites)}
        if found and (not mirrors.replace or found == {address.rstrip("/")}):
            continue
        for path in DISTRIBUTION:
            if path in present and _addresses(path, present[path], suites):
                present[path] = due[path] = _without(path, present[path], suites)
        stanzas.append(_stanza(address, [suite for suite in sorted(suites) if "/" not in suite]))
    if stanzas:
        due[OWN] = _HEAD + "\n".join(stanzas)
    if mirrors.authority:
        due[AUTHORITY] = mirrors.authority
        hosts = {urlsplit(address).hostname for address, _ in archives if address and address.startswith("https:")}
        lines = [f'Acquire::https::{host}::CaInfo "/etc/apt/{AUTHORITY}";\n' for host in sorted(filter(None, hosts))]
        due[AUTHORITY_USE] = _HEAD.replace("#", "//") + "".join(lines)
    return {path: text for path, text in due.items() if files.get(path) != text}


def _addresses(path: Path, text: str, suites: set[str]) -> set[str]:
    """Addresses from which a file takes Debian's own ``suites``."""
    found: set[str] = set()
    for part in _parts(path, text):
        uris, part_suites = _reads(path, part)
        if suites & part_suites:
            found |= uris
    return found


def _without(path: Path, text: str, suites: set[str]) -> str:
    """The file with its entries of these suites switched off."""
    kept = []
    for part in _parts(path, text):
        if not suites & _reads(path, part)[1]:
            kept.append(part)
        elif path.suffix == ".sources":
            body = part.lstrip("\n")
            kept.append(part[: len(part) - len(body)] + "Enabled: no\n" + body)
        else:
            kept.append("# " + part)
    return "".join(kept)


def _parts(path: Path, text: str) -> list[str]:
    """A file in its entries, with everything between; joined they are the file."""
    if path.suffix == ".sources":
        return re.split(r"(?<=\n)(?=\n)", text)
    return text.splitlines(keepends=True)


def _reads(path: Path, part: str) -> tuple[set[str], set[str]]:
    """Addresses and suites of one entry; empty when it is none, or none of Debian's main archive."""
    if path.suffix == ".sources":
        fields = {
            name.strip().lower(): value.split()
            for name, _, value in (line.partition(":") for line in part.splitlines() if not line.startswith("#"))
        }
        uris, suites, components = (fields.get(name, []) for name in ("uris", "suites", "components"))
        if fields.get("enabled", ["yes"])[0].lower() in {"no", "false", "0"}:
            return set(), set()
    else:
        match = _ONE_LINE.match(part)
        if match is None:
            return set(), set()
        uris, suites, components = [match["uri"]], [match["suite"]], match["components"].split()
    if "main" not in components:
        return set(), set()
    return {uri.rstrip("/") for uri in uris}, set(suites)


def _stanza(address: str, suites: list[str]) -> str:
    return f"Types: deb\nURIs: {address}\nSuites: {' '.join(suites)}\nComponents: main\nSigned-By: {_KEYRING}\n"
