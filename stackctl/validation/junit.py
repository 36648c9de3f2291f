"""A report as JUnit XML, which CI systems read."""

from pathlib import Path
from xml.etree import ElementTree

from stackctl.errors import InputError
from stackctl.validation.results import Check, Outcome, Report


def writable(file: Path) -> None:
    """Refuse, before the work, a file that could not be written after it: InputError."""
    if not file.parent.is_dir() or file.is_dir():
        raise InputError(f"--junit {file}: {'is a folder' if file.is_dir() else f'there is no folder {file.parent}'}")


def write(report: Report, file: Path) -> None:
    """Write the report; InputError when the file cannot be written."""
    document = ElementTree.ElementTree(render(report))
    ElementTree.indent(document)
    try:
        document.write(file, encoding="utf-8", xml_declaration=True)
    except OSError as failure:
        raise InputError(f"--junit {file}: {failure.strerror}") from None


def render(report: Report) -> ElementTree.Element:
    """One ``testsuite`` a host; a host that could not be checked is an ``error``."""
    root = ElementTree.Element("testsuites", name=f"stackctl validate {report.site}", time=f"{report.seconds:.3f}")
    hosts = dict.fromkeys([check.host for check in report.checks] + list(report.unreachable))
    for host in hosts:
        checks = [check for check in report.checks if check.host == host]
        gone = report.unreachable.get(host)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=host,
            tests=str(len(checks) + (gone is not None)),
            failures=str(_count(checks, Outcome.FAILED)),
            skipped=str(_count(checks, Outcome.NOT_SHOWN)),
            errors=str(int(gone is not None)),
            time=f"{sum(check.seconds for check in checks):.3f}",
        )
        for check in checks:
            _case(suite, check)
        if gone is not None:
            case = ElementTree.SubElement(suite, "testcase", classname=f"{host}.connection", name="can be reached")
            ElementTree.SubElement(case, "error", message=_text(gone))
    return root


def _case(suite: ElementTree.Element, check: Check) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=f"{check.host}.{check.role}",
        name=check.title,
        time=f"{check.seconds:.3f}",
    )
    if check.outcome is Outcome.FAILED:
        ElementTree.SubElement(case, "failure", message=_text(check.detail))
    elif check.outcome is Outcome.NOT_SHOWN:
        ElementTree.SubElement(case, "skipped", message=_text(check.detail))


def _count(checks: list[Check], outcome: Outcome) -> int:
    return sum(1 for check in checks if check.outcome is outcome)


def _text(text: str) -> str:
    """The text without the control characters that XML 1.0 has no word for."""
    return "".join(letter if letter.isprintable() or letter in "\t\n" else "�" for letter in text)
