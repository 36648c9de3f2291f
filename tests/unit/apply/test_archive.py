"""An archive by its SHA-256: from a file, from an address, with a signature, and what is told when it is another."""

import hashlib
import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl.apply.archive import Archive
from stackctl.errors import InputError, StackctlError

_CONTENT = b"not really an archive" * 1000
_SHA256 = hashlib.sha256(_CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "stackctl" / "archives"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "drizzle.tar").write_bytes(_CONTENT)
    return folder


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """A web server on the site's folder."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words: object) -> None:
            super().__init__(*words, directory=str(site))  # type: ignore[arg-type]

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_file_beside_the_site(site: Path) -> None:
    archive = Archive("drizzle.tar", _SHA256, home=site)
    assert archive.fetch() == site / "drizzle.tar"
    assert archive.name == _SHA256[:16]
    assert Archive(str(site / "drizzle.tar"), _SHA256).fetch() == site / "drizzle.tar"


def test_another_file_is_told_with_both_digests(site: Path) -> None:
    wrong = "0" * 64
    with pytest.raises(InputError) as caught:
        Archive("drizzle.tar", wrong, home=site, prefix="database_drizzle_archive").fetch()
    assert caught.value.message == f"{site}/drizzle.tar has the SHA-256 {_SHA256}, and not {wrong}"
    assert "database_drizzle_archive_sha256" in str(caught.value.hint)


def test_a_file_that_was_cut_short_is_another_file(site: Path) -> None:
    (site / "drizzle.tar").write_bytes(_CONTENT[:-1])
    with pytest.raises(InputError, match="and not"):
        Archive("drizzle.tar", _SHA256, home=site).fetch()


def test_a_file_that_is_not_there_is_told(site: Path) -> None:
    with pytest.raises(InputError, match=f"there is no file {site}/absent.tar"):
        Archive("absent.tar", _SHA256, home=site).fetch()


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (Archive("", _SHA256), "names no archive"),
        (Archive("x", ""), "is '' and not 64"),
        (Archive("x", "abc"), "is 'abc' and not 64"),
        (Archive("x", _SHA256, signature="x.sig"), "go together"),
        (Archive("x", _SHA256, key="x.gpg"), "go together"),
    ],
    ids=["source", "no digest", "short digest", "no key", "no signature"],
)
def test_what_is_wrong_as_it_stands_is_told(archive: Archive, message: str) -> None:
    with pytest.raises(InputError, match=message):
        archive.fetch()


def test_an_address_is_fetched_once(site: Path, address: str, cache: Path) -> None:
    archive = Archive(f"{address}/drizzle.tar", _SHA256)
    assert archive.fetch().read_bytes() == _CONTENT
    (site / "drizzle.tar").unlink()
    assert archive.fetch() == cache / _SHA256


def test_a_damaged_copy_in_the_cache_is_fetched_anew(address: str) -> None:
    archive = Archive(f"{address}/drizzle.tar", _SHA256)
    archive.fetch().write_bytes(b"damaged")
    assert archive.fetch().read_bytes() == _CONTENT


def test_another_file_at_the_address_is_told_and_not_kept(site: Path, address: str, cache: Path) -> None:
    (site / "drizzle.tar").write_bytes(b"another")
    with pytest.raises(InputError, match=f"{address}/drizzle.tar has the SHA-256"):
        Archive(f"{address}/drizzle.tar", _SHA256).fetch()
    assert [path.name for path in cache.iterdir()] == ["lock"]


def test_an_address_that_does_not_answer_is_told(address: str) -> None:
    with pytest.raises(StackctlError, match=r"/absent\.tar cannot be fetched: HTTP 404"):
        Archive(f"{address}/absent.tar", _SHA256).fetch()
    with pytest.raises(StackctlError, match=r"cannot be fetched: .*refused"):
        Archive("http://127.0.0.1:1/drizzle.tar", _SHA256).fetch()


def test_the_cache_does_not_grow_for_ever(site: Path, address: str, cache: Path) -> None:
    for number in range(6):
        (site / "drizzle.tar").write_bytes(content := f"archive {number}".encode())
        Archive(f"{address}/drizzle.tar", hashlib.sha256(content).hexdigest()).fetch()
    assert len([path for path in cache.iterdir() if path.name != "lock"]) == 4


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two keys of OpenPGP and signatures by both."""
    if not shutil.which("gpg"):
        pytest.skip("gpg is not installed, so no signature can be made to check")
    folder = tmp_path_factory.mktemp("keys")
    home = folder / "home"
    home.mkdir(mode=0o700)
    (folder / "signed").write_bytes(_CONTENT)
    gpg = [
        "gpg",
        "--homedir",
        str(home),
        "--batch",
        "--quiet",
        "--yes",
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "",
    ]
    try:
        for name in ("ours", "theirs"):
            user = f"{name}@example.invalid"
            subprocess.run([*gpg, "--quick-generate-key", user, "ed25519", "sign", "never"], check=True)
            for suffix, words in ((".gpg", []), (".asc", ["--armor"])):
                subprocess.run([*gpg, *words, "--output", folder / f"{name}{suffix}", "--export", user], check=True)
                signing = ["--local-user", user, "--output", folder / f"{name}.sig{suffix}", "--detach-sign"]
                subprocess.run([*gpg, *words, *signing, folder / "signed"], check=True)
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)
    return folder


@pytest.mark.parametrize("suffix", [".gpg", ".asc"])
def test_a_good_signature(keys: Path, suffix: str) -> None:
    archive = Archive("signed", _SHA256, f"ours.sig{suffix}", f"ours{suffix}", home=keys)
    assert archive.fetch() == keys / "signed"


@pytest.mark.parametrize(
    ("signature", "key"), [("theirs.sig.gpg", "ours.gpg"), ("ours.sig.asc", "theirs.asc"), ("ours.gpg", "ours.gpg")]
)
def test_a_signature_by_another_key_or_none_at_all_is_told(keys: Path, signature: str, key: str) -> None:
    with pytest.raises(InputError, match="the signature of signed is not good"):
        Archive("signed", _SHA256, signature, key, home=keys).fetch()


def test_a_signature_of_another_archive_is_told(keys: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"other")
    digest = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(InputError, match=r"is not good: BAD signature"):
        Archive(str(other), digest, "ours.sig.gpg", "ours.gpg", home=keys).fetch()
