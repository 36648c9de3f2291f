"""Where packages come from: the controller's own apt configuration, in the words of any Debian release."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from stackctl.errors import StackctlError
from stackctl.process import Runner
from stackctl.site.models import Mirrors

_FORMAT = "$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)\t$(ORIGIN)\t$(SOURCESENTRY)"
_POCKETS = ("", "-updates", "-security")
_OPTIONS = ("Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::Check-Valid-Until", "Acquire::Check-Date")
_SIGNED_BY = re.compile(r"signed-by\s*[:=]\s*(/[^\s\],]+)", re.IGNORECASE)
_OPTION = re.compile(r'(\S+) "(.*)";')


@dataclass(frozen=True)
class Source:
    """One archive: ``suite`` is the release with its pocket (``bookworm-security``)."""

    uri: str
    suite: str
    components: tuple[str, ...]
    keyring: Path | None = None

    def line(self) -> str:
        """The one-line form that sources.list has."""
        options = f"[signed-by={self.keyring}] " if self.keyring else ""
        return f"deb {options}{self.uri} {self.suite} {' '.join(self.components)}"


@dataclass(frozen=True)
class Sources:
    """All that apt needs to reach the archives of one release."""

    archives: tuple[Source, ...]
    options: tuple[tuple[str, str], ...] = ()
    """apt options (proxies, clock checks) of the controller."""
    ca: Path | None = None
    """A certificate authority beyond the usual ones."""

    def digest(self) -> str:
        """A name for these sources, files included."""
        hashed = hashlib.sha256(repr((self.archives, self.options)).encode())
        for file in (*(source.keyring for source in self.archives), self.ca):
            if file is not None:
                hashed.update(file.read_bytes())
        return hashed.hexdigest()


def controller_sources(suite: str, mirrors: Mirrors, runner: Runner) -> Sources:
    """The controller's archives of Debian, for ``suite``; the site's ``mirrors`` win over them.

    A controller of another release names the same archives with another suite, which is translated.
    Raises StackctlError when the controller knows no Debian archive.
    """
    found = _mirrored(suite, mirrors) or _configured(suite, runner)
    if not found:
        raise StackctlError(
            f"apt on this machine has no Debian archive to take {suite} from",
            hint="set mirrors.apt and mirrors.apt_security in stack.yml",
        )
    return Sources(found, _options(runner), Path(mirrors.ca) if mirrors.ca else None)


def _mirrored(suite: str, mirrors: Mirrors) -> tuple[Source, ...]:
    named = [(mirrors.apt, suite), (mirrors.apt, f"{suite}-updates"), (mirrors.apt_security, f"{suite}-security")]
    return tuple(Source(uri, release, ("main",)) for uri, release in named if uri) if mirrors.apt else ()


def _configured(suite: str, runner: Runner) -> tuple[Source, ...]:
    listing = runner.run(["apt-get", "indextargets", "--format", _FORMAT, "Created-By: Packages"]).stdout
    components: dict[tuple[str, str, Path | None], list[str]] = {}
    for line in listing.splitlines():
        uri, release, component, origin, entry = line.split("\t")
        pocket = _pocket(release)
        if pocket is None or origin not in {"Debian", "", "$(ORIGIN)"}:
            continue
        components.setdefault((uri, suite + pocket, _keyring(entry)), []).append(component)
    return tuple(
        Source(uri, release, tuple(dict.fromkeys(names)), keyring)
        for (uri, release, keyring), names in components.items()
        if "main" in names
    )


def _pocket(release: str) -> str | None:
    """What follows the name of the release: nothing, ``-updates`` or ``-security``; None for other archives."""
    _, dash, pocket = release.partition("-")
    return dash + pocket if dash + pocket in _POCKETS else None


def _keyring(entry: str) -> Path | None:
    """The key ring that an entry of the sources (``FILE:LINE``) names, or None for apt's trusted ones."""
    name, _, number = entry.rpartition(":")
    file = Path(name)
    if not file.is_file():
        return None
    text = file.read_text(encoding="utf-8", errors="replace")
    if file.suffix == ".sources":
        stanzas = [stanza for stanza in re.split(r"\n\s*\n", text) if stanza.strip()]
        text = stanzas[int(number) - 1] if number.isdigit() and int(number) <= len(stanzas) else ""
    else:
        lines = text.splitlines()
        text = lines[int(number) - 1] if number.isdigit() and int(number) <= len(lines) else ""
    match = _SIGNED_BY.search(text)
    return Path(match.group(1)) if match else None


def _options(runner: Runner) -> tuple[tuple[str, str], ...]:
    pairs = (_OPTION.fullmatch(line.strip()) for line in runner.run(["apt-config", "dump"]).stdout.splitlines())
    wanted = tuple(option.lower() for option in _OPTIONS)
    return tuple(
        (match.group(1), match.group(2))
        for match in pairs
        if match and match.group(2) and match.group(1).lower().startswith(wanted)
    )
