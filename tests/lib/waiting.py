"""Waits on a condition, with a generous ceiling; nothing in the tests sleeps for a fixed time instead."""

import time
from collections.abc import Callable
from typing import Any

import pymysql


def wait_for(condition: Callable[[], Any], what: str, *, timeout: float = 60.0) -> Any:
    """The first true value of ``condition``; errors of connections count as false."""
    end = time.monotonic() + timeout
    last: object = None
    while time.monotonic() < end:
        try:
            if value := condition():
                return value
        except (OSError, pymysql.err.MySQLError) as failure:
            last = failure
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {timeout:g} s ({last})")
