"""Releases of an app: unpacked beside each other, compiled, switched to in one stroke."""

import hashlib
import os
import platform
import re
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .errors import NodeError
from .process import Runner

_PROBE = "import os, sys, platform; print('%d.%d' % sys.version_info[:2], platform.machine(), os.confstr(2))"
"""What ``look`` asks of an interpreter that is not this process's own; 2 is CS_GNU_LIBC_VERSION."""
_DIGEST = re.compile(r"[0-9a-f]{16}")

Fill = Callable[[Path, Path], None]
"""Puts what an archive holds into an empty folder; NodeError where it does not fit."""


@dataclass(frozen=True)
class Found:
    """What the releases are to run on, and which there are."""

    python: str
    """Major and minor version."""
    machine: str
    libc: str
    """Name and version, such as ``glibc 2.36``."""
    current: str | None
    """The digest that ``current`` points to."""
    present: tuple[str, ...]
    """Digests, the oldest first."""


@dataclass(frozen=True)
class Releases:
    """The folder of an app: ``releases/DIGEST`` and the link ``current`` to one of them."""

    runner: Runner
    root: Path
    interpreter: str = "/usr/bin/python3"

    def look(self) -> Found:
        """Read what is there."""
        link = self.root / "current"
        current = link.readlink().name if link.is_symlink() and link.exists() else None
        present = [entry.name for entry in self._in_order()]
        return Found(*self._runs_on(), current=current, present=tuple(present))

    def check_own(self) -> None:
        """Refuse a folder that holds anything else than releases of ours."""
        strangers = []
        for entry in self.root.iterdir() if self.root.is_dir() else ():
            ours = (entry.name == "releases" and entry.is_dir() and not entry.is_symlink()) or (
                entry.name.startswith(".current-" if entry.name != "current" else "current") and entry.is_symlink()
            )
            if not ours:
                strangers.append(entry.name)
        if self._home().is_dir():
            strangers += [
                f"releases/{entry.name}"
                for entry in self._home().iterdir()
                if not entry.name.startswith(".new-") and not _DIGEST.fullmatch(entry.name)
            ]
        if self.root.exists() and not self.root.is_dir():
            strangers.append("a file of this name")
        if strangers:
            raise NodeError(
                f"{self.root} is not ours: it holds {', '.join(sorted(strangers)[:5])}",
                kind="refused",
                hint=f"move {self.root} away; the releases of an archive go there",
            )

    def install(self, digest: str, archive: Path, checksum: str, fill: Fill | None = None) -> None:
        """Unpack the archive as the release ``digest``: whole or not at all, also over a power cut.

        ``checksum`` is the archive's SHA-256 in hex. Without ``fill`` it is an app's: plain files, compiled.
        """
        with archive.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != checksum:
                raise NodeError(
                    f"the archive of the release {digest} did not arrive whole",
                    hint="run it again; the network or the disk of the server is at fault when it stays",
                )
        try:
            self._home().mkdir(parents=True, exist_ok=True)
            for leftover in self._home().glob(".new-*"):
                shutil.rmtree(leftover, ignore_errors=True)
            folder = Path(tempfile.mkdtemp(prefix=".new-", dir=self._home()))
            try:
                (fill or self._fill)(archive, folder)
                folder.chmod(0o755)
                os.sync()
                folder.rename(self._home() / digest)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        except (OSError, tarfile.TarError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise NodeError(f"{self._home() / digest} cannot be made: {said}") from None

    def switch(self, digest: str) -> None:
        """Let ``current`` point to a release that is there."""
        release = self._home() / digest
        if not release.is_dir():
            raise NodeError(f"there is no release {release}")
        link = self.root / "current"
        if link.exists() and not link.is_symlink():
            raise NodeError(f"{link} is no link and stands in the way", kind="refused", hint=f"move {link} away")
        os.utime(release)
        fresh = self.root / f".current-{time.monotonic_ns()}"
        fresh.symlink_to(Path("releases") / digest)
        fresh.replace(link)
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def prune(self, keep: int) -> list[str]:
        """Remove all but the ``keep`` releases that were switched to last; give the removed ones."""
        current = self.look().current
        old = [entry for entry in self._in_order()[:-keep] if entry.name != current]
        for entry in old:
            shutil.rmtree(entry, ignore_errors=True)
        return [entry.name for entry in old]

    def folder(self, digest: str) -> Path:
        """Where a release lies."""
        return self._home() / digest

    def leave(self) -> None:
        """Let no release be in force."""
        (self.root / "current").unlink(missing_ok=True)

    def _fill(self, archive: Path, folder: Path) -> None:
        _unpack(archive, folder)
        # what does not compile is for another version of Python and is never imported
        compiling = ["-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
        self.runner.run([self.interpreter, *compiling, str(folder)], check=False)

    def _home(self) -> Path:
        return self.root / "releases"

    def _in_order(self) -> list[Path]:
        if not self._home().is_dir():
            return []
        entries = [entry for entry in self._home().iterdir() if entry.is_dir() and not entry.name.startswith(".")]
        return sorted(entries, key=lambda entry: (entry.stat().st_mtime_ns, entry.name))

    def _runs_on(self) -> tuple[str, str, str]:
        if os.path.realpath(sys.executable) == os.path.realpath(self.interpreter):
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            return version, platform.machine(), os.confstr("CS_GNU_LIBC_VERSION") or ""
        result = self.runner.run([self.interpreter, "-c", _PROBE], check=False)
        if result.returncode:
            raise NodeError(
                f"{self.interpreter} does not run: {result.stderr.strip()}", hint="install the package python3"
            )
        version, machine, libc = result.stdout.strip().split(maxsplit=2)
        return version, machine, libc


def _unpack(archive: Path, folder: Path) -> None:
    """Plain files only, none outside of ``folder``."""
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            content = tar.extractfile(member) if member.isreg() else None
            if content is None or path.is_absolute() or ".." in path.parts:
                raise NodeError(f"the archive holds {member.name}, which a release must not")
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as stream:
                shutil.copyfileobj(content, stream)
            file.chmod(0o755 if member.mode & 0o111 else 0o644)
