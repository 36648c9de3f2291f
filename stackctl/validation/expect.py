"""How checks speak: what is wrong, a line each, and why a check was not made."""

from collections.abc import Iterable, Sequence

import pytest

from stackctl.validation.system import System


def nothing(wrong: Iterable[str | None]) -> None:
    """Fail with everything that is wrong; None and no words at all are fine."""
    __tracebackhide__ = True
    lines = [words for words in wrong if words is not None]
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


def running(system: System, units: Sequence[str]) -> None:
    """Go on only where the units run; where they do not, the check that says so has failed already."""
    __tracebackhide__ = True
    if stopped := [name for name in units if system.units[name].wrong_now() is not None]:
        pytest.skip(f"{', '.join(stopped)} does not run")
