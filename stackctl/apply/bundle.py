"""The search app as one archive for a server: hash-locked packages of its Python's kind, and our own.

Servers need no package index: pip runs here, with this machine's own settings.
"""

import gzip
import hashlib
import io
import re
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from packaging.markers import Marker

from stackctl import paths
from stackctl.apply import indexes
from stackctl.errors import StackctlError
from stackctl.lock import exclusive
from stackctl.process import ProcessError, Runner, SystemRunner

_FORMAT = 1
"""Counts up when the same input makes another archive."""
_KEPT = 8
"""Archives in the cache."""
_OLDEST_GLIBC = 17
"""Minor version; wheels for older ones say manylinux2014 or less beside it."""

Files = dict[str, tuple[bytes, bool]]
"""Contents by path, and whether they can be executed."""


@dataclass(frozen=True)
class Target:
    """What a server runs Python programs on: version 3.11, machine x86_64, libc ``glibc 2.36``."""

    python: str
    machine: str
    libc: str

    @property
    def platforms(self) -> tuple[str, ...]:
        """Platform tags of the wheels that run there, the best first."""
        found = re.fullmatch(r"glibc 2\.(\d+)", self.libc)
        if found is None:
            raise StackctlError(
                f"the server's C library is {self.libc or 'unknown'}", hint="Debian 12 and 13 are supported"
            )
        newer = tuple(f"manylinux_2_{minor}_{self.machine}" for minor in range(int(found[1]), _OLDEST_GLIBC - 1, -1))
        return (*newer, f"manylinux2014_{self.machine}")

    @property
    def markers(self) -> dict[str, str]:
        """The environment for markers in requirements."""
        return {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "platform_machine": self.machine,
            "platform_system": "Linux",
            "sys_platform": "linux",
            "os_name": "posix",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "extra": "",
        }

    def __str__(self) -> str:
        return f"Python {self.python} on {self.machine}"


@dataclass(frozen=True)
class Source:
    """What a bundle is made of."""

    package: Path
    """Our package, as it is installed beside this one."""
    requirements: Path
    """A hash-locked requirements file."""
    build: Path
    """The same for what builds packages that come as source."""

    @classmethod
    def shipped(cls) -> "Source":
        """The search app of this installation."""
        locks = paths.data("playbooks", "roles", "search", "files")
        package = paths.package().parent / "stacksearch"
        return cls(package, locks / "requirements.lock", locks / "build.lock")

    def digest(self, target: Target) -> str:
        """A name for the bundle that says all that goes into it."""
        total = hashlib.sha256(repr((_FORMAT, target)).encode())
        for lock in (self.requirements, self.build):
            total.update(hashlib.sha256(lock.read_bytes()).digest())
        for name, (content, _) in sorted(_own(self.package).items()):
            total.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest())
        return total.hexdigest()[:16]


@dataclass(frozen=True)
class Bundle:
    """An archive, tar.gz, with the SHA-256 of its bytes in hex."""

    digest: str
    archive: Path
    checksum: str


def bundle(target: Target, source: Source | None = None, runner: Runner | None = None) -> Bundle:
    """The bundle for a target, from the cache or built now.

    Raises StackctlError when the index cannot be reached, lacks a package, or gives other bytes than locked.
    """
    source = source or Source.shipped()
    digest = source.digest(target)
    folder = paths.cache("bundles")
    archive = folder / f"{digest}.tar.gz"
    if not archive.exists():
        with exclusive(folder / "lock", waiting="waiting for another process that builds the search app"):
            if not archive.exists():
                _build(target, source, runner or SystemRunner(), archive)
                _tidy(folder)
    archive.touch()
    return Bundle(digest, archive, hashlib.sha256(archive.read_bytes()).hexdigest())


def _build(target: Target, source: Source, runner: Runner, archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="work-", dir=archive.parent) as name:
        work = Path(name)
        files: Files = {}
        for wheel in sorted(_wheels(target, source, runner, work)):
            files.update(_members(wheel))
        files.update((f"{source.package.name}/{path}", entry) for path, entry in _own(source.package).items())
        fresh = work / "bundle"
        fresh.write_bytes(_packed(files))
        fresh.replace(archive)


