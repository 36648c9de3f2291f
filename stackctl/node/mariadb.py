"""MariaDB on a server: its data directory filled once, its accounts and databases as the site wants them."""

import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .errors import NodeError
from .process import Runner
from .running import working_directory

_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
_HOST = re.compile(r"[A-Za-z0-9_.:%/-]{1,255}")
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_CLIENT = ("mariadb", "--no-defaults", "--protocol=socket", "--user=root", "--batch", "--skip-column-names")

_READ = """\
SELECT 'user', User, Host, plugin, authentication_string FROM mysql.user WHERE is_role = 'N';
SELECT 'database', SCHEMA_NAME, (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = SCHEMA_NAME)
  FROM information_schema.SCHEMATA;
SELECT 'grant', User, Host, Db FROM mysql.db WHERE Select_priv = 'Y' AND Insert_priv = 'Y' AND Alter_priv = 'Y'
  AND Drop_priv = 'Y' AND Create_priv = 'Y' AND Index_priv = 'Y' AND Delete_priv = 'Y' AND Update_priv = 'Y';
SELECT 'open', User, Host, Db FROM mysql.db WHERE User = '';
"""


@dataclass(frozen=True)
class Account:
    """A user with its password, who owns one database."""

    name: str
    database: str
    host: str = "%"
    """From where the user may come, in MariaDB's words."""
    password: str = field(default="", repr=False)

    def check(self) -> None:
        """Raise NodeError where a name is not fit for SQL."""
        for word, pattern in ((self.name, _NAME), (self.database, _NAME), (self.host, _HOST)):
            if not pattern.fullmatch(word):
                raise NodeError(f"{word!r} is no name for a database account", kind="input")

    @property
    def digest(self) -> str:
        """What mysql_native_password stores instead of the password."""
        inner = hashlib.sha1(self.password.encode()).digest()  # noqa: S324
        return "*" + hashlib.sha1(inner).hexdigest().upper()  # noqa: S324

    def __str__(self) -> str:
        return f"'{self.name}'@'{self.host}'"


@dataclass(frozen=True)
class Found:
    """Accounts and databases of a running server."""

    users: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict, repr=False)
    """Plugin and stored digest, by user and host."""
    databases: dict[str, int] = field(default_factory=dict)
    """Numbers of tables, by name."""
    grants: frozenset[tuple[str, str, str]] = frozenset()
    """User, host and database (with MariaDB's escapes) where all may be done."""
    open_to_all: bool = False
    """Rights on databases for users without a name."""


@dataclass(frozen=True)
class Statement:
    """A change: SQL, and what to call it, without secrets."""

    what: str
    sql: str = field(repr=False)


def plan(accounts: Sequence[Account], found: Found) -> list[Statement]:
    """What is left to do; nothing where all is as it should be.

    Nameless users, root from elsewhere and an empty database `test` go; a `test` that holds tables stays.
    """
    due: list[Statement] = []
    for user, host in sorted(found.users):
        if user == "" or (user == "root" and host not in _LOCAL):
            due.append(Statement(f"drop user '{user}'@'{host}'", f"DROP USER '{_quote(user)}'@'{_quote(host)}';"))
    if found.open_to_all:
        sql = "DELETE FROM mysql.db WHERE User = ''; FLUSH PRIVILEGES;"
        due.append(Statement("revoke the rights of nameless users", sql))
    if found.databases.get("test") == 0 and "test" not in {account.database for account in accounts}:
        due.append(Statement("drop the empty database test", "DROP DATABASE `test`;"))
    for account in accounts:
        account.check()
        if account.database not in found.databases:
            sql = f"CREATE DATABASE IF NOT EXISTS `{account.database}` CHARACTER SET utf8mb4;"
            due.append(Statement(f"create database {account.database}", sql))
        due.extend(_user(account, found))
        pattern = account.database.replace("_", r"\_")
        if not {(account.name, account.host, db) for db in (pattern, account.database)} & found.grants:
            sql = f"GRANT ALL PRIVILEGES ON `{pattern}`.* TO {account};"
            due.append(Statement(f"grant all on {account.database} to {account}", sql))
    return due


def _user(account: Account, found: Found) -> list[Statement]:
    identified = f"IDENTIFIED VIA mysql_native_password USING '{account.digest}'"
    known = found.users.get((account.name, account.host))
    if known is None:
        return [Statement(f"create user {account}", f"CREATE USER {account} {identified};")]
    if known != ("mysql_native_password", account.digest):
        return [Statement(f"set the password of {account}", f"ALTER USER {account} {identified};")]
    return []


