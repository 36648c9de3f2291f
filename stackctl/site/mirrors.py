"""Where Debian's packages come from: the site's words, else what the controller's own apt uses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackctl.site.models import Mirrors

_RELEASES = frozenset(
    "bullseye bookworm trixie forky duke sid oldoldstable oldstable stable testing unstable".split()  # noqa: SIM905
)
_ONE_LINE = re.compile(r"deb\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)(?P<components>[^#]*)")


@dataclass(frozen=True)
class Source:
    """One archive that apt reads: an address, a suite and its components."""

    uri: str
    suite: str
    components: tuple[str, ...]


def mirrors_of(wanted: Mirrors, apt: Path = Path("/etc/apt")) -> dict[str, str | bool | None]:
    """``apt``, ``apt_security`` and ``ca``; None where neither the site nor the controller's ``apt`` folder says.

    ``from_site`` tells whether the site names an archive: only then are a server's own sources replaced.
    """
    own = {} if wanted.apt and wanted.apt_security else controller_mirrors(apt)
    return {
        "apt": wanted.apt or own.get("apt"),
        "apt_security": wanted.apt_security or own.get("apt_security"),
        "ca": wanted.ca,
        "from_site": bool(wanted.apt or wanted.apt_security),
    }


def controller_mirrors(apt: Path = Path("/etc/apt")) -> dict[str, str | None]:
    """The Debian archive and security archive that this machine uses; None where it is no Debian."""
    archive: str | None = None
    security: str | None = None
    for source in sources(apt):
        release, _, rest = source.suite.replace("/updates", "-security").partition("-")
        if release not in _RELEASES or "main" not in source.components:
            continue
        if rest == "":
            archive = archive or source.uri
        elif rest == "security":
            security = security or source.uri
    return {"apt": archive, "apt_security": security}


def sources(apt: Path) -> Iterator[Source]:
    """Every binary archive in ``sources.list`` and ``sources.list.d``, in apt's order."""
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    for file in files:
        try:
            text = file.read_text(errors="replace")
        except OSError:
            continue
        found = _deb822(text) if file.suffix == ".sources" else _one_line(text) if file.suffix == ".list" else ()
        for source in found:
            if uri := _first_mirror(source.uri):
                yield Source(uri, source.suite, source.components)


def _one_line(text: str) -> Iterator[Source]:
    for line in text.splitlines():
        if match := _ONE_LINE.match(line.strip()):
            yield Source(match["uri"], match["suite"], tuple(match["components"].split()))


def _deb822(text: str) -> Iterator[Source]:
    for stanza in re.split(r"\n\s*\n", text):
        fields = _fields(stanza)
        if (
            fields.get("enabled", "yes").lower() in {"no", "false", "0"}
            or "deb" not in fields.get("types", "").split()
        ):
            continue
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                yield Source(uri, suite, tuple(fields.get("components", "").split()))


def _fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    last = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace():
            fields[last] = f"{fields.get(last, '')} {line.strip()}"
        elif ":" in line:
            last, _, value = line.partition(":")
            last = last.strip().lower()
            fields[last] = value.strip()
    return fields


def _first_mirror(uri: str) -> str | None:
    """An address that a node can use too: `mirror+file:` lists are followed, `cdrom:` and its like are not."""
    if uri.startswith("mirror+file:"):
        try:
            lines = Path(uri.removeprefix("mirror+file:")).read_text(errors="replace").split("\n")
        except OSError:
            return None
        uri = next((line.split()[0] for line in lines if line.strip() and not line.startswith("#")), "")
    return uri.rstrip("/") if re.match(r"https?://", uri) else None
