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


_LONGEST = ("test_storage.py", "test_stack.py")
"""These begin, so that two workers end at about the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules that take long come first; the order within a module stays."""
    items.sort(key=lambda item: _LONGEST.index(item.path.name) if item.path.name in _LONGEST else len(_LONGEST))
