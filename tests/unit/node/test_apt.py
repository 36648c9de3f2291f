"""apt's and dpkg's words, recorded on Debian 12, and what the operator reads instead."""

from pathlib import Path

import pytest

from stackctl.node import apt

_RECORDED = Path(__file__).parent / "apt_output"


def _said(name: str) -> str:
    return (_RECORDED / f"{name}.txt").read_text()


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("update_unresolvable", "unreachable_mirror", ["mirror.invalid", "Could not resolve"]),
        ("update_refused", "unreachable_mirror", ["mirror.example", "Connection refused"]),
        ("install_refused", "unreachable_mirror", ["mirror.example", "Connection refused"]),
        ("update_certificate", "certificate", ["mirror.example", "does not trust"]),
        ("update_unsigned", "unsigned", ["mirror.example", "NO_PUBKEY 088E2B86EF2360D5"]),
        ("update_expired", "clock", ["mirror.example", "expired"]),
        ("update_not_yet", "clock", ["mirror.example", "not valid yet"]),
        ("update_no_space", "no_space", ["/srv/apt/smalllists/partial/"]),
        ("install_no_space_archives", "no_space", ["/srv/apt/small/archives"]),
        ("install_hash", "hash_mismatch", ["mirror.example", "tinypkg_1.0_all.deb"]),
        ("install_404", "not_on_mirror", ["mirror.example", "gone_1.0_all.deb", "404"]),
        ("install_unknown", "unknown_package", ["alsonot, nosuchpkg"]),
        ("install_unmet", "unmet", ["depbroken : Depends: nosuchdep (>= 3) but it is not installable"]),
        ("removal", "would_remove", ["chromium", "systemd-sysv"]),
        ("dpkg_postinst", "broken_dpkg", ["badpost", "post-installation script subprocess returned error"]),
        ("dpkg_no_space", "no_space", ["/srv/apt/root/opt/blob.dpkg-new"]),
    ],
)
def test_a_fault_is_named_with_what_it_is_about(name: str, kind: str, words: list[str]) -> None:
    fault = apt.fault(_said(name), "installing memcached")
    assert fault.kind == kind
    assert fault.message.startswith("installing memcached: ")
    assert fault.hint
    for word in words:
        assert word in fault.message


def test_a_lock_names_its_holder() -> None:
    said = (
        "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 11363 (apt-get)\n"
        "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?\n"
    )
    fault = apt.fault(said, "installing memcached")
    assert fault.kind == "locked"
    assert "process 11363 (apt-get)" in fault.message


def test_what_nobody_foresaw_is_shown_as_apt_said_it() -> None:
    fault = apt.fault("Reading package lists...\nE: The moon is in the wrong house\n", "installing memcached")
    assert (fault.kind, fault.message) == ("failed", "installing memcached: E: The moon is in the wrong house")


def test_silence_is_told_too() -> None:
    assert apt.fault("", "installing memcached").message.endswith("said nothing")


def test_a_transaction_is_read_from_its_summary() -> None:
    assert apt.read_transaction(_said("print_uris")) == apt.Transaction(
        packages=("bigpkg", "tinypkg"), download=6_004_000, disk=3072 * 10**9
    )


def test_a_transaction_in_part_fetched_already_counts_what_is_left() -> None:
    said = "Need to get 1,730 kB/1,749 kB of archives.\nAfter this operation, 12.5 MB of additional disk space"
    assert apt.read_transaction(said) == apt.Transaction((), 1_730_000, 12_500_000)


def test_no_space_tells_how_much_is_missing(tmp_path: Path) -> None:
    free = apt.free_bytes(tmp_path)
    fault = apt.no_space(tmp_path / "archives", free + 3 * 10**12)
    assert str(apt.mount_point(tmp_path)) in fault.message
    assert "are missing" in fault.message
    assert "3000.0 GB are missing" in fault.message
