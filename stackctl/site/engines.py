"""The database engines there are: a role ``database_ENGINE`` each, with what is known of it outside of the role."""

from functools import cache
from pathlib import Path

import yaml

from stackctl import paths
from stackctl.errors import InputError
from stackctl.site.models import Model

_PREFIX = "database_"


class EnginePort(Model):
    """A port of an engine beside that of the MySQL protocol; it has the same address."""

    what: str
    """What it is, in plain words."""
    variable: str
    """The role's variable with the port."""


class Engine(Model):
    """An engine as ``engine.yml`` of its role tells it."""

    title: str
    """The name that people know."""
    unit: str
    """The systemd unit that runs it."""
    process: str
    """The name of its process."""
    ports: tuple[EnginePort, ...] = ()
    """Ports beside ``database_port``."""


def database_engines(roles: Path | None = None) -> dict[str, Engine]:
    """The engines in a folder of roles (the shipped one without it), by name and in its order."""
    return _read(roles or paths.data("playbooks", "roles"))


def database_engine(name: str) -> Engine:
    """A shipped engine; InputError where there is none of that name."""
    known = database_engines()
    if name not in known:
        raise InputError(f"database_engine: {name} is no engine", hint=f"known are {', '.join(known)}")
    return known[name]


@cache
def _read(folder: Path) -> dict[str, Engine]:
    files = sorted(folder.glob(f"{_PREFIX}*/engine.yml"), key=lambda file: file.parent.name)
    return {
        file.parent.name.removeprefix(_PREFIX): Engine.model_validate(yaml.safe_load(file.read_text()))
        for file in files
    }
