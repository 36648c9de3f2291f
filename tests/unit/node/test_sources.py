"""apt pointed at a mirror: once, and without touching what others added."""

from pathlib import Path

from stackctl.node import sources
from stackctl.node.sources import AUTHORITY, AUTHORITY_USE, OWN, Mirrors

_LIST = Path("sources.list")
_DEB822 = Path("sources.list.d/debian.sources")
_OTHERS = Path("sources.list.d/vendor.list")

_ONE_LINE_FILE = (
    "# Debian\n"
    "deb http://old.example/debian bookworm main contrib\n"
    "deb http://old.example/debian bookworm-updates main\n"
    "deb [trusted=yes] http://old.example/debian-security bookworm-security main # security\n"
    "deb http://vendor.example/debian bookworm stable\n"
)
_DEB822_FILE = (
    "Types: deb\nURIs: mirror+file:///etc/apt/mirrors/debian.list\nSuites: bookworm bookworm-updates\n"
    "Components: main\n\n"
    "Types: deb\nURIs: http://old.example/debian-security\nSuites: bookworm-security\nComponents: main\n"
)
_VENDOR = "deb http://vendor.example/debian bookworm main\n"
_BOTH = Mirrors("http://new.example/debian", "http://new.example/debian-security", replace=True)


def _apply(files: dict[Path, str], mirrors: Mirrors) -> dict[Path, str]:
    return {**files, **sources.plan(files, "bookworm", mirrors)}


def test_where_there_is_none_the_mirrors_fill_in() -> None:
    after = _apply({}, Mirrors("http://new.example/debian", "http://new.example/debian-security"))
    assert list(after) == [OWN]
    assert "URIs: http://new.example/debian\nSuites: bookworm bookworm-updates\n" in after[OWN]
    assert "URIs: http://new.example/debian-security\nSuites: bookworm-security\n" in after[OWN]


def test_what_is_there_stays_unless_told_to_replace() -> None:
    mirrors = Mirrors("http://new.example/debian", "http://new.example/debian-security")
    for files in ({_LIST: _ONE_LINE_FILE}, {_DEB822: _DEB822_FILE}):
        assert sources.plan(files, "bookworm", mirrors) == {}


def test_nothing_is_written_where_nobody_says() -> None:
    assert sources.plan({}, "bookworm", Mirrors(None, None, replace=True)) == {}


def test_debians_lines_give_way_and_others_stay() -> None:
    after = _apply({_LIST: _ONE_LINE_FILE, _OTHERS: _VENDOR.replace(" main", " stable")}, _BOTH)
    assert after[_LIST] == (
        "# Debian\n"
        "# deb http://old.example/debian bookworm main contrib\n"
        "# deb http://old.example/debian bookworm-updates main\n"
        "# deb [trusted=yes] http://old.example/debian-security bookworm-security main # security\n"
        "deb http://vendor.example/debian bookworm stable\n"
    )
    assert after[_OTHERS] == _VENDOR.replace(" main", " stable")


def test_debians_stanzas_give_way() -> None:
    after = _apply({_DEB822: _DEB822_FILE}, _BOTH)
    assert after[_DEB822] == (
        "Enabled: no\n"
        "Types: deb\nURIs: mirror+file:///etc/apt/mirrors/debian.list\nSuites: bookworm bookworm-updates\n"
        "Components: main\n\n"
        "Enabled: no\n"
        "Types: deb\nURIs: http://old.example/debian-security\nSuites: bookworm-security\nComponents: main\n"
    )


def test_only_the_archive_that_is_named_is_replaced() -> None:
    after = _apply({_DEB822: _DEB822_FILE}, Mirrors("http://new.example/debian", None, replace=True))
    assert after[_DEB822].count("Enabled: no") == 1
    assert "security" not in after[OWN]


def test_a_second_run_changes_nothing() -> None:
    for files in ({}, {_LIST: _ONE_LINE_FILE}, {_DEB822: _DEB822_FILE}):
        after = _apply(files, _BOTH)
        assert sources.plan(after, "bookworm", _BOTH) == {}
        fill_in = Mirrors(_BOTH.archive, _BOTH.security)
        assert sources.plan(after, "bookworm", fill_in) == {}


def test_the_same_mirror_in_debians_own_file_is_enough() -> None:
    same = Mirrors("http://old.example/debian/", "http://old.example/debian-security", replace=True)
    assert sources.plan({_LIST: _ONE_LINE_FILE}, "bookworm", same) == {}


def test_another_mirror_later_replaces_the_first() -> None:
    after = _apply({_LIST: _ONE_LINE_FILE}, _BOTH)
    third = Mirrors("http://third.example/debian", "http://third.example/debian-security", replace=True)
    again = _apply(after, third)
    assert "new.example" not in again[OWN]
    assert again[OWN].count("http://third.example/debian\n") == 1


def test_an_authority_is_used_for_its_mirrors_only() -> None:
    mirrors = Mirrors("https://new.example/debian", "http://other.example/s", replace=True, authority="PEM\n")
    after = _apply({}, mirrors)
    assert after[AUTHORITY] == "PEM\n"
    assert 'Acquire::https::new.example::CaInfo "/etc/apt/stackctl-mirror-ca.pem";\n' in after[AUTHORITY_USE]
    assert "other.example" not in after[AUTHORITY_USE]
    assert sources.plan(after, "bookworm", mirrors) == {}


def test_files_and_release_are_read(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / _LIST).write_text("a")
    (tmp_path / _DEB822).write_text("b")
    (tmp_path / "sources.list.d" / "backup.save").write_text("c")
    assert sources.read(tmp_path) == {_LIST: "a", _DEB822: "b"}
    release = tmp_path / "os-release"
    release.write_text('NAME="Debian GNU/Linux"\nID=debian\nVERSION_CODENAME=bookworm\n')
    assert sources.release_name(release) == "bookworm"
    release.write_text("ID=fedora\n")
    assert sources.release_name(release) is None
