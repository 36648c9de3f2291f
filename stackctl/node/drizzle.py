"""Drizzle on a server: what is there, a release put beside the others, the switch to it, undone where it fails."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import drizzle_config, drizzle_data, files, libraries, unpack
from .drizzle_accounts import NAME
from .drizzle_config import Option
from .drizzle_tree import ALLOCATOR, Chosen, Tree, allocator
from .drizzle_trial import Trial
from .errors import NodeError
from .libraries import Release
from .process import ProcessError, Runner
from .release import Releases
from .service import Units

UNIT = "drizzled.service"


@dataclass(frozen=True)
class Places:
    """Where Drizzle's things lie on a server."""

    root: Path = Path("/opt/drizzle")
    configuration: Path = Path("/etc/drizzle")
    trials: Path = Path("/var/tmp")  # noqa: S108

    @property
    def users(self) -> Path:
        """auth_file's passwords."""
        return self.configuration / "users"


@dataclass(frozen=True)
class Service:
    """How the server is to run."""

    release: str
    chosen: Chosen
    data: Path
    files: tuple[files.Wanted, ...]
    """Configuration, unit and folders, in this order."""
    absent: tuple[Path, ...] = ()
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords by name."""
    listens: tuple[tuple[str, int], ...] = ()
    keep: int = 2


@dataclass(frozen=True)
class Outcome:
    """What was done, or in check mode would be: one line each; and what differed."""

    done: tuple[str, ...] = ()
    changes: tuple[files.Change, ...] = ()
    removed: tuple[str, ...] = ()
    """Old releases that went."""


@dataclass(frozen=True)
class Drizzle:
    """The Drizzle of this server."""

    runner: Runner
    places: Places = field(default_factory=Places)
    user: str | None = "drizzle"
    """Who runs drizzled; None for this process's own user."""
    start_timeout: float = 900.0
    """Seconds until it answers; a recovery after a crash takes its time."""
    trial: type[Trial] = Trial

    @property
    def releases(self) -> Releases:
        """What was unpacked so far."""
        return Releases(self.runner, self.places.root)

    def look(self, data: Path, release: str, chosen: Chosen) -> dict[str, Any]:
        """What there is, of interest to who sends a release. Refuses what is not ours."""
        self.releases.check_own()
        drizzle_data.holds_data(data)
        drizzle_data.check_in_use(data)
        found = self.releases.look()
        told: dict[str, Any] = {
            "machine": found.machine,
            "libc": found.libc,
            "current": found.current,
            "present": list(found.present),
            "log_size": drizzle_data.log_size(data),
            "tree": None,
            "packages": [],
        }
        if release in found.present:
            tree = Tree.find(self.releases.folder(release))
            needed = tree.check(chosen, found.machine, glibc(found.libc))
            told |= describe(tree, chosen) | {"packages": list(self.packages(needed))}
        return told

    def packages(self, needed: Sequence[str]) -> tuple[str, ...]:
        """Debian packages of the libraries that are not there. NodeError where this Debian does not have one."""
        return libraries.packages(needed, libraries.known(self.runner), self._debian())

    def install(self, release: str, archive: Path, checksum: str, chosen: Chosen) -> Tree:
        """Put an archive's tree beside the others, when it fits this server; whole or not at all."""
        self.releases.check_own()
        found = self.releases.look()

        def fill(packed: Path, folder: Path) -> None:
            unpack.unpack(packed, folder)
            Tree.find(folder).check(chosen, found.machine, glibc(found.libc))

        self.releases.install(release, archive, checksum, fill)
        return Tree.find(self.releases.folder(release))

    def ensure(self, service: Service, *, check: bool = False) -> Outcome:
        """Bring the server to run so. Every check comes before the running one is touched.

        When the new one does not come up, files and release are put back, the old one is started again, and
        NodeError says what the new one said.
        """
        previous = self.releases.look().current
        wanted = [*service.files, self._users(service)]
        due = [self._shown(change) for each in wanted if (change := files.apply(each, check=True))]
        due += [change for path in service.absent if (change := files.remove(path, check=True))]
        folder = self.releases.folder(service.release)
        tree = Tree.find(folder) if folder.is_dir() or not check else None
        if tree:
            self._check_libraries(tree, service.chosen)
        units = self._units()
        if not due and previous == service.release:
            seen = [each.path for each in wanted if each.content is not None] + [self.places.root / "current"]
            done = units.ensure("started", listens=service.listens, configuration=seen, check=check)
            return Outcome(tuple(done), removed=self._prune(service, check=check))
        told = [f"switch from release {previous} to {service.release}"] if previous != service.release else []
        if check or tree is None:
            return Outcome((*told, f"restart {UNIT}"), tuple(due))
        options = self._options(service)
        drizzle_config.check_files(options, [self.places.users])
        drizzle_config.check_log(options, drizzle_data.log_size(service.data))
        self.trial(tree, self.user, self.places.trials, users=service.users).run(options)
        done = self._switch(service, wanted, previous)
        return Outcome((*told, *done), tuple(due), self._prune(service, check=check))

    def _switch(self, service: Service, wanted: Sequence[files.Wanted], previous: str | None) -> list[str]:
        before = Before.take([*(each.path for each in wanted if each.content is not None), *service.absent])
        ran = self.runner.run(["systemctl", "is-active", "--quiet", UNIT], check=False).returncode == 0
        try:
            for each in wanted:
                files.apply(each)
            for path in service.absent:
                files.remove(path)
            self.releases.switch(service.release)
            return self._units().ensure("restarted", listens=service.listens)
        except (NodeError, ProcessError) as failure:
            raise self._undone(failure, before, previous if ran else None, previous) from None

    def _undone(
        self, failure: NodeError | ProcessError, before: "Before", running: str | None, previous: str | None
    ) -> NodeError:
        """Put back what was, start it again when it ran, and give the error that tells of both."""
        self.runner.run(["systemctl", "stop", UNIT], check=False)
        before.restore()
        if previous:
            self.releases.switch(previous)
        else:
            self.releases.leave()
        self.runner.run(["systemctl", "daemon-reload"], check=False)
        said = failure.message if isinstance(failure, NodeError) else str(failure)
        if running is None:
            return NodeError(said, hint="files and release are put back as they were; no Drizzle ran before")
        try:
            self._units().ensure("restarted")
        except (NodeError, ProcessError) as second:
            return NodeError(
                f"{said}\nThe release of before, {running}, was put back and does not start either: {second}",
                hint=f"journalctl -u {UNIT} shows more",
            )
        return NodeError(said, hint=f"the release of before, {running}, runs again with its own configuration")

    def _options(self, service: Service) -> tuple[Option, ...]:
        """What drizzled will read: the files to come, and those that others put into conf.d."""
        folder = self.places.configuration
        coming = {
            str(each.path): each.content
            for each in service.files
            if each.content is not None and folder in each.path.parents and each.path.suffix == ".cnf"
        }
        gone = {str(path) for path in service.absent}
        others = folder / "conf.d"
        for path in sorted(others.iterdir()) if others.is_dir() else ():
            if path.is_file() and str(path) not in coming.keys() | gone:
                coming[str(path)] = path.read_text(errors="replace")
        return drizzle_config.read(coming)

    def _check_libraries(self, tree: Tree, chosen: Chosen) -> None:
        """Raise NodeError where the loader does not find everything, or finds tcmalloc."""
        absent: list[str] = []
        complaints: list[str] = []
        for path in tree.loaded(chosen):
            linked = libraries.linked(self.runner, path, tree.search)
            absent += linked.missing
            complaints += linked.complaints
            if any(soname.startswith(ALLOCATOR) for soname in linked.found):
                raise allocator(str(path.relative_to(tree.root)))
        if absent:
            raise libraries.missing(sorted(set(absent)), self._debian())
        if complaints:
            raise NodeError(
                f"libraries of this server are too old for the archive: {'; '.join(dict.fromkeys(complaints))}",
                kind="input",
                hint="name an archive that was built on the server's release of Debian",
            )

    def _users(self, service: Service) -> files.Wanted:
        for name, password in service.users.items():
            if not NAME.fullmatch(name) or not password or "\n" in password:
                raise NodeError(f"{name!r} is no name for a database account, or its password no line", kind="input")
        text = "".join(f"{name}:{password}\n" for name, password in service.users.items())
        return files.Wanted(self.places.users, text, 0o640, "root", self._group())

    def _group(self) -> str:
        return self.user or "root"

    def _shown(self, change: files.Change) -> files.Change:
        """What a diff may show."""
        if change.path != self.places.users:
            return change
        return files.Change(change.path, "(passwords)\n" if change.before else "", "(other passwords)\n")

    def _units(self) -> Units:
        return Units(self.runner, (UNIT,), timeout=self.start_timeout)

    def _prune(self, service: Service, *, check: bool) -> tuple[str, ...]:
        return () if check else tuple(self.releases.prune(max(service.keep, 1)))

    def _debian(self) -> Release:
        return libraries.release()


