"""What the controller's apt configuration says about archives."""

from pathlib import Path

import pytest

from stackctl.site.mirrors import controller_mirrors, mirrors_of
from stackctl.site.models import Mirrors

DEB822 = """\
# a comment
Types: deb deb-src
URIs: http://one.example/debian/
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 URIs: http://evil.example/

Types: deb
URIs: http://one.example/debian-security
Suites: bookworm-security
Components: main
"""
ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] https://two.example/debian trixie main contrib # ours
deb https://two.example/security trixie-security main
deb-src https://two.example/debian trixie main
deb cdrom:[Debian]/ trixie main
"""


@pytest.fixture
def apt(tmp_path: Path) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    return tmp_path


def test_deb822(apt: Path) -> None:
    (apt / "sources.list.d" / "debian.sources").write_text(DEB822)
    assert controller_mirrors(apt) == {
        "apt": "http://one.example/debian",
        "apt_security": "http://one.example/debian-security",
    }


def test_one_line(apt: Path) -> None:
    (apt / "sources.list").write_text(ONE_LINE)
    assert controller_mirrors(apt) == {
        "apt": "https://two.example/debian",
        "apt_security": "https://two.example/security",
    }


def test_the_old_name_of_the_security_suite(apt: Path) -> None:
    (apt / "sources.list").write_text(
        "deb http://s.example/ buster/updates main\ndeb http://s.example/ stable/updates main\n"
    )
    assert controller_mirrors(apt)["apt_security"] == "http://s.example"


@pytest.mark.parametrize(
    "text",
    [
        "Types: deb\nEnabled: no\nURIs: http://x.example\nSuites: bookworm\nComponents: main\n",
        "Types: deb-src\nURIs: http://x.example\nSuites: bookworm\nComponents: main\n",
        "Types: deb\nURIs: http://x.example\nSuites: bookworm-pgdg\nComponents: main\n",
        "Types: deb\nURIs: http://x.example\nSuites: bookworm\nComponents: stable\n",
        "Types: deb\nURIs: http://x.example\nSuites: noble\nComponents: main\n",
        "Types: deb\nURIs: cdrom:x\nSuites: bookworm\nComponents: main\n",
        "nonsense",
    ],
)
def test_what_is_no_archive_of_debian(apt: Path, text: str) -> None:
    (apt / "sources.list.d" / "x.sources").write_text(text)
    assert controller_mirrors(apt) == {"apt": None, "apt_security": None}


def test_a_list_of_mirrors_is_followed(apt: Path) -> None:
    mirrors = apt / "mirrors.list"
    mirrors.write_text("# best first\nhttps://three.example/debian priority:1\nhttps://four.example/debian\n")
    (apt / "sources.list").write_text(f"deb mirror+file:{mirrors} bookworm main\n")
    assert controller_mirrors(apt)["apt"] == "https://three.example/debian"


def test_no_apt_at_all(tmp_path: Path) -> None:
    assert controller_mirrors(tmp_path / "nowhere") == {"apt": None, "apt_security": None}


def test_the_site_wins_word_by_word(apt: Path) -> None:
    (apt / "sources.list.d" / "debian.sources").write_text(DEB822)
    wanted = Mirrors(apt="https://own.example/debian", ca="/own.pem")
    assert mirrors_of(wanted, apt) == {
        "apt": "https://own.example/debian",
        "apt_security": "http://one.example/debian-security",
        "ca": "/own.pem",
        "from_site": True,
    }


def test_a_site_that_says_nothing_takes_the_controllers(apt: Path) -> None:
    (apt / "sources.list.d" / "debian.sources").write_text(DEB822)
    assert mirrors_of(Mirrors(), apt) == {**controller_mirrors(apt), "ca": None, "from_site": False}
