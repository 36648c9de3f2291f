"""The edges of Gearman that need no server."""

import pytest

from stacksearch.config import QueueConfig
from stacksearch.gear import Client


@pytest.mark.parametrize("unique", ["", "x" * 65, "ü" * 33])
def test_a_unique_that_would_hang_the_call_is_refused(unique: str) -> None:
    with pytest.raises(ValueError, match="64 bytes"):
        Client(QueueConfig(servers=())).wake("fetch", unique)
