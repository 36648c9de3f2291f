"""Debian packages made present: fast when they are there, patient with locks, plain about what went wrong."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import apt, locks
from .errors import NodeError
from .policy import ServicePolicy
from .process import Runner

_APT = "the package manager"
_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "APT_LISTCHANGES_FRONTEND": "none", "NEEDRESTART_SUSPEND": "1"}
_KEEP_CONFIGURATION = ("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold")
_STALE = frozenset({"unknown_package", "not_on_mirror", "hash_mismatch"})
"""Faults that fresh package lists may mend."""
_NETWORK = ("-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::https::Timeout=20")


def _doing(names: Sequence[str]) -> str:
    return f"installing {', '.join(names)}"


@dataclass(frozen=True)
class Places:
    """Where apt and dpkg keep their state."""

    dpkg: Path = Path("/var/lib/dpkg")
    lists: Path = Path("/var/lib/apt/lists")
    archives: Path = Path("/var/cache/apt/archives")
    sources: Path = Path("/etc/apt")
    programs: Path = Path("/usr")
    policy: Path = Path("/usr/sbin/policy-rc.d")
    own_lock: Path = Path("/run/lock/stackctl-packages.lock")

    @property
    def locks(self) -> tuple[Path, ...]:
        """The lock files of apt and dpkg, the outermost first."""
        return (self.dpkg / "lock-frontend", self.dpkg / "lock", self.lists / "lock", self.archives / "lock")


@dataclass(frozen=True)
class Outcome:
    """What was done, or in check mode what would be."""

    missing: tuple[str, ...] = ()
    """Of the names asked for, those that were absent."""
    installed: tuple[str, ...] = ()
    """All packages that came new, with what they depend on."""
    refreshed: bool = False
    """The package lists were fetched."""
    mended: bool = False
    """An installation that had been cut off was brought to its end."""
    waited: float = 0.0
    """Seconds spent waiting for others."""

    @property
    def changed(self) -> bool:
        return bool(self.missing or self.mended)


@dataclass
class Packages:
    """The packages of this system."""

    runner: Runner
    places: Places = field(default_factory=Places)
    lock_timeout: float = 600.0
    """Seconds to wait for another package manager."""
    lists_max_age: float = 86400.0
    """Seconds after which the package lists count as old."""

    def missing(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of ``names`` that are not wholly installed."""
        if not names:
            return ()
        query = ("dpkg-query", "--show", "--showformat=${Package} ${binary:Package} ${db:Status-Abbrev}\n")
        said = self.runner.run([*query, *names], check=False).stdout
        there: set[str] = set()
        for line in said.splitlines():
            name, qualified, state = line.split(maxsplit=2)
            if state[1:2] == "i":
                there.update((name, qualified))
        return tuple(name for name in names if name not in there)

    def ensure(self, names: Sequence[str], *, check: bool = False) -> Outcome:
        """Install those of ``names`` that are absent; with ``check`` only say what would be done.

        Raises NodeError, whose message is fit for the operator.
        """
        policy = ServicePolicy(self.places.policy)
        absent = self.missing(names)
        if check:
            return Outcome(absent, self._foresee(absent)) if absent else Outcome()
        if not absent and (not policy.left_behind() or locks.holder(self.places.own_lock)):
            return Outcome()
        began = time.monotonic()
        with locks.held(self.places.own_lock, _APT, self.lock_timeout):
            locks.wait_free(self.places.locks, _APT, self._left(began))
            waited = time.monotonic() - began
            with policy:
                mended = self._mend()
                absent = self.missing(names)
                installed, refreshed = self._install(absent, began) if absent else ((), False)
        if still := self.missing(names):
            raise NodeError(f"apt-get reported success, but these packages are absent: {', '.join(still)}")
        return Outcome(absent, installed, refreshed, mended, waited)

    def _install(self, absent: tuple[str, ...], began: float) -> tuple[tuple[str, ...], bool]:
        """Install, with lists that are fresh enough; return the packages that came and whether lists were fetched.

        A repository that fails does no harm as long as the packages come from others.
        """
        refreshed = self._lists_are_old()
        failure = self._refresh(began) if refreshed else None
        while True:
            try:
                transaction = self._simulate(absent)
                self._check_space(transaction)
                argv = ["apt-get", "--quiet", "--yes", "--no-remove", *self._options(began)]
                self._run([*argv, "install", *absent], _doing(absent))
                return transaction.packages, refreshed
            except NodeError as error:
                if error.kind == "locked" and self._left(began) > 0:
                    locks.wait_free(self.places.locks, _APT, self._left(began))
                elif error.kind not in _STALE:
                    raise
                elif refreshed:
                    raise failure or error from None
                else:
                    failure, refreshed = self._refresh(began), True

    def _foresee(self, absent: tuple[str, ...]) -> tuple[str, ...]:
        """The packages that would come; only those asked for where the lists are too old to tell."""
        try:
            transaction = self._simulate(absent)
        except NodeError:
            if self._lists_are_old():
                return absent
            raise
        self._check_space(transaction)
        return transaction.packages

    def _simulate(self, absent: tuple[str, ...]) -> apt.Transaction:
        argv = ("apt-get", "--quiet", "--yes", "--print-uris", "--no-remove", "--no-install-recommends", "install")
        return apt.read_transaction(self._run([*argv, *absent], _doing(absent)))

    def _check_space(self, transaction: apt.Transaction) -> None:
        """Every check before the first write: apt looks only at the room for what it fetches."""
        needs = ((self.places.archives, transaction.download), (self.places.programs, transaction.disk))
        together: dict[Path, int] = {}
        for path, size in needs:
            mount = apt.mount_point(path)
            together[mount] = together.get(mount, 0) + size
        for path, _ in needs:
            needed = together[apt.mount_point(path)]
            if needed > apt.free_bytes(path):
                raise apt.no_space(path, needed)

    def _refresh(self, began: float) -> NodeError | None:
        """Fetch the package lists; return why some did not come."""
        argv = ["apt-get", "--quiet", "-o", "APT::Update::Error-Mode=any", *self._options(began), "update"]
        while True:
            try:
                self._run(argv, "fetching the package lists")
            except NodeError as error:
                if error.kind != "locked" or self._left(began) <= 0:
                    return error
                locks.wait_free(self.places.locks, _APT, self._left(began))
            else:
                self.places.lists.touch()
                return None

    def _lists_are_old(self) -> bool:
        """No lists, lists of long ago, or apt sources that were changed after the lists were fetched."""
        if not any(self.places.lists.glob("*Packages*")):
            return True
        fetched = self.places.lists.stat().st_mtime
        sources = (*self.places.sources.glob("sources.list"), *self.places.sources.glob("sources.list.d/*"))
        changed = max((path.stat().st_mtime for path in sources), default=0.0)
        return changed > fetched or time.time() - fetched > self.lists_max_age

    def _mend(self) -> bool:
        """Finish what a power cut or a killed installation left half done."""
        updates = self.places.dpkg / "updates"
        journal = updates.is_dir() and any(path.name.isdigit() for path in updates.iterdir())
        if not journal and not self.runner.run(["dpkg", "--audit"], check=False).stdout.strip():
            return False
        configure = ["dpkg", "--configure", "-a", "--force-confdef", "--force-confold"]
        if self.runner.run(configure, check=False, env=_ENVIRONMENT).returncode:
            argv = ["apt-get", "--quiet", "--yes", "--no-remove", "--fix-broken", *_KEEP_CONFIGURATION, "install"]
            self._run(argv, "mending an interrupted installation")
        return True

    def _options(self, began: float) -> list[str]:
        wait = f"DPkg::Lock::Timeout={max(int(self._left(began)), 0)}"
        return ["--no-install-recommends", *_KEEP_CONFIGURATION, *_NETWORK, "-o", wait]

    def _left(self, began: float) -> float:
        return self.lock_timeout - (time.monotonic() - began)

    def _run(self, argv: Sequence[str], doing: str) -> str:
        done = self.runner.run(argv, check=False, env=_ENVIRONMENT)
        if done.returncode:
            raise apt.fault(done.stdout + "\n" + done.stderr, doing)
        return done.stdout
