"""The engines that a schema can be moved between, by the name that a site has for them."""

from stackctl.database.drizzle import DRIZZLE
from stackctl.database.engine import Engine
from stackctl.database.mariadb import MARIADB
from stackctl.database.session import Server, Session
from stackctl.errors import InputError

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (MARIADB, DRIZZLE)}


def engine(name: str) -> Engine:
    """The engine of this name. Raises InputError for one that nothing can be moved from or to."""
    if name not in ENGINES:
        raise InputError(
            f"the engine {name} is none that a schema can be moved from or to", hint=f"known: {', '.join(ENGINES)}"
        )
    return ENGINES[name]


def reader(server: Server) -> Session:
    """A connection that reads. Raises ServerError."""
    of = engine(server.engine)
    return Session(server, of.wire, (*of.opening, *of.reading))


def writer(server: Server) -> Session:
    """A connection that writes. Raises ServerError."""
    of = engine(server.engine)
    return Session(server, of.wire, (*of.opening, *of.writing))
