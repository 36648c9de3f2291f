"""What the move has to know of an engine; each engine is a module that says it, and a line in ``engines``."""

from collections.abc import Callable
from dataclasses import dataclass

from stackctl.database.connection import Connection
from stackctl.database.ddl import Dialect
from stackctl.database.facts import SchemaFacts
from stackctl.database.schema import Collation, Column
from stackctl.database.session import Session


@dataclass(frozen=True)
class Engine:
    """An engine."""

    name: str
    wire: type[Connection]
    opening: tuple[str, ...]
    """What every connection begins with."""
    reading: tuple[str, ...]
    """What a connection that reads begins with, too."""
    writing: tuple[str, ...]
    """What a connection that writes begins with, too: as strict as the engine can be."""
    snapshot: tuple[str, ...]
    """Begins a transaction that sees the database as it is now, however long it reads."""
    read_schema: Callable[[Session, str], SchemaFacts]
    """Reads a schema of this name."""
    dialect: Dialect
    new_database: Callable[[str], str]
    """The statement that makes a database."""
    compared: Callable[[str, Collation], str]
    """The SQL of a text as another collation of the subset compares it."""
    whole: Callable[[Column, str], str]
    """The SQL that tells a value of a column to its last digit, of the SQL that reads it."""
    ordered_kinds: frozenset[str]
    """Kinds of columns by whose order a table can be read piece by piece."""
