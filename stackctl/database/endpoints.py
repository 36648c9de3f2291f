"""Two database servers described in a file of the operator's: where to move from and where to move to."""

import os
import stat
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from stackctl.database.engines import ENGINES
from stackctl.database.session import Server
from stackctl.errors import InputError
from stackctl.site.document import Document, Problem, read, shown
from stackctl.site.messages import did_you_mean
from stackctl.site.secrets import Secret
from stackctl.site.values import Address, Port, Text

EXAMPLE = """\
source: {engine: mariadb, host: 192.0.2.11, port: 3306, user: app, password: …, database: app}
target: {engine: drizzle, socket: /run/drizzle.sock, user: app, password: …, database: app}
"""


def _secret(value: object) -> Secret:
    if not isinstance(value, str):
        raise ValueError("must be text; write it in quotes")
    return Secret(value)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Endpoint(_Model):
    """A database server, the account that reads or writes there, and its database."""

    engine: str
    """`mariadb` or `drizzle`."""
    host: Address = "127.0.0.1"
    """Name or address."""
    port: Port = 3306
    """The port of the MySQL protocol."""
    socket: Text | None = None
    """A Unix socket instead of host and port."""
    user: Text
    """The account."""
    password: Annotated[Secret, BeforeValidator(_secret)] = Field(default=Secret(""))
    """Its password."""
    database: Text
    """The database; at the target it is made where it is missing."""

    @model_validator(mode="after")
    def _one_way(self) -> "Endpoint":
        if self.engine not in ENGINES:
            raise ValueError(f"{self.engine} is no engine; {did_you_mean(self.engine, tuple(ENGINES))}")
        if self.socket is not None and self.model_fields_set & {"host", "port"}:
            raise ValueError("a socket takes the place of host and port; leave those out")
        return self

    def server(self) -> Server:
        """The server."""
        return Server(self.engine, self.user, self.password, self.database, self.host, self.port, self.socket)


class Endpoints(_Model):
    """Both ends of a move."""

    source: Endpoint
    target: Endpoint


def read_endpoints(file: Path) -> Endpoints:
    """The ends in a file that only its owner can read. Raises InputError with all that is wrong with it."""
    try:
        mode = file.stat()
    except OSError as failure:
        raise InputError(f"{shown(file)} cannot be read: {failure.strerror}") from None
    if mode.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or mode.st_uid not in (os.geteuid(), 0):
        raise InputError(f"{shown(file)} holds passwords and is open to others", hint=f"chmod 600 {shown(file)}")
    document = read(file)
    problems = list(document.problems)
    if document.value is not None:
        try:
            ends = Endpoints.model_validate(document.value)
        except ValidationError as failure:
            problems += [_problem(error, document) for error in failure.errors(include_url=False)]
        else:
            if not problems:
                return ends
    lines = "\n".join(str(problem) for problem in sorted(problems, key=lambda problem: problem.line))
    raise InputError(f"the ends of the move cannot be used:\n{lines}", hint=f"such a file is:\n{EXAMPLE}")


def _problem(error: ErrorDetails, document: Document) -> Problem:
    """What is wrong, at its line; never with the value, which may be a password."""
    path = error["loc"]
    match error["type"]:
        case "missing":
            return document.problem(path, "is missing")
        case "extra_forbidden":
            known: dict[str, Any] = (Endpoint if len(path) > 1 else Endpoints).model_fields
            return document.problem(path, f"is not a known key; {did_you_mean(str(path[-1]), tuple(known))}")
        case "value_error":
            return document.problem(path, str(error["ctx"]["error"]))
        case _:
            return document.problem(path, error["msg"].lower())
