"""Keys and names of lab machines, against OpenSSH's own tools."""

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from stackctl.lab import identity


def _entries(packed: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        return {entry.name: entry for entry in tar.getmembers()}


def _text(packed: bytes, name: str) -> str:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        file = tar.extractfile(name)
        assert file is not None
        return file.read().decode()


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="needs openssh-client")
def test_openssh_reads_the_keys(tmp_path: Path) -> None:
    key = identity.make_key()
    private = tmp_path / "key"
    private.touch(mode=0o600)
    private.write_bytes(key.private)
    said = subprocess.check_output(["ssh-keygen", "-y", "-f", private], text=True)
    assert said.split()[:2] == key.public.split()


def test_a_key_does_not_print_its_secret() -> None:
    key = identity.make_key()
    assert "PRIVATE" not in repr(key)
    assert key.public in repr(key)


def test_roots_identity() -> None:
    key = identity.make_key()
    packed = identity.archive("metal-1", "root", key, "ssh-ed25519 CLIENT")
    entries = _entries(packed)
    assert _text(packed, "etc/hostname") == "metal-1\n"
    assert "127.0.0.1 localhost" in _text(packed, "etc/hosts")
    assert "127.0.1.1 metal-1" in _text(packed, "etc/hosts")
    assert _text(packed, "etc/ssh/ssh_host_ed25519_key") == key.private.decode()
    assert entries["etc/ssh/ssh_host_ed25519_key"].mode == 0o600
    assert _text(packed, "root/.ssh/authorized_keys").startswith("ssh-ed25519 CLIENT")
    assert entries["root/.ssh"].mode == 0o700
    assert all(entry.uid == 0 and entry.gid == 0 for entry in entries.values())
    assert not any("sudoers" in name for name in entries)


def test_another_users_identity() -> None:
    packed = identity.archive("metal-1", "deploy", identity.make_key(), "ssh-ed25519 CLIENT")
    entries = _entries(packed)
    assert "root/.ssh/authorized_keys" not in entries
    assert entries["home/deploy/.ssh/authorized_keys"].uid == 1000
    assert entries["home/deploy"].mode == 0o700
    assert entries["etc/sudoers.d/deploy"].mode == 0o440
    assert "NOPASSWD" in _text(packed, "etc/sudoers.d/deploy")
    assert _text(packed, "etc/sysusers.d/deploy.conf").startswith("u deploy 1000 ")


def test_the_line_of_known_hosts() -> None:
    assert identity.known_hosts("127.0.0.1", 40022, "ssh-ed25519 KEY") == "[127.0.0.1]:40022 ssh-ed25519 KEY\n"
