"""Real apt and dpkg, in a root of their own, with a repository that the test builds."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from stackctl.node.errors import NodeError
from stackctl.node.packages import Packages, Places
from stackctl.node.process import SystemRunner

pytestmark = pytest.mark.skipif(
    not (shutil.which("apt-get") and shutil.which("dpkg-deb")), reason="needs Debian's apt and dpkg"
)

_FOLDERS = (
    "etc/apt/sources.list.d",
    "var/lib/dpkg/info",
    "var/lib/dpkg/updates",
    "var/lib/apt/lists/partial",
    "var/cache/apt/archives/partial",
    "var/log/apt",
    "usr/sbin",
)
_POSTINST = '#!/bin/sh\nsh "$DPKG_ROOT/usr/sbin/policy-rc.d" hello start; echo "$?" > "$DPKG_ROOT/answer"\n'


def _add_package(repository: Path, name: str, *, depends: str = "", digest: str | None = None) -> None:
    tree = repository / f"{name}.tree"
    control = f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: Test <test@example.org>\n"
    control += f"Depends: {depends}\n" if depends else ""
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(f"{control}Description: a test\n")
    (tree / "DEBIAN" / "postinst").write_text(_POSTINST)
    (tree / "DEBIAN" / "postinst").chmod(0o755)
    (tree / "DEBIAN").chmod(0o755)
    package = repository / f"{name}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, package], check=True, capture_output=True)
    content = package.read_bytes()
    with (repository / "Packages").open("a") as index:
        index.write(
            f"{control}Installed-Size: 10\nFilename: ./{name}.deb\nSize: {len(content)}\n"
            f"SHA256: {digest or hashlib.sha256(content).hexdigest()}\nDescription: a test\n\n"
        )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "repository"
    path.mkdir()
    _add_package(path, "hello-lib")
    _add_package(path, "hello", depends="hello-lib")
    _add_package(path, "corrupt", digest="0" * 64)
    return path


@pytest.fixture
def packages(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    root = tmp_path / "root"
    for name in _FOLDERS:
        (root / name).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    (root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{repository} ./\n")
    configuration = tmp_path / "apt.conf"
    configuration.write_text(
        f'Dir "{root}";\nDir::State::status "{root}/var/lib/dpkg/status";\nAPT::Sandbox::User "root";\n'
        'Dir::Bin::dpkg "/usr/bin/dpkg";\nDPkg::Options { "--force-not-root"; "--force-script-chrootless"; };\n'
        'DPkg::Path "/usr/sbin:/usr/bin:/sbin:/bin";\n'
        "#clear DPkg::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n"
    )
    monkeypatch.setenv("APT_CONFIG", str(configuration))
    monkeypatch.setenv("DPKG_ROOT", str(root))
    places = Places(
        dpkg=root / "var/lib/dpkg",
        lists=root / "var/lib/apt/lists",
        archives=root / "var/cache/apt/archives",
        sources=root / "etc/apt",
        programs=root / "usr",
        policy=root / "usr/sbin/policy-rc.d",
        own_lock=root / "run/lock/stackctl-packages.lock",
    )
    return Packages(SystemRunner(), places, lock_timeout=5)


def test_packages_come_with_their_dependencies_and_start_no_service(packages: Packages, tmp_path: Path) -> None:
    foreseen = packages.ensure(["hello"], check=True)
    assert foreseen.missing == ("hello",)
    assert packages.missing(["hello"]) == ("hello",)
    outcome = packages.ensure(["hello"])
    assert outcome.refreshed
    assert outcome.installed == ("hello", "hello-lib")
    assert (tmp_path / "root" / "answer").read_text() == "101\n"
    assert not packages.places.policy.exists()
    assert not packages.ensure(["hello"]).changed


def test_a_file_that_is_not_what_the_lists_say_is_not_installed(packages: Packages) -> None:
    with pytest.raises(NodeError) as caught:
        packages.ensure(["corrupt"])
    assert caught.value.kind == "hash_mismatch"
    assert packages.missing(["corrupt"]) == ("corrupt",)


def test_an_unknown_package_is_named(packages: Packages) -> None:
    with pytest.raises(NodeError) as caught:
        packages.ensure(["hello", "no-such-thing"])
    assert caught.value.kind == "unknown_package"
    assert "no-such-thing" in caught.value.message
    assert packages.missing(["hello"]) == ("hello",)
