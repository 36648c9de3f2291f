"""Thin doors to functions of the package, for templates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackctl.site.engines import database_engines


def stackctl_database_engines(roles: str) -> dict[str, dict[str, Any]]:
    """The database engines in a folder of roles: by name, what is known of each."""
    return {name: engine.model_dump() for name, engine in database_engines(Path(roles)).items()}


class FilterModule:
    """The filters by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """What Ansible asks for."""
        return {"stackctl_database_engines": stackctl_database_engines}
