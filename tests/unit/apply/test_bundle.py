"""The search app's bundle, built by the real pip from a folder of tiny packages."""

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl import paths
from stackctl.apply import bundle as bundles
from stackctl.apply.bundle import Source, Target, bundle
from stackctl.errors import StackctlError
from stackctl.process import RecordingRunner

BOOKWORM = Target("3.11", "x86_64", "glibc 2.36")
TRIXIE = Target("3.13", "x86_64", "glibc 2.41")

_BACKEND = """
import zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(f"{folder}/%(wheel)s", "w") as wheel:
        wheel.writestr("made/__init__.py", "SOURCE = True\\n")
        wheel.writestr("made-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: made\\nVersion: 1\\n")
        wheel.writestr("made-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("made-1.dist-info/RECORD", "")
    return "%(wheel)s"
"""


class House:
    """A folder of packages, and what locks them."""

    def __init__(self, folder: Path) -> None:
        self.packages = folder / "packages"
        self.packages.mkdir()
        package = folder / "stacksearch"
        (package / "web").mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "web" / "page.html").write_text("<p>")
        self.source = Source(package, folder / "requirements.lock", folder / "build.lock")
        self._locked: list[str] = []
        self.lock()
        self.source.build.write_text(_requirement("tool==1", [self.wheel("tool", "py3-none-any", {"tool.py": ""})]))

    def wheel(self, name: str, tag: str, files: dict[str, str]) -> Path:
        """A wheel in the folder."""
        path = self.packages / f"{name}-1-{tag}.whl"
        info = f"{name}-1.dist-info"
        files = {
            **files,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
        }
        record = "".join(f"{member},sha256={_record_hash(text)},{len(text)}\n" for member, text in files.items())
        with zipfile.ZipFile(path, "w") as archive:
            for member, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
                archive.writestr(member, text)
        return path

    def sdist(self, wheel: str) -> Path:
        """A source package that makes a wheel of this name."""
        path = self.packages / "made-1.tar.gz"
        files = {
            "PKG-INFO": "Metadata-Version: 2.1\nName: made\nVersion: 1\n",
            "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
            "backend.py": _BACKEND % {"wheel": wheel},
        }
        with tarfile.open(path, "w:gz") as tar:
            for name, text in files.items():
                member = tarfile.TarInfo(f"made-1/{name}")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
        return path

    def lock(self, *requirements: str) -> None:
        """Write the lock file."""
        self.source.requirements.write_text("# by a test\n#    of it\n" + "\n".join(requirements) + "\n")


def _record_hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def _requirement(words: str, files: Iterable[Path]) -> str:
    hashes = [f"--hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files]
    return " \\\n    ".join([words, *hashes])


def _members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Choose a cache of one's own by name."""

    def choose(name: str) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))

    choose("cache")
    return choose


@pytest.fixture
def house(tmp_path: Path, cache: object, monkeypatch: pytest.MonkeyPatch) -> House:
    """The packages, as the only ones that pip knows of."""
    built = House(tmp_path)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(built.packages))
    return built


def test_a_bundle_holds_the_packages_of_the_servers_python_and_our_own(house: House) -> None:
    pure = house.wheel(
        "pure", "py3-none-any", {"pure.py": "1", "pure-1.data/scripts/tool": "#!", "pure-1.data/purelib/more.py": "2"}
    )
    natives = [
        house.wheel("native", f"cp{python}-cp{python}-manylinux_2_17_x86_64", {"native.py": python})
        for python in ("311", "313")
    ]
    old = house.wheel("backport", "py3-none-any", {"backport.py": ""})
    house.lock(
        _requirement("backport==1 ; python_full_version < '3.13'", [old]),
        _requirement("native==1", natives),
        _requirement("pure==1", [pure]),
    )
    files = _members(bundle(BOOKWORM, house.source).archive)
    assert {name for name in files if "dist-info" not in name} == {
        "backport.py", "more.py", "native.py", "pure.py", "stacksearch/__init__.py", "stacksearch/web/page.html",
    }  # fmt: skip
    assert files["native.py"] == b"311"
    assert "pure-1.dist-info/METADATA" in files
    newer = _members(bundle(TRIXIE, house.source).archive)
    assert newer["native.py"] == b"313"
    assert "backport.py" not in newer


