"""What the controller needs to do its work: programs, packages, folders, the lab's accelerator."""

import importlib.metadata
import importlib.util
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from stackctl import paths
from stackctl.errors import StackctlError
from stackctl.lab import accelerator, qemu
from stackctl.site.load import OpenSite
from stackctl.units import GIB, format_size

State = Literal["ok", "warning", "fault"]

_PROGRAMS = {"ssh": "openssh-client", "ssh-keygen": "openssh-client", "ssh-keyscan": "openssh-client"}
_LAB_PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "sfdisk": "fdisk",
    "grub-mkimage": "grub-common",
}
_ROOM_FOR_IMAGES = 6 * GIB


@dataclass(frozen=True)
class Verdict:
    """One thing that was looked at: how it is, and how to mend it."""

    subject: str
    state: State
    detail: str
    mend: str = ""

    def as_json(self) -> dict[str, Any]:
        """The parts as a JSON object."""
        return asdict(self)


def examine(opened: OpenSite | None) -> Iterator[Verdict]:
    """Look at everything; what only the lab needs is a fault where the site has lab machines, else a warning."""
    lab = opened is not None and any(host.lab for host in opened.site.hosts.values())
    yield _python()
    yield _package("ansible-core", (2, 19))
    yield _mitogen()
    for program, package in _PROGRAMS.items():
        yield _program(program, package, "fault")
    for program, package in _LAB_PROGRAMS.items():
        yield _program(program, package, "fault" if lab else "warning")
    yield from _folders()
    yield _vault_password()
    if shutil.which(qemu.PROGRAM):
        yield _accelerator("fault" if lab else "warning")


def _python() -> Verdict:
    return Verdict("Python", "ok", f"{platform.python_version()} at {sys.executable}")


def _package(name: str, least: tuple[int, int]) -> Verdict:
    wanted = ".".join(map(str, least))
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Verdict(name, "fault", "is not installed", f"pip install '{name}>={wanted}'")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < least:
        return Verdict(name, "fault", f"{version} is too old", f"pip install '{name}>={wanted}'")
    return Verdict(name, "ok", version)


def _mitogen() -> Verdict:
    if importlib.util.find_spec("ansible_mitogen") is None:
        return Verdict("mitogen", "warning", "is not installed: runs will be slower", "pip install mitogen")
    return Verdict("mitogen", "ok", importlib.metadata.version("mitogen"))


def _program(program: str, package: str, absent: State) -> Verdict:
    if found := shutil.which(program):
        return Verdict(program, "ok", found)
    return Verdict(program, absent, "is not installed", f"apt-get install {package}")


def _folders() -> Iterator[Verdict]:
    for name, folder in (("state", paths.state), ("cache", paths.cache), ("settings", paths.config)):
        yield _folder(name, folder)


def _folder(name: str, folder: Callable[[], Path]) -> Verdict:
    try:
        path = folder()
        free = shutil.disk_usage(path).free
    except OSError as failure:
        return Verdict(f"{name} folder", "fault", str(failure), "make it writable, or set XDG_STATE_HOME")
    if name == "cache" and free < _ROOM_FOR_IMAGES:
        return Verdict(
            f"{name} folder",
            "warning",
            f"{path} has {format_size(free)} left; an image takes about {format_size(_ROOM_FOR_IMAGES)}",
            "make room, or set XDG_CACHE_HOME to a larger disk",
        )
    return Verdict(f"{name} folder", "ok", f"{path}, {format_size(free)} free")


def _vault_password() -> Verdict:
    file = paths.config() / "vault-password"
    if not file.exists():
        return Verdict("vault password", "ok", "none yet; the first secret makes one")
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o077:
        return Verdict("vault password", "fault", f"{file} can be read by others ({mode:o})", f"chmod 600 {file}")
    return Verdict("vault password", "ok", str(file))


def _accelerator(broken: State) -> Verdict:
    """What the lab's guests run on, found by running one."""
    try:
        found = accelerator.find()
    except StackctlError as failure:
        return Verdict("accelerator", broken, failure.message, failure.hint or "")
    if found.name == "kvm":
        return Verdict("accelerator", "ok", f"kvm: {found.reason}")
    return Verdict("accelerator", "warning", f"{found.name}: {found.reason}", "the lab will be slow without KVM")
