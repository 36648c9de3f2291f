"""What validation found: checks, and the report over them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from stackctl.errors import ExitCode


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_SHOWN = "not shown"
    """The check could not be made here, and says why; it proves nothing."""


@dataclass(frozen=True)
class Check:
    """One check on one host. ``detail`` says in plain words what is wrong, or why it was not made."""

    host: str
    role: str
    name: str
    title: str
    outcome: Outcome
    seconds: float = 0.0
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        """A plain mapping; ``from_json`` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Check":
        """What ``to_json`` wrote."""
        check = cls(**value)
        return replace(check, outcome=Outcome(check.outcome))


@dataclass(frozen=True)
class Report:
    """All checks of one run. ``unreachable`` tells why a host could not be checked, by its name."""

    site: str
    checks: tuple[Check, ...]
    unreachable: Mapping[str, str]
    seconds: float

    @property
    def faults(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.outcome is Outcome.FAILED)

    @property
    def exit_code(self) -> ExitCode:
        """FAILED when a host could not be checked, FAULT when a check failed, else DONE."""
        if self.unreachable:
            return ExitCode.FAILED
        return ExitCode.FAULT if self.faults else ExitCode.DONE

    def count(self, outcome: Outcome) -> int:
        """How many checks ended so."""
        return Counter(check.outcome for check in self.checks)[outcome]

    def to_json(self) -> dict[str, Any]:
        """What ``validate --json`` prints."""
        return {
            "site": self.site,
            "exit_code": int(self.exit_code),
            "seconds": round(self.seconds, 3),
            "counts": {str(outcome): self.count(outcome) for outcome in Outcome},
            "unreachable": dict(self.unreachable),
            "checks": [check.to_json() for check in self.checks],
        }


def empty_suites(host: str, roles: Iterable[str], checks: Iterable[Check]) -> tuple[Check, ...]:
    """A fault for every suite of the host that made no check: silence is no proof."""
    made = {check.role for check in checks if check.outcome is not Outcome.NOT_SHOWN}
    return tuple(
        Check(host, role, "suite", "the suite makes checks", Outcome.FAILED, detail="no check of this suite was made")
        for role in roles
        if role not in made
    )