@dataclass(frozen=True)
class Before:
    """Files as they were, to be put back."""

    states: Mapping[Path, tuple[bytes, os.stat_result] | None]

    @classmethod
    def take(cls, paths: Sequence[Path]) -> "Before":
        """Remember the files among ``paths``, and which are not there."""
        return cls({path: _state(path) for path in paths})

    def restore(self) -> None:
        """Make them what they were."""
        for path, state in self.states.items():
            if state is None:
                path.unlink(missing_ok=True)
                continue
            content, status = state
            fresh = path.with_name(f".{path.name}.before")
            fresh.touch(mode=0o600)
            fresh.write_bytes(content)
            os.chown(fresh, status.st_uid, status.st_gid)
            fresh.chmod(status.st_mode & 0o7777)
            fresh.replace(path)


def _state(path: Path) -> tuple[bytes, os.stat_result] | None:
    try:
        return path.read_bytes(), path.stat()
    except FileNotFoundError:
        return None


def glibc(libc: str) -> tuple[int, int]:
    """The version in ``glibc 2.36``; NodeError of kind ``input`` for another C library."""
    match = re.fullmatch(r"glibc (\d+)\.(\d+)", libc)
    if match is None:
        raise NodeError(f"the server's C library is {libc or 'unknown'}", kind="input", hint="Debian 12 and 13 fit")
    return int(match[1]), int(match[2])


def describe(tree: Tree, chosen: Chosen) -> dict[str, Any]:
    """What templates need to know of a tree."""
    return {"tree": tree.to_result(), "added": list(tree.chosen(chosen))}
