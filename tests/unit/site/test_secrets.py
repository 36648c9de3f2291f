"""Secrets are made once, kept in a vault, and never shown."""

import multiprocessing
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from stackctl import paths
from stackctl.errors import ExitCode, InputError, StackctlError
from stackctl.site.secrets import Secret, Secrets


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site"
    path.mkdir()
    return path


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "stackctl" / "vault-password"


def _vault(password: bytes, content: str) -> bytes:
    secret = VaultSecret(password)
    return bytes(VaultLib([("default", secret)]).encrypt(content, secret=secret))


def test_a_secret_does_not_show() -> None:
    secret = Secret("hunter2hunter2")
    for shown in (
        str(secret),
        repr(secret),
        f"{secret}",
        f"{secret:>5}",
        repr([secret]),
        f"{secret!r}",
    ):
        assert "hunter2" not in shown
        assert "***" in shown
    assert secret.reveal() == "hunter2hunter2"
    assert secret == Secret("hunter2hunter2")
    assert secret != Secret("other")


def test_a_new_secret_is_made_once(site: Path) -> None:
    first = Secrets(site).get("database_stacksearch_password")
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", first.reveal())
    assert Secrets(site).get("database_stacksearch_password") == first
    assert Secrets(site).get("another") != first


def test_the_file_is_a_vault_and_shows_nothing(site: Path, password_file: Path) -> None:
    secret = Secrets(site).get("name")
    content = (site / "secrets.yml").read_bytes()
    assert content.startswith(b"$ANSIBLE_VAULT;1.1;AES256\n")
    assert secret.reveal().encode() not in content
    password = VaultSecret(password_file.read_bytes().strip())
    assert yaml.safe_load(VaultLib([("x", password)]).decrypt(content)) == {"name": secret.reveal()}


def test_files_are_private_and_nothing_else_is_left(site: Path, password_file: Path) -> None:
    old = os.umask(0)
    try:
        Secrets(site).get("name")
    finally:
        os.umask(old)
    assert (site / "secrets.yml").stat().st_mode & 0o777 == 0o600
    assert password_file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in site.iterdir()] == ["secrets.yml"]
    assert [path.name for path in password_file.parent.iterdir()] == ["vault-password"]


def test_ansible_vault_opens_it(site: Path, password_file: Path) -> None:
    secret = Secrets(site).get("name")
    argv = [paths.program("ansible-vault"), "view", "--vault-password-file", password_file, site / "secrets.yml"]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == f"name: {secret.reveal()}\n"


def test_the_password_that_ansible_was_given_comes_first(site: Path, password_file: Path) -> None:
    (site / "secrets.yml").write_bytes(_vault(b"given", "name: kept\n"))
    secrets = Secrets(site, [("default", VaultSecret(b"given"))])
    assert secrets.get("name").reveal() == "kept"
    made = secrets.get("fresh")
    assert not password_file.exists()
    text = VaultLib([("default", VaultSecret(b"given"))]).decrypt((site / "secrets.yml").read_bytes())
    assert yaml.safe_load(text) == {"name": "kept", "fresh": made.reveal()}


def test_a_file_of_our_own_opens_although_ansible_was_given_another_password(site: Path) -> None:
    secret = Secrets(site).get("name")
    assert Secrets(site, [("default", VaultSecret(b"for group_vars"))]).get("name") == secret


def test_an_identity_stays_with_the_file(site: Path) -> None:
    Secrets(site, [("prod", VaultSecret(b"given"))]).get("name")
    assert (site / "secrets.yml").read_bytes().startswith(b"$ANSIBLE_VAULT;1.2;AES256;prod\n")


def test_check_mode_writes_nothing(site: Path, password_file: Path) -> None:
    assert len(Secrets(site).get("name", create=False).reveal()) == 32
    assert list(site.iterdir()) == []
    assert not password_file.exists()


def test_the_wrong_password_is_told(site: Path, password_file: Path) -> None:
    Secrets(site).get("name")
    password_file.write_text("another\n")
    before = (site / "secrets.yml").read_bytes()
    with pytest.raises(InputError) as caught:
        Secrets(site).get("new")
    assert str(site / "secrets.yml") in caught.value.message
    assert str(password_file) in caught.value.message
    assert caught.value.hint is not None
    assert caught.value.code == ExitCode.USAGE
    assert (site / "secrets.yml").read_bytes() == before


def test_a_lost_password_is_told_and_no_new_one_is_made(site: Path, password_file: Path) -> None:
    Secrets(site).get("name")
    password_file.unlink()
    with pytest.raises(InputError, match=r"vault-password is missing"):
        Secrets(site).get("name")
    assert not password_file.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name: plain\n", "does not begin as an ansible-vault file does"),
        (b"", "does not begin as an ansible-vault file does"),
        (b"$ANSIBLE_VAULT;1.1;AES256\nzzzz\n", "is damaged"),
        (b"$ANSIBLE_VAULT;1.1;AES256\n30313233\n", "is damaged"),
        (b"$ANSIBLE_VAULT;1.1;AES999\n30313233\n", "is damaged"),
        (_vault(b"given", "- a\n- list\n"), "mapping of names to texts"),
        (_vault(b"given", "name: 5\n"), "mapping of names to texts"),
        (_vault(b"given", "name: 'unclosed\n"), "mapping of names to texts"),
        (_vault(b"given", "name: fine\n")[:-30], "damaged"),
    ],
)
def test_a_damaged_file_is_told_and_left_alone(site: Path, content: bytes, words: str) -> None:
    (site / "secrets.yml").write_bytes(content)
    with pytest.raises(InputError) as caught:
        Secrets(site, [("default", VaultSecret(b"given"))]).get("name")
    assert words in caught.value.message
    assert str(site / "secrets.yml") in caught.value.message
    assert (site / "secrets.yml").read_bytes() == content


def test_a_password_that_others_can_read_is_refused(site: Path, password_file: Path) -> None:
    Secrets(site).get("name")
    password_file.chmod(0o644)
    with pytest.raises(InputError, match="can be read by others"):
        Secrets(site).get("name")


def test_an_empty_password_is_refused(site: Path, password_file: Path) -> None:
    password_file.parent.mkdir(parents=True)
    password_file.touch(mode=0o600)
    with pytest.raises(InputError, match="is empty"):
        Secrets(site).get("name")


def test_a_site_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(StackctlError, match="cannot be opened"):
        Secrets(tmp_path / "nowhere").get("name")


def _get(directory: Path, name: str) -> str:
    return Secrets(directory).get(name).reveal()


def test_many_processes_at_once_agree(site: Path) -> None:
    names = ["one", "two", "three"] * 4
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        values = pool.starmap(_get, [(site, name) for name in names])
    for name in set(names):
        assert {value for asked, value in zip(names, values, strict=True) if asked == name} == {_get(site, name)}
