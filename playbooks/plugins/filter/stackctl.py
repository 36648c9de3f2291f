"""Thin doors to functions of the package, for templates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackctl.site.engines import database_engines


def stackctl_database_engines(roles: str) -> list[str]:
    """Names of the database engines in a folder of roles."""
    return list(database_engines(Path(roles)))


class FilterModule:
    """The filters by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """What Ansible asks for."""
        return {"stackctl_database_engines": stackctl_database_engines}
