"""An archive that the operator names by its SHA-256: a file, or an address and then kept in the cache."""

import base64
import binascii
import hashlib
import re
import shutil
import tempfile
import urllib.error
import urllib.request
import urllib.response
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from stackctl import paths
from stackctl.errors import InputError, StackctlError
from stackctl.lock import exclusive
from stackctl.process import Runner, SystemRunner

_SHA256 = re.compile(r"[0-9a-f]{64}")
_KEPT = 4
"""Archives in the cache."""
_SILENCE = 60.0
"""Seconds without a byte, after which a server counts as gone."""
_ARMOUR = re.compile(
    rb"-----BEGIN PGP [A-Z ]+-----\r?\n(?:[^\r\n]+\r?\n)*\r?\n(.+?)(?:\r?\n=[^\r\n]+)?\r?\n-----END", re.DOTALL
)


@dataclass(frozen=True)
class Archive:
    """What the operator names; ``source``, ``signature`` and ``key`` are paths below ``home``, or addresses."""

    source: str
    sha256: str
    signature: str | None = None
    """Of a detached OpenPGP signature, armoured or not."""
    key: str | None = None
    """Of the public key that it must be made by."""
    home: Path = Path()
    prefix: str = "archive"
    """What the variables of the role begin with, for the messages."""

    @property
    def name(self) -> str:
        """The release's name on servers."""
        return self.sha256[:16]

    def check(self) -> None:
        """Raise InputError on what is wrong already as it stands."""
        if not self.source:
            raise InputError(
                f"{self.prefix} names no archive",
                hint=f"set {self.prefix} (a file or an address) and {self.prefix}_sha256; see docs/drizzle.md",
            )
        if not _SHA256.fullmatch(self.sha256):
            raise InputError(
                f"{self.prefix}_sha256 is {self.sha256!r} and not 64 hexadecimal digits",
                hint="sha256sum FILE prints it",
            )
        if bool(self.signature) != bool(self.key):
            raise InputError(
                f"{self.prefix}_signature and {self.prefix}_key go together",
                hint="give both, or neither: the SHA-256 is checked in any case",
            )

    def fetch(self, runner: Runner | None = None) -> Path:
        """The archive as a file of this machine, its SHA-256 and its signature found right.

        Raises InputError where they are not, StackctlError where the archive cannot be had.
        """
        self.check()
        if _is_address(self.source):
            file = self._cached()
        else:
            file = self._file(self.source)
            if (found := _digest(file)) != self.sha256:
                raise self._another(str(file), found)
        if self.signature and self.key:
            self._verify(file, self.signature, self.key, runner or SystemRunner())
        return file

    def _cached(self) -> Path:
        folder = paths.cache("archives")
        file = folder / self.sha256
        with exclusive(folder / "lock", waiting="waiting for another process that fetches an archive"):
            if not file.exists() or _digest(file) != self.sha256:
                self._download(file)
                _tidy(folder, file)
        file.touch()
        return file

    def _download(self, file: Path) -> None:
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".fetching-") as fresh:
            with _opened(self.source) as reply:
                shutil.copyfileobj(reply, fresh)
            fresh.flush()
            if (found := _digest(Path(fresh.name))) != self.sha256:
                raise self._another(self.source, found)
            shutil.copyfile(fresh.name, file.with_name(f".{file.name}"))
        file.with_name(f".{file.name}").replace(file)

    def _file(self, name: str) -> Path:
        file = self.home / Path(name).expanduser()
        if not file.is_file():
            raise InputError(
                f"there is no file {file}", hint=f"correct {self.prefix}; a relative path begins in the site's folder"
            )
        return file

    def _another(self, where: str, found: str) -> InputError:
        return InputError(
            f"{where} has the SHA-256 {found}, and not {self.sha256}",
            hint=f"it is another archive, or was cut short; fetch it anew, or correct {self.prefix}_sha256",
        )

    def _verify(self, file: Path, signature: str, key: str, runner: Runner) -> None:
        """Ask gpgv, with this key and no other."""
        with tempfile.TemporaryDirectory(prefix="stackctl-") as name:
            ring, detached = Path(name) / "key.gpg", Path(name) / "signature"
            ring.write_bytes(_plain(self._content(key), f"{self.prefix}_key"))
            detached.write_bytes(self._content(signature))
            argv = ["gpgv", "--homedir", name, "--keyring", str(ring), str(detached), str(file)]
            said = runner.run(argv, check=False)
        if said.returncode:
            raise InputError(
                f"the signature of {self.source} is not good: {_last(said.stderr)}",
                hint=f"it must be made by the key in {self.prefix}_key, over this very archive",
            )

    def _content(self, source: str) -> bytes:
        if not _is_address(source):
            return self._file(source).read_bytes()
        with _opened(source) as reply:
            content: bytes = reply.read()
            return content


def _is_address(source: str) -> bool:
    return urlsplit(source).scheme in {"http", "https"}


@contextmanager
def _opened(address: str) -> Iterator[urllib.response.addinfourl]:
    try:
        with urllib.request.urlopen(address, timeout=_SILENCE) as reply:  # noqa: S310
            yield reply
    except urllib.error.HTTPError as error:
        raise StackctlError(f"{address} cannot be fetched: HTTP {error.code} {error.reason}") from None
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise StackctlError(
            f"{address} cannot be fetched: {reason}",
            hint="this machine fetches it, not the server; check its network",
        ) from None


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _plain(content: bytes, what: str) -> bytes:
    """A key as gpgv reads it: without armour."""
    match = _ARMOUR.search(content)
    if match is None:
        return content
    try:
        return base64.b64decode(match[1])
    except binascii.Error:
        raise InputError(f"{what} is a damaged OpenPGP key", hint="export it anew: gpg --export KEY > FILE") from None


def _last(said: str) -> str:
    lines = [line.removeprefix("gpgv: ").strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else "gpgv said nothing"


def _tidy(folder: Path, newest: Path) -> None:
    archives = [path for path in folder.iterdir() if _SHA256.fullmatch(path.name) and path != newest]
    for old in sorted(archives, key=lambda path: path.stat().st_mtime_ns)[: -(_KEPT - 1)]:
        old.unlink(missing_ok=True)
