"""A row through the database over TCP, and whether it turns a wrong password away."""

import secrets
from collections.abc import Callable
from typing import Any

from stackctl.node.process import Result, Runner, SystemRunner

SECONDS = 30.0

_TEXT = "naïve 🦀 日本"
"""Text with characters of two, three and four bytes."""


class DatabaseError(Exception):
    """The database does not do what was asked."""


def examine(
    host: str, port: int, user: str, database: str, password: str | None, runner: Runner | None = None
) -> dict[str, Any]:
    """What went wrong with a row and with turning wrong passwords away (None: nothing), and the data directory.

    Without a password nothing can be ``asked``, and only the refusal is looked at.
    """
    client = _Client(host, port, user, database, runner or SystemRunner())
    found: dict[str, Any] = {"asked": password is not None, "row": None, "directory": None}
    if password is not None:
        found["row"] = _attempt(lambda: _row(client, password))
        if found["row"] is None:
            found["directory"] = client.ask(password, "SELECT @@datadir").rstrip("/")
    return found | {"refusal": _attempt(lambda: _refusal(client))}


def _attempt(work: Callable[[], None]) -> str | None:
    try:
        work()
    except DatabaseError as failure:
        return str(failure)
    return None


class _Client:
    """The command-line client; each call is a connection of its own."""

    def __init__(self, host: str, port: int, user: str, database: str, runner: Runner) -> None:
        self.words = [
            "--protocol=tcp",
            f"--host={host}",
            f"--port={port}",
            f"--user={user}",
            f"--database={database}",
        ]
        self.runner = runner

    def run(self, password: str, sql: str) -> Result:
        # the password goes through a pipe: neither the argument list nor a file ever holds it
        return self.runner.run(
            [
                "mariadb",
                "--defaults-extra-file=/dev/stdin",
                *self.words,
                "--connect-timeout=10",
                "--default-character-set=utf8mb4",
                "--batch",
                "--skip-column-names",
                f"--execute={sql}",
            ],
            check=False,
            input=f'[client]\npassword="{_quoted(password)}"\n',
            timeout=SECONDS,
        )

    def ask(self, password: str, sql: str) -> str:
        result = self.run(password, sql)
        if result.returncode:
            raise DatabaseError(_last_line(result.stderr))
        return result.stdout.strip()


def _row(client: _Client, password: str) -> None:
    table = f"stackctl_validate_{secrets.token_hex(8)}"
    try:
        client.ask(
            password,
            f"CREATE TABLE {table} (id INT NOT NULL PRIMARY KEY, words VARCHAR(40)) ENGINE=InnoDB;"
            f"INSERT INTO {table} VALUES (1, '{_TEXT}')",
        )
        read = client.ask(password, f"SELECT words, CHAR_LENGTH(words) FROM {table} WHERE id = 1")
        if read != f"{_TEXT}\t{len(_TEXT)}":
            raise DatabaseError(f"the row was written as {_TEXT!r} and is read as {read!r}")
        left = client.ask(password, f"DELETE FROM {table} WHERE id = 1; SELECT COUNT(*) FROM {table}")
        if left != "0":
            raise DatabaseError("the row was deleted and is still there")
    finally:
        client.run(password, f"DROP TABLE IF EXISTS {table}")


def _refusal(client: _Client) -> None:
    for kind, password in (("a wrong password", secrets.token_hex(16)), ("an empty password", "")):
        result = client.run(password, "SELECT 1")
        if result.returncode == 0:
            raise DatabaseError(f"{kind} is let in")
        if "1045" not in result.stderr:
            raise DatabaseError(f"{kind} is not refused in the usual way: {_last_line(result.stderr)}")


def _quoted(password: str) -> str:
    return password.replace("\\", "\\\\").replace('"', '\\"')


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "the client gave no reason"
