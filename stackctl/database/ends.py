"""The two ends of a move on a site: its database as it is today, and another engine beside it or on another host."""

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from stackctl.database.engines import engine
from stackctl.database.session import Server
from stackctl.database.tunnel import tunnel
from stackctl.errors import InputError, StackctlError
from stackctl.site.document import shown
from stackctl.site.listeners import own_address
from stackctl.site.load import OpenSite
from stackctl.site.messages import did_you_mean
from stackctl.site.secrets import Secret, Secrets
from stackctl.validation import inventory
from stackctl.validation.inventory import Target

TARGET_PORT = 3307
"""Where the other engine listens on the host of today's database, unless the operator says otherwise."""

_SSH_VARIABLES = (
    "ansible_host",
    "ansible_port",
    "ansible_user",
    "ansible_ssh_common_args",
    "ansible_ssh_private_key_file",
)


@dataclass(frozen=True)
class OnSite:
    """Which of a site's databases is moved to where; what is not said follows from the site."""

    to: str
    """The engine."""
    database: str | None = None
    host: str | None = None
    target_host: str | None = None
    target_port: int | None = None


@contextlib.contextmanager
def on_site(site: OpenSite, wanted: OnSite) -> Iterator[tuple[Server, Server]]:
    """Source and target, reached through SSH as long as the block runs.

    Raises InputError where the site has no such ends, StackctlError where they cannot be reached.
    """
    hosts = {target.name: target for target in inventory.read(site.file) if "database" in target.groups}
    source, target = ends_of(hosts, wanted, Secrets(site.directory))
    with ExitStack() as stack:
        yield stack.enter_context(_reached(source)), stack.enter_context(_reached(target))


@dataclass(frozen=True)
class End:
    """An end of a move before it is reached: a server as its own host sees it."""

    host: Target
    server: Server


def ends_of(hosts: Mapping[str, Target], wanted: OnSite, secrets: Secrets) -> tuple[End, End]:
    """Source and target among the hosts that carry a database. Raises InputError, StackctlError."""
    source = _host(hosts, wanted.host, "--host")
    target = _host(hosts, wanted.target_host or source.name, "--target-host")
    there = str(source["database_engine"])
    engine(wanted.to), engine(there)
    beside = target.name == source.name
    if beside and there == wanted.to:
        raise InputError(
            f"the database on {source.name} is {there} already",
            hint="--target-host names another host of the site to move it to",
        )
    if not beside and target["database_engine"] != wanted.to:
        raise InputError(
            f"{target.name} carries {target['database_engine']}, not {wanted.to}",
            hint=f"set database_engine: {wanted.to} for it in host_vars/{target.name}.yml, and apply",
        )
    account = _account(source, wanted.database)
    password = secrets.find(f"database_{account['name']}_password")
    if password is None:
        raise StackctlError(
            f"{shown(secrets.file)} holds no password of the database account {account['name']}",
            hint="run this where `stackctl apply` was run, or bring that file and the vault password",
        )
    port = wanted.target_port or (TARGET_PORT if beside else int(target["database_port"]))
    if beside and port == int(source["database_port"]):
        raise InputError(
            f"both engines on {source.name} cannot listen on port {port}", hint="--target-port names the other one"
        )
    return (
        End(source, _server(source, there, int(source["database_port"]), account, password)),
        End(target, _server(target, wanted.to, port, account, password)),
    )


def _host(hosts: Mapping[str, Target], name: str | None, option: str) -> Target:
    if name is None and len(hosts) == 1:
        return next(iter(hosts.values()))
    if not hosts:
        raise InputError("no host of this site carries a database")
    if name is None:
        raise InputError(f"several hosts carry a database: {', '.join(hosts)}", hint=f"{option} names one of them")
    if name not in hosts:
        raise InputError(f"{option} {name}: no such host carries a database; {did_you_mean(name, tuple(hosts))}")
    return hosts[name]


def _account(host: Target, database: str | None) -> Mapping[str, Any]:
    accounts: list[Mapping[str, Any]] = list(host["database_accounts"])
    if not accounts:
        raise InputError(f"{host.name} has no database_accounts, so there is nothing to move")
    if database is None:
        if len({account["database"] for account in accounts}) > 1:
            names = ", ".join(dict.fromkeys(str(account["database"]) for account in accounts))
            raise InputError(f"{host.name} has several databases: {names}", hint="--database names one of them")
        return accounts[0]
    for account in accounts:
        if account["database"] == database:
            return account
    known = tuple(str(account["database"]) for account in accounts)
    raise InputError(f"--database {database}: no account of {host.name} owns it; {did_you_mean(database, known)}")


def _server(host: Target, engine_name: str, port: int, account: Mapping[str, Any], password: Secret) -> Server:
    return Server(
        engine_name,
        str(account["name"]),
        password,
        str(account["database"]),
        own_address(str(host["database_listen"])),
        port,
        label=f"{host.name}:{port}",
    )


@contextlib.contextmanager
def _reached(end: End) -> Iterator[Server]:
    """The server as it is reached from here."""
    if end.host.get("ansible_connection", "ssh") == "local":
        yield end.server
        return
    variables = {name: value for name in _SSH_VARIABLES if (value := end.host.get(name)) is not None}
    variables.setdefault("ansible_host", end.host.name)
    with tunnel(end.host.name, variables, end.server.host, end.server.port) as path:
        yield replace(end.server, socket=path)
