"""The databases of Drizzle's accounts; the accounts themselves are lines of the file that auth_file reads."""

import re
from collections.abc import Sequence

from . import drizzle_wire
from .errors import NodeError

NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
"""Of an account or a database."""


def ensure(host: str, port: int, accounts: Sequence[tuple[str, str, str]], *, check: bool = False) -> list[str]:
    """Make each account's database (name, database, password); return what was done, or in check mode would be.

    Every account logs in itself: there is no GRANT, whoever is let in may make a database.
    """
    done = []
    for name, database, password in accounts:
        if not NAME.fullmatch(database):
            raise NodeError(f"{database!r} is no name for a database", kind="input")
        try:
            with drizzle_wire.Client(host, port, name, password) as client:
                if _has(client, database):
                    continue
                done.append(f"create database {database}")
                if not check:
                    client.query(f"CREATE SCHEMA IF NOT EXISTS {database}")
                    client.use(database)
        except drizzle_wire.WireError as refusal:
            raise NodeError(f"Drizzle refused {name}: {refusal}", hint="journalctl -u drizzled shows more") from None
        except OSError as error:
            if not check:
                raise NodeError(
                    f"Drizzle does not answer on {host}:{port}: {error}", hint="journalctl -u drizzled shows why"
                ) from None
            done.append(f"create database {database}")
    return done


def _has(client: drizzle_wire.Client, database: str) -> bool:
    try:
        client.use(database)
    except drizzle_wire.WireError as refusal:
        if refusal.code != drizzle_wire.NO_DATABASE:
            raise
        return False
    return True