def _wheels(target: Target, source: Source, runner: Runner, work: Path) -> list[Path]:
    """Download what is locked; what comes as source only is made into a wheel here."""
    wanted = work / "requirements.txt"
    wanted.write_text("\n".join(_applicable(source.requirements.read_text(), target.markers)))
    downloads = work / "downloads"
    download = [*("--require-hashes", "--no-deps", "--dest", str(downloads), "--requirement", str(wanted))]
    download += ["--implementation", "cp", "--python-version", target.python]
    for platform in target.platforms:
        download += ["--platform", platform]
    try:
        _pip(runner, "download", "--only-binary=:all:", *download)
        return list(downloads.glob("*.whl"))
    except ProcessError as failure:
        if not indexes.lacks(failure.result.stderr):
            raise indexes.explained(failure, str(target)) from None
    try:
        tools = str(work / "tools")
        locked = ["--require-hashes", "--no-deps", "--requirement", str(source.build)]
        _pip(runner, "install", "--only-binary=:all:", "--target", tools, *locked)
        _pip(runner, "download", "--no-build-isolation", *download, python_path=tools)
        for sdist in sorted(path for path in downloads.iterdir() if path.suffix != ".whl"):
            building = ["--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(downloads)]
            _pip(runner, "wheel", *building, str(sdist), python_path=tools)
    except ProcessError as failure:
        raise indexes.explained(failure, str(target)) from None
    wheels = list(downloads.glob("*.whl"))
    _check_built(wheels, target)
    return wheels


def _check_built(wheels: list[Path], target: Target) -> None:
    """Refuse what was compiled for this machine instead of the server."""
    fitting = (*target.platforms, "any", *(f"manylinux{old}_{target.machine}" for old in ("1", "2010")))
    for wheel in wheels:
        if not set(wheel.stem.rsplit("-", 1)[1].split(".")) & set(fitting):
            raise StackctlError(
                f"the package index has no {wheel.stem.split('-')[0]} for {target}, and its source needs a compiler",
                hint="use an index that has its wheels",
            )


def _pip(runner: Runner, command: str, *words: str, python_path: str | None = None) -> None:
    quiet = ("--quiet", "--no-input", "--disable-pip-version-check")
    argv = [sys.executable, "-m", "pip", command, *quiet, *words]
    runner.run(argv, env={"PYTHONPATH": python_path} if python_path else None, timeout=1800)


def _applicable(lock: str, environment: Mapping[str, str]) -> Iterator[str]:
    """The requirements that hold for an environment, without their markers: pip would ask its own Python."""
    for requirement in re.split(r"\n(?=[A-Za-z0-9])", lock.strip()):
        head, *hashes = (line.strip() for line in requirement.split("\\\n"))
        name, _, marker = head.partition(";")
        if name.startswith("#") or (marker and not Marker(marker.strip()).evaluate(dict(environment))):
            continue
        yield " ".join([name.strip(), *hashes])


def _own(package: Path) -> Files:
    """The files of our package, without caches and what editors leave."""
    found: Files = {}
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package)
        if (
            path.is_file()
            and path.suffix != ".pyc"
            and not any(part.startswith((".", "__pycache__")) for part in name.parts)
        ):
            found[name.as_posix()] = (path.read_bytes(), False)
    return found


def _members(wheel: Path) -> Files:
    """What a wheel puts beside the other packages; its programs are of no use here."""
    found: Files = {}
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            parts = PurePosixPath(member.filename).parts
            if member.is_dir():
                continue
            if parts[0].endswith(".data"):
                if parts[1] not in ("purelib", "platlib"):
                    continue
                parts = parts[2:]
            found["/".join(parts)] = (archive.read(member), bool(member.external_attr >> 16 & 0o111))
    return found


def _packed(files: Files) -> bytes:
    """The same bytes for the same files, whenever and by whomever they are packed."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, (content, executable) in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if executable else 0o644
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _tidy(folder: Path) -> None:
    archives = sorted(folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime_ns)
    for old in archives[:-_KEPT]:
        old.unlink(missing_ok=True)
