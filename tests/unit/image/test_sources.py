"""Package sources: the controller's own, in the words of the image's release."""

from pathlib import Path

import pytest

from stackctl.errors import StackctlError
from stackctl.image.sources import Source, Sources, controller_sources
from stackctl.process import RecordingRunner, Result
from stackctl.site.models import Mirrors

BOOKWORM = [
    ("http://mirror.test/debian/", "bookworm", "main", "Debian", "/nowhere:1"),
    ("http://mirror.test/debian/", "bookworm", "contrib", "Debian", "/nowhere:1"),
    ("http://mirror.test/debian/", "bookworm-updates", "main", "Debian", "/nowhere:1"),
    ("http://mirror.test/security/", "bookworm-security", "main", "Debian", "/nowhere:2"),
]


def _runner(lines: list[tuple[str, ...]], options: str = "") -> RecordingRunner:
    listing = "".join("\t".join(line) + "\n" for line in lines)
    return RecordingRunner(lambda argv: Result(argv, 0, options if argv[0] == "apt-config" else listing))


def test_the_controllers_archives() -> None:
    found = controller_sources("bookworm", Mirrors(), _runner(BOOKWORM))
    assert found.archives == (
        Source("http://mirror.test/debian/", "bookworm", ("main", "contrib")),
        Source("http://mirror.test/debian/", "bookworm-updates", ("main",)),
        Source("http://mirror.test/security/", "bookworm-security", ("main",)),
    )


def test_another_release_is_translated() -> None:
    found = controller_sources("trixie", Mirrors(), _runner(BOOKWORM))
    assert [source.suite for source in found.archives] == ["trixie", "trixie-updates", "trixie-security"]


def test_archives_of_others_are_left_out() -> None:
    lines = [
        *BOOKWORM,
        ("https://apt.test/docker/", "bookworm", "stable", "Docker", "/nowhere:3"),
        ("https://apt.test/cloud/", "cloud-sdk-bookworm", "main", "", "/nowhere:4"),
        ("https://apt.test/backports/", "bookworm-backports", "main", "Debian", "/nowhere:5"),
    ]
    assert controller_sources("bookworm", Mirrors(), _runner(lines)) == controller_sources(
        "bookworm", Mirrors(), _runner(BOOKWORM)
    )


def test_lists_that_were_never_fetched_still_count() -> None:
    lines = [(uri, suite, component, "$(ORIGIN)", entry) for uri, suite, component, _, entry in BOOKWORM]
    assert len(controller_sources("bookworm", Mirrors(), _runner(lines)).archives) == 3


def test_the_site_wins() -> None:
    mirrors = Mirrors(apt="http://site.test/debian", apt_security="http://site.test/security")
    found = controller_sources("bookworm", mirrors, _runner(BOOKWORM))
    assert {source.uri for source in found.archives} == {"http://site.test/debian", "http://site.test/security"}


def test_no_archive_is_an_error_with_a_way_out() -> None:
    with pytest.raises(StackctlError, match="bookworm") as failure:
        controller_sources("bookworm", Mirrors(), _runner([]))
    assert "mirrors.apt" in str(failure.value.hint)


def test_the_key_ring_of_a_stanza(tmp_path: Path) -> None:
    file = tmp_path / "debian.sources"
    file.write_text(
        "Types: deb\nURIs: http://a\nSuites: bookworm\nComponents: main\nSigned-By: /rings/one.gpg\n\n"
        "Types: deb\nURIs: http://b\nSuites: bookworm-security\nComponents: main\nSigned-By: /rings/two.gpg\n"
    )
    lines = [
        ("http://a/", "bookworm", "main", "Debian", f"{file}:1"),
        ("http://b/", "bookworm-security", "main", "Debian", f"{file}:2"),
    ]
    found = controller_sources("bookworm", Mirrors(), _runner(lines)).archives
    assert [str(source.keyring) for source in found] == ["/rings/one.gpg", "/rings/two.gpg"]
    assert found[0].line() == "deb [signed-by=/rings/one.gpg] http://a/ bookworm main"


def test_the_key_ring_of_a_line(tmp_path: Path) -> None:
    file = tmp_path / "sources.list"
    file.write_text("# mine\ndeb [arch=amd64 signed-by=/rings/one.gpg] http://a bookworm main\n")
    lines = [("http://a/", "bookworm", "main", "Debian", f"{file}:2")]
    found = controller_sources("bookworm", Mirrors(), _runner(lines)).archives
    assert [str(source.keyring) for source in found] == ["/rings/one.gpg"]


def test_proxies_and_clock_checks_come_along() -> None:
    options = (
        'APT::Architecture "amd64";\nAcquire::http::Proxy "http://proxy.test:3128";\n'
        'Acquire::http::Proxy::other.test "DIRECT";\nAcquire::https::Proxy "";\nAcquire::Check-Date "false";\n'
    )
    found = controller_sources("bookworm", Mirrors(), _runner(BOOKWORM, options))
    assert found.options == (
        ("Acquire::http::Proxy", "http://proxy.test:3128"),
        ("Acquire::http::Proxy::other.test", "DIRECT"),
        ("Acquire::Check-Date", "false"),
    )


def test_the_digest_follows_the_files(tmp_path: Path) -> None:
    ring = tmp_path / "ring.gpg"
    ring.write_bytes(b"one")
    sources = Sources((Source("http://a", "bookworm", ("main",), ring),))
    first = sources.digest()
    assert sources.digest() == first
    ring.write_bytes(b"two")
    assert sources.digest() != first
