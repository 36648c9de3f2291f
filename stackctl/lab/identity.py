"""Who a lab machine is: keys, name and users, made on the controller and handed over at the first boot."""

import io
import tarfile
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

MARK = "var/lib/stackctl"
NAME_SERVER = "10.0.2.3"
"""What QEMU's user network answers names at."""
_USER_ID = 1000


@dataclass(frozen=True)
class KeyPair:
    """An SSH key: ``private`` in OpenSSH's format, ``public`` the one line without a comment."""

    private: bytes
    public: str

    def __repr__(self) -> str:
        return f"KeyPair(private=***, public={self.public!r})"


def make_key() -> KeyPair:
    """A fresh Ed25519 key."""
    key = Ed25519PrivateKey.generate()
    return KeyPair(
        key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()),
        key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode(),
    )


def known_hosts(address: str, port: int, public_key: str) -> str:
    """The line by which ssh knows the machine."""
    return f"[{address}]:{port} {public_key}\n"


def archive(host: str, user: str, host_key: KeyPair, client_key: str) -> bytes:
    """A tar archive that the image unpacks over its root, once: the image's unit stackctl-identity.

    Anyone but root is made by systemd-sysusers from the file that comes along, and may become root by sudo.
    """
    contents = {
        "etc/hostname": (f"{host}\n", 0o644),
        "etc/hosts": (f"127.0.0.1 localhost\n127.0.1.1 {host}\n::1 localhost ip6-localhost ip6-loopback\n", 0o644),
        "etc/resolv.conf": (f"nameserver {NAME_SERVER}\n", 0o644),
        "etc/ssh/ssh_host_ed25519_key": (host_key.private.decode(), 0o600),
        "etc/ssh/ssh_host_ed25519_key.pub": (f"{host_key.public} {host}\n", 0o644),
    }
    if user != "root":
        contents[f"etc/sysusers.d/{user}.conf"] = (f'u {user} {_USER_ID} "Operator" /home/{user} /bin/bash\n', 0o644)
        contents[f"etc/sudoers.d/{user}"] = (f"{user} ALL=(ALL:ALL) NOPASSWD: ALL\n", 0o440)
    home = "root" if user == "root" else f"home/{user}"
    owner = 0 if user == "root" else _USER_ID
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        _directory(tar, MARK, 0, 0o755)
        for name, (text, mode) in contents.items():
            _file(tar, name, text, 0, mode)
        if user != "root":
            _directory(tar, home, owner, 0o700)
        _directory(tar, f"{home}/.ssh", owner, 0o700)
        _file(tar, f"{home}/.ssh/authorized_keys", f"{client_key} stackctl-lab\n", owner, 0o600)
    return packed.getvalue()


def _directory(tar: tarfile.TarFile, name: str, owner: int, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, mode, owner, owner
    tar.addfile(entry)


def _file(tar: tarfile.TarFile, name: str, text: str, owner: int, mode: int) -> None:
    data = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.uid, entry.gid = len(data), mode, owner, owner
    tar.addfile(entry, io.BytesIO(data))