@dataclass(frozen=True)
class Server:
    """The MariaDB server of this machine, spoken to as root over its socket; SQL goes in by stdin."""

    runner: Runner
    socket: Path = Path("/run/mysqld/mysqld.sock")

    def read(self) -> Found:
        """What accounts and databases there are."""
        users, databases, grants, open_to_all = {}, {}, set(), False
        for line in self._ask(_READ).splitlines():
            kind, *words = line.split("\t")
            if kind == "user":
                users[words[0], words[1]] = (words[2], words[3])
            elif kind == "database":
                databases[words[0]] = int(words[1])
            elif kind == "grant":
                grants.add((words[0], words[1], words[2].replace("\\\\", "\\")))
            else:
                open_to_all = True
        return Found(users, databases, frozenset(grants), open_to_all)

    def ensure(self, accounts: Sequence[Account], *, check: bool = False) -> list[str]:
        """Bring accounts and databases into order; return what was done (in check mode: would be)."""
        for account in accounts:
            account.check()
        if check and not self.socket.exists():
            return [statement.what for statement in plan(accounts, Found())]
        due = plan(accounts, self.read())
        if due and not check:
            self._ask("\n".join(statement.sql for statement in due))
        return [statement.what for statement in due]

    def _ask(self, sql: str) -> str:
        done = self.runner.run([*_CLIENT, f"--socket={self.socket}"], check=False, input=sql)
        if done.returncode:
            said = re.sub(r"'\*[0-9A-F]{40}'", "'***'", done.stderr.strip())
            raise NodeError(f"MariaDB refused: {said}", hint="journalctl -u mariadb shows more")
        return done.stdout


def initialise(
    runner: Runner, directory: Path, *, user: str = "mysql", check: bool = False, proc: Path = Path("/proc")
) -> bool:
    """Fill an empty data directory with MariaDB's own tables; return whether that was (would be) needed.

    It is filled beside its place and moved there when whole, so that a power cut leaves it empty or full.
    Refuses a directory that holds anything else, and an empty one while the server runs on data elsewhere.
    """
    if is_initialised(directory):
        return False
    if (
        (current := working_directory("mariadbd", proc))
        and current != directory.resolve()
        and _holds_databases(current)
    ):
        raise NodeError(
            f"MariaDB runs with its data in {current}, and {directory} is empty",
            kind="refused",
            hint=f"stop MariaDB and move the data to {directory}, or name {current} as database_data_directory",
        )
    if check:
        return True
    fresh = directory.with_name(f".{directory.name}.new")
    if fresh.exists():
        shutil.rmtree(fresh)
    directory.parent.mkdir(parents=True, exist_ok=True)
    argv = ["mariadb-install-db", "--no-defaults", f"--user={user}", f"--datadir={fresh}", "--skip-test-db"]
    argv += ["--skip-name-resolve", "--auth-root-authentication-method=socket", "--auth-root-socket-user=root"]
    done = runner.run(argv, check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        said = "\n".join([line for line in lines if "ERROR" in line] or lines[-5:])
        raise NodeError(f"mariadb-install-db could not fill {fresh}: {said}")
    fresh.chmod(0o750)
    fresh.replace(directory)
    return True


def _holds_databases(directory: Path) -> bool:
    """Whether there is more than MariaDB's own; the fresh server of Debian's package has no more."""
    folders = {path.name for path in directory.iterdir() if path.is_dir()} if directory.is_dir() else set()
    return bool(folders - {"mysql", "performance_schema", "sys", "test", "lost+found"})


def is_initialised(directory: Path) -> bool:
    """Whether the directory holds MariaDB's tables; False when it is absent or empty.

    Raises NodeError of kind ``refused`` when it holds anything else.
    """
    if directory.is_mount():
        raise NodeError(f"{directory} is itself a mount point; name a folder below it", kind="input")
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    if not names:
        return False
    if "mysql.ibd" in names:
        raise NodeError(f"{directory} holds the data of a MySQL server", kind="refused", hint=_FOREIGN_HINT)
    if {"mysql", "ibdata1"} <= names:
        return True
    shown = ", ".join(sorted(names)[:5])
    raise NodeError(f"{directory} holds no MariaDB data but {shown}", kind="refused", hint=_FOREIGN_HINT)


_FOREIGN_HINT = "move it away, or name another folder as database_data_directory"


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "''")
