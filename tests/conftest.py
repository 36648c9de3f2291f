"""Options and helpers that all tests share."""

import os
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

import hypothesis
import pytest

T = TypeVar("T")

# What these assert for the tests is told as fully as what the tests assert themselves.
pytest.register_assert_rewrite("tests.breakages", "tests.lib.applied", "tests.lib.container")

# A busy machine is no fault of the code.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--exhaustive", action="store_true", help="run whole matrices instead of a sample of each")
    parser.addoption("--sample-seed", type=int, default=None, help="draw the same sample as an earlier run")


def pytest_configure(config: pytest.Config) -> None:
    seed = config.getoption("--sample-seed")
    if seed is None:
        # one seed a run, the same in every worker of pytest-xdist
        seed = int(os.environ.setdefault("STACKCTL_SAMPLE_SEED", str(random.SystemRandom().randrange(10**9))))
    config.stash[_SEED] = seed


def pytest_report_header(config: pytest.Config) -> str:
    kind = "whole matrices" if config.getoption("--exhaustive") else f"samples, --sample-seed={config.stash[_SEED]}"
    return f"matrices: {kind}"


_SEED = pytest.StashKey[int]()


def seed_of(config: pytest.Config) -> int:
    """The seed of this run."""
    return config.stash[_SEED]


def draw(config: pytest.Config, name: str, items: Sequence[T], count: int) -> list[T]:
    """All items with --exhaustive, else ``count`` of them, drawn by this run's seed and ``name``, in their order."""
    if config.getoption("--exhaustive") or count >= len(items):
        return list(items)
    chosen = random.Random(f"{config.stash[_SEED]}:{name}").sample(range(len(items)), count)
    return [items[index] for index in sorted(chosen)]


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Callable[[Sequence[T], int], list[T]]:
    """``sample(items, n)``: a fair sample of a matrix, everything with --exhaustive."""
    return lambda items, count: draw(request.config, request.node.nodeid, items, count)
