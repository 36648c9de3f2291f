"""The database engines there are: a role named ``database_ENGINE`` each."""

from pathlib import Path

from stackctl import paths

_PREFIX = "database_"


def database_engines(roles: Path | None = None) -> tuple[str, ...]:
    """Names of the engines in a folder of roles (the shipped one without it), in order."""
    folder = roles or paths.data("playbooks", "roles")
    found = folder.glob(f"{_PREFIX}*/tasks/main.yml")
    return tuple(sorted(path.parents[1].name.removeprefix(_PREFIX) for path in found))