def test_the_same_source_makes_the_same_bytes(house: House, cache: Callable[[str], None]) -> None:
    house.lock(_requirement("pure==1", [house.wheel("pure", "py3-none-any", {"pure.py": "1"})]))
    one = bundle(BOOKWORM, house.source)
    cache("other")
    other = bundle(BOOKWORM, house.source)
    assert one.archive != other.archive
    assert one.checksum == other.checksum == hashlib.sha256(other.archive.read_bytes()).hexdigest()
    assert one.digest == other.digest


def test_what_is_cached_needs_no_index(house: House) -> None:
    first = bundle(BOOKWORM, house.source)
    runner = RecordingRunner()
    assert bundle(BOOKWORM, house.source, runner) == first
    assert runner.calls == []


def test_the_digest_changes_with_what_goes_in_and_with_nothing_else(house: House) -> None:
    digest = house.source.digest(BOOKWORM)
    assert house.source.digest(TRIXIE) != digest
    caches = house.source.package / "__pycache__"
    caches.mkdir()
    (caches / "x.cpython-311.pyc").write_bytes(b"1")
    (house.source.package / ".page.html.swp").write_text("")
    assert house.source.digest(BOOKWORM) == digest
    (house.source.package / "web" / "page.html").write_text("<b>")
    changed = house.source.digest(BOOKWORM)
    assert changed != digest
    house.lock("# another")
    assert house.source.digest(BOOKWORM) != changed


def test_a_source_package_is_built_here(house: House) -> None:
    house.lock(_requirement("made==1", [house.sdist("made-1-py3-none-any.whl")]))
    assert _members(bundle(BOOKWORM, house.source).archive)["made/__init__.py"] == b"SOURCE = True\n"


def test_what_would_be_compiled_for_this_machine_is_refused(house: House) -> None:
    house.lock(_requirement("made==1", [house.sdist("made-1-cp311-cp311-linux_x86_64.whl")]))
    with pytest.raises(StackctlError, match=r"no made for Python 3\.11 on x86_64") as caught:
        bundle(BOOKWORM, house.source)
    assert caught.value.hint


def test_other_bytes_than_locked_are_refused(house: House) -> None:
    wheel = house.wheel("pure", "py3-none-any", {"pure.py": "1"})
    house.lock(_requirement("pure==1", [wheel]))
    house.wheel("pure", "py3-none-any", {"pure.py": "evil"})
    with pytest.raises(StackctlError, match="other bytes for pure==1") as caught:
        bundle(BOOKWORM, house.source)
    assert caught.value.hint
    assert not list(paths.cache("bundles").glob("*.tar.gz"))


def test_a_package_that_the_index_lacks_is_named(house: House) -> None:
    house.lock("absent==1 --hash=sha256:" + "0" * 64)
    with pytest.raises(StackctlError, match=r"index has no absent==1 for Python 3\.11 on x86_64"):
        bundle(BOOKWORM, house.source)


def test_an_index_that_does_not_answer_is_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    house.lock("absent==1 --hash=sha256:" + "0" * 64)
    with pytest.raises(StackctlError, match="does not serve us: Connection refused") as caught:
        bundle(BOOKWORM, house.source)
    assert "PIP_INDEX_URL" in (caught.value.hint or "")


def test_nothing_half_done_is_left(house: House) -> None:
    house.lock("absent==1 --hash=sha256:" + "0" * 64)
    with pytest.raises(StackctlError):
        bundle(BOOKWORM, house.source)
    assert [entry.name for entry in paths.cache("bundles").iterdir()] == ["lock"]


def test_old_bundles_go(house: House) -> None:
    for number in range(bundles._KEPT + 3):
        (house.source.package / "__init__.py").write_text(f"N = {number}")
        newest = bundle(BOOKWORM, house.source, RecordingRunner())
    kept = list(paths.cache("bundles").glob("*.tar.gz"))
    assert len(kept) == bundles._KEPT
    assert newest.archive in kept


@pytest.mark.parametrize("libc", ["", "musl 1.2"])
def test_another_c_library_is_refused(libc: str) -> None:
    with pytest.raises(StackctlError, match="C library"):
        _ = replace(BOOKWORM, libc=libc).platforms


def test_platforms_reach_from_the_servers_own_to_the_oldest() -> None:
    platforms = BOOKWORM.platforms
    assert platforms[0] == "manylinux_2_36_x86_64"
    assert platforms[-2:] == ("manylinux_2_17_x86_64", "manylinux2014_x86_64")


def test_what_ships_is_there() -> None:
    source = Source.shipped()
    assert (source.package / "cli.py").is_file()
    assert "--hash=sha256:" in source.requirements.read_text()
    assert "http" not in source.requirements.read_text().split("aiohappyeyeballs")[0]
