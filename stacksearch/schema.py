"""The tables, and the migrations that make them.

DDL is never part of a transaction (Drizzle refuses it there), so each migration is a list of statements that may
all be run again after a kill.
"""

from stacksearch.database import Database, statement
from stacksearch.errors import StacksearchError

_VERSIONS = statement("""
    CREATE TABLE IF NOT EXISTS migration (
        version INT NOT NULL,
        applied BIGINT NOT NULL,
        PRIMARY KEY (version)
    ) ENGINE=InnoDB
""")
_APPLIED = statement("SELECT COALESCE(MAX(version), 0) FROM migration")
_RECORD = statement("INSERT IGNORE INTO migration (version, applied) VALUES (%s, UNIX_TIMESTAMP())")
_HAS_TABLE = statement("SHOW TABLES LIKE 'migration'")

_URL = statement("""
    CREATE TABLE IF NOT EXISTS url (
        id BIGINT NOT NULL AUTO_INCREMENT,
        digest VARCHAR(32) NOT NULL,
        address VARCHAR(2048) NOT NULL,
        state ENUM('queued', 'fetching', 'fetched', 'stored', 'done', 'failed') NOT NULL,
        moment BIGINT NOT NULL,
        depth INT NOT NULL,
        seed INT NOT NULL,
        generation INT NOT NULL,
        attempts INT NOT NULL,
        lease VARCHAR(64) NOT NULL,
        document BIGINT,
        reason VARCHAR(250) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE KEY digest (digest),
        KEY due (state, moment),
        KEY document (document)
    ) ENGINE=InnoDB
""")
_DOCUMENT = statement("""
    CREATE TABLE IF NOT EXISTS document (
        id BIGINT NOT NULL AUTO_INCREMENT,
        digest VARCHAR(32) NOT NULL,
        title VARCHAR(300) NOT NULL,
        size INT NOT NULL,
        added BIGINT NOT NULL,
        indexed INT NOT NULL,
        PRIMARY KEY (id),
        UNIQUE KEY digest (digest)
    ) ENGINE=InnoDB
""")
_PART = statement("""
    CREATE TABLE IF NOT EXISTS document_part (
        document BIGINT NOT NULL,
        part INT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (document, part)
    ) ENGINE=InnoDB
""")

MIGRATIONS: tuple[tuple[str, ...], ...] = ((_URL, _DOCUMENT, _PART),)
"""Statements by version; version N is the entry N - 1."""

LATEST = len(MIGRATIONS)


def version(database: Database) -> int:
    """The version of the schema; 0 before the first migration."""
    if not database.read(_HAS_TABLE):
        return 0
    return int(database.read(_APPLIED)[0][0])


def migrate(database: Database) -> list[int]:
    """Bring the schema to the latest version; gives the versions that were applied."""
    applied = version(database)
    if applied > LATEST:
        raise StacksearchError(
            f"the database's schema is version {applied}, newer than this release's {LATEST}",
            hint="install the newer release again, or restore an older backup",
        )
    if applied == 0:
        database.define(_VERSIONS)
    done = []
    for number in range(applied + 1, LATEST + 1):
        for sql in MIGRATIONS[number - 1]:
            database.define(sql)
        database.write(_RECORD, (number,))
        done.append(number)
    return done
