"""What the tests on virtual machines share: a place of their own for everything that they leave behind."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl import paths


@pytest.fixture(scope="session", autouse=True)
def private_state() -> Iterator[Path]:
    """Machines, records and passwords of the tests: nothing of the operator's is touched. The path is short."""
    if "STACKCTL_TEST_STACK" in os.environ:
        yield paths.state()
        return
    with tempfile.TemporaryDirectory(prefix="vm-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", f"{folder}/state")
        patch.setenv("XDG_CONFIG_HOME", f"{folder}/config")
        yield paths.state()
