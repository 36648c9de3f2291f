"""A report for people: the table, and what is wrong in plain words."""

from collections.abc import Iterable

from stackctl import console
from stackctl.errors import FaultError, StackctlError
from stackctl.units import format_seconds
from stackctl.validation.results import Check, Outcome, Report


def show(report: Report) -> None:
    """Print the table on stdout, then every fault, then the counts."""
    if report.checks:
        _table(report)
    for (_, detail), checks in _by_cause(report.faults).items():
        console.say("")
        for check in checks:
            console.say(f"{check.host} {check.role}: {check.title}: failed", style="red")
        console.say("\n".join(f"  {line}" for line in detail.splitlines()))
    for why in report.unreachable.values():
        console.say(f"\n{why}", style="red")
    console.say(f"\n{summary(report)}")


def _table(report: Report) -> None:
    console.print_table(
        ("HOST", "ROLE", "CHECK", "RESULT", "TIME"),
        [
            (check.host, check.role, check.title, _result(check), format_seconds(check.seconds))
            for check in report.checks
        ],
    )


def conclude(report: Report) -> None:
    """Nothing where all is well; StackctlError when a host could not be checked, FaultError when a check failed."""
    if report.unreachable:
        raise StackctlError(f"not every host could be checked: {', '.join(report.unreachable)}")
    if report.faults:
        raise FaultError(f"{len(report.faults)} of {len(report.checks)} checks found a fault")


def summary(report: Report) -> str:
    """The counts in one line."""
    words = [f"{len(report.checks)} checks"]
    words += [f"{report.count(outcome)} {outcome}" for outcome in Outcome if report.count(outcome)]
    if report.unreachable:
        words.append(f"not checked: {', '.join(report.unreachable)}")
    return f"{words[0]}: {', '.join(words[1:])}" if words[1:] else words[0]


def _by_cause(faults: Iterable[Check]) -> dict[tuple[str, str], list[Check]]:
    """The faults of a host that have the same words stand together: they have one cause."""
    found: dict[tuple[str, str], list[Check]] = {}
    for check in faults:
        found.setdefault((check.host, check.detail), []).append(check)
    return found


def _result(check: Check) -> str:
    return f"{check.outcome}: {check.detail}" if check.outcome is Outcome.NOT_SHOWN else str(check.outcome)
