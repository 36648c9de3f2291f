"""mmdebstrap's command line, the files of a tree, and what its failures say."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackctl.image import cage, tree
from stackctl.image.build import identifiers
from stackctl.image.definition import Boot, Definition, File, Units
from stackctl.image.sources import Source, Sources

IDS = identifiers("test")
DEFINITION = Definition(
    description="d",
    suite="bookworm",
    kernel="linux-image-cloud-amd64",
    packages=("openssh-server", "sudo"),
    units=Units(enable=("a.service",), mask=("b.timer",)),
    files={"/etc/own": File(content="own\n", mode="0600"), "/etc/hosts": File(content="mine\n")},
    boot=Boot(console=("tty0", "ttyS0,115200"), options=("quiet",)),
)
SOURCES = Sources(
    (
        Source("http://mirror.test/debian", "bookworm", ("main",), tree.DEBIAN_KEYRING),
        Source("http://mirror.test/security", "bookworm-security", ("main",)),
    ),
    options=(("Acquire::http::Proxy", "http://proxy.test:3128"),),
)


def test_the_command_line() -> None:
    words = tree.argv(DEFINITION, SOURCES, Path("/skeleton"), Path("/target"))
    assert words[0] == "mmdebstrap"
    assert "--mode=unshare" in words
    assert "--include=linux-image-cloud-amd64,openssh-server,sudo" in words
    assert '--aptopt=Acquire::http::Proxy "http://proxy.test:3128"' in words
    assert words[-3:] == ["bookworm", "/target", "-"]


def test_the_initramfs_is_built_once_when_everything_is_there() -> None:
    words = tree.argv(DEFINITION, SOURCES, Path("/skeleton"), Path("/target"))
    hooks = [word for word in words if "hook" in word]
    assert "dpkg-divert" in hooks[0]
    assert hooks[0].startswith("--essential-hook=")
    builds = [index for index, hook in enumerate(hooks) if "update-initramfs -c" in hook]
    assert len(builds) == 1
    assert builds[0] > next(index for index, hook in enumerate(hooks) if "sync-in" in hook)
    assert builds[0] > next(index for index, hook in enumerate(hooks) if "--remove" in hook)


def test_units_and_what_must_not_be_shared() -> None:
    hooks = "\n".join(tree.argv(DEFINITION, SOURCES, Path("/skeleton"), Path("/target")))
    assert "systemctl --quiet enable a.service" in hooks
    assert "systemctl --quiet mask b.timer" in hooks
    assert "rm -f" in hooks
    assert "ssh_host_*_key" in hooks


def test_files_agree_about_the_root() -> None:
    files = tree.files(DEFINITION, SOURCES, IDS)
    assert f"UUID={IDS.root} / ext4" in files["/etc/fstab"].content
    grub = files["/boot/grub/grub.cfg"].content
    assert f"linux /vmlinuz root=UUID={IDS.root} ro console=tty0 console=ttyS0,115200 quiet\n" in grub
    assert "set timeout=0" in grub
    apt = files["/etc/apt/sources.list.d/debian.list"].content
    assert apt.splitlines() == [source.line() for source in SOURCES.archives]
    assert 'Proxy "http://proxy.test:3128";' in files["/etc/apt/apt.conf.d/60stackctl"].content


def test_the_definition_has_the_last_word() -> None:
    files = tree.files(DEFINITION, SOURCES, IDS)
    assert files["/etc/hosts"].content == "mine\n"
    assert files["/etc/own"].mode == "0600"


def test_localhost_resolves_without_a_word() -> None:
    bare = DEFINITION.model_copy(update={"files": {}})
    assert "127.0.0.1 localhost" in tree.files(bare, SOURCES, IDS)["/etc/hosts"].content


def test_a_ca_of_the_site_comes_along(tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    ca.write_text("-----BEGIN CERTIFICATE-----\n")
    sources = Sources(SOURCES.archives, ca=ca)
    words = tree.argv(DEFINITION, sources, Path("/skeleton"), Path("/target"))
    assert f'--aptopt=Acquire::https::CAInfo "{ca}"' in words
    assert any("update-ca-certificates" in word for word in words)
    files = tree.files(DEFINITION, sources, IDS)
    assert files["/usr/local/share/ca-certificates/stackctl-site.crt"].content.startswith("-----BEGIN")


def test_the_skeleton_has_modes_and_foreign_key_rings(tmp_path: Path) -> None:
    ring = tmp_path / "ring.gpg"
    ring.write_bytes(b"ring")
    sources = Sources((Source("http://a", "bookworm", ("main",), ring), *SOURCES.archives))
    folder = tmp_path / "skeleton"
    old = os.umask(0o077)
    try:
        tree.write_skeleton(tree.files(DEFINITION, sources, IDS), sources, folder)
    finally:
        os.umask(old)
    assert (folder / "etc/own").stat().st_mode & 0o777 == 0o600
    assert (folder / "etc/fstab").stat().st_mode & 0o777 == 0o644
    assert (folder / "etc").stat().st_mode & 0o777 == 0o755
    assert (folder / str(ring).lstrip("/")).read_bytes() == b"ring"
    assert not (folder / str(tree.DEBIAN_KEYRING).lstrip("/")).exists(), "Debian's own package brings it"


@pytest.mark.parametrize(
    ("log", "word"),
    [
        ("E: Failed to fetch http://m.test/x  Could not resolve 'm.test'\nE: apt-get update failed", "mirrors:"),
        ("E: Unable to locate package nothing\n", "does not have"),
        ("dpkg: error: No space left on device\nE: run_chroot failed\n", "XDG_CACHE_HOME"),
    ],
)
def test_failures_say_how_to_mend(log: str, word: str) -> None:
    error = tree.failure(log)
    assert word in str(error.hint)
    assert "E: " in error.message


def test_an_ordinary_user_becomes_root_of_a_namespace() -> None:
    assert cage.as_root(["true"], euid=0) == ["true"]
    assert cage.as_root(["true"], euid=1000) == ["unshare", "--user", "--map-root-user", "--map-auto", "true"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs namespaces")
def test_what_is_bound_dies_with_us(tmp_path: Path) -> None:
    """Also its children, also when we are killed without a chance to say anything."""
    mark = tmp_path / "pid"
    inner = ["sh", "-c", f"sleep 86398 & sleep 86399 & touch {mark}; wait"]
    code = "import sys, subprocess; subprocess.run(sys.argv[1:])"
    parent = subprocess.Popen([sys.executable, "-c", code, *cage.bound(inner)])
    deadline = time.monotonic() + 60
    while not mark.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert _descendants(tmp_path)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    while _descendants(tmp_path):
        assert time.monotonic() < deadline, "processes are left"
        time.sleep(0.02)


def _descendants(folder: Path) -> list[str]:
    """Processes that our command line started."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes() if process.name.isdigit() else b""
        except OSError:
            continue
        if str(folder).encode() in words or words in {b"sleep\x0086398\x00", b"sleep\x0086399\x00"}:
            found.append(process.name)
    return found
