"""The site's secrets: an ansible-vault file beside stack.yml, filled on first use, never printed."""

import fcntl
import os
import secrets as randomness
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml
from ansible.errors import AnsibleError
from ansible.parsing.vault import AnsibleVaultError, VaultLib, VaultSecret, is_encrypted

from stackctl import paths
from stackctl.errors import InputError, StackctlError

FILE = "secrets.yml"
_PASSWORD_BYTES = 24
"""As many random bytes as make 32 characters."""
_OWN = "stackctl"
"""The vault identity of the password that we keep ourselves."""


class Secret:
    """A text that shows as ``***`` wherever it is printed; ``reveal`` gives it away."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text itself, for the one place that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return format("***", specification)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and randomness.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash(self._value)


class Secrets:
    """The secrets of the site in ``directory``.

    ``vault_secrets`` are the passwords that Ansible was given (``--vault-password-file`` and the like), each
    with its identity; without any, a password of our own is made on first use and kept in the operator's
    configuration, readable by its owner only.
    """

    def __init__(self, directory: Path, vault_secrets: Sequence[tuple[str, VaultSecret]] = ()) -> None:
        self.file = directory / FILE
        self._given = list(vault_secrets)

    def get(self, name: str, *, create: bool = True) -> Secret:
        """The secret of this name; made and stored when the site has none yet.

        Without ``create`` (check mode) a passing one is returned and nothing is written.
        """
        known, _ = self._read()
        if name in known:
            return Secret(known[name])
        fresh = randomness.token_urlsafe(_PASSWORD_BYTES)
        if not create:
            return Secret(fresh)
        with self._locked():
            known, key = self._read()
            if name not in known:
                known[name] = fresh
                self._write(known, key or self._key_for_new())
            return Secret(known[name])

    def find(self, name: str) -> Secret | None:
        """The secret of this name; None when the site has none yet."""
        known, _ = self._read()
        return Secret(known[name]) if name in known else None

    def _read(self) -> tuple[dict[str, str], tuple[str, VaultSecret] | None]:
        """What the file holds, and the key that opened it."""
        try:
            content = self.file.read_bytes()
        except FileNotFoundError:
            return {}, None
        except OSError as error:
            raise InputError(f"{self.file} cannot be read: {error.strerror}") from None
        if not is_encrypted(content):
            raise InputError(
                f"{self.file} is damaged: it does not begin as an ansible-vault file does",
                hint="restore it from a backup, or encrypt it again with `ansible-vault encrypt`",
            )
        for key in self._keys():
            try:
                text = VaultLib([key]).decrypt(content)
            except AnsibleVaultError as error:
                if "Decryption failed" in str(error) or "HMAC verification failed" in str(error):
                    continue
                raise InputError(f"{self.file} is damaged: {error}", hint="restore it from a backup") from None
            except (AnsibleError, ValueError) as error:
                raise InputError(f"{self.file} is damaged: {error}", hint="restore it from a backup") from None
            return self._parse(text), key
        raise InputError(
            f"{self.file} does not open with {self._tried()}: the password is another one, or the file is damaged",
            hint="restore the password or the file from a backup; or move the file away, then new secrets are made "
            "and the services get new passwords",
        )

    def _parse(self, text: bytes) -> dict[str, str]:
        try:
            known = yaml.safe_load(text)
        except yaml.YAMLError:
            known = None
        if not isinstance(known, dict) or not all(
            isinstance(name, str) and isinstance(value, str) for name, value in known.items()
        ):
            raise InputError(
                f"{self.file} does not hold a mapping of names to texts",
                hint="look into it with `ansible-vault edit`, quote values that look like numbers",
            )
        return known

    def _write(self, known: dict[str, str], key: tuple[str, VaultSecret]) -> None:
        text = yaml.safe_dump(known, default_flow_style=False)
        identity = None if key[0] in {_OWN, "default"} else key[0]
        content = VaultLib([key]).encrypt(text, secret=key[1], vault_id=identity)
        _write_private(self.file, content)

    def _keys(self) -> Iterator[tuple[str, VaultSecret]]:
        yield from self._given
        file = _password_file()
        if file.exists():
            yield _OWN, VaultSecret(_read_password(file))

    def _key_for_new(self) -> tuple[str, VaultSecret]:
        if self._given:
            return self._given[0]
        file = _password_file()
        if not file.exists():
            _write_private(file, randomness.token_urlsafe(32).encode() + b"\n", keep=True)
        return _OWN, VaultSecret(_read_password(file))

    def _tried(self) -> str:
        words = ["the vault password that Ansible was given"] if self._given else []
        file = _password_file()
        words.append(f"the password in {file}" if file.exists() else f"any password ({file} is missing)")
        return " nor ".join(words)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time: Ansible asks from several processes at once."""
        try:
            descriptor = os.open(self.file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise InputError(f"the site's folder {self.file.parent} cannot be opened: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _password_file() -> Path:
    return paths.config() / "vault-password"


def _read_password(file: Path) -> bytes:
    if file.stat().st_mode & 0o077:
        raise InputError(f"{file} can be read by others", hint=f"chmod 600 {file}")
    password = file.read_bytes().strip()
    if not password:
        raise InputError(f"{file} is empty", hint="restore the vault password from a backup")
    return password


def _write_private(file: Path, content: bytes, *, keep: bool = False) -> None:
    """Write in one stroke, readable by the owner only; with ``keep`` a file that came meanwhile stays."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    except OSError as error:
        raise StackctlError(f"{file} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if keep:
            try:
                os.link(name, file)
            except FileExistsError:
                return
        else:
            Path(name).replace(file)
    except OSError as error:
        raise StackctlError(f"{file} cannot be written: {error.strerror}") from None
    finally:
        Path(name).unlink(missing_ok=True)
