"""Every server: nothing listens beyond what the site says."""

from stackctl.validation import expect, listening
from stackctl.validation.inventory import Target
from stackctl.validation.system import System


def test_nothing_beyond_the_site(system: System, target: Target) -> None:
    """Nothing listens that neither the site nor `validation_listeners` names."""
    expect.nothing(listening.beyond(target, system))
