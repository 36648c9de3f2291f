"""The servers to check with their variables, as Ansible's own inventory tells them."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from stackctl import paths
from stackctl.apply.environment import ansible_environment
from stackctl.errors import InputError, StackctlError
from stackctl.process import ProcessError, Runner, SystemRunner


@dataclass(frozen=True)
class Target:
    """One server: its name, the groups it is in, and the variables that Ansible would see for it.

    ``peers`` are the other hosts of each of its groups.
    """

    name: str
    groups: frozenset[str]
    variables: Mapping[str, Any]
    peers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def get(self, name: str, default: object = None) -> Any:
        """The value of a variable, ``default`` without one.

        What the inventory does not say comes from the defaults of our roles for the host's groups;
        Jinja expressions are evaluated by Ansible.
        """
        variables = self._with_defaults()
        if name not in variables:
            return default
        value = variables[name]
        return _evaluate(variables, name) if _is_template(value) else _decoded(value, str)

    def __getitem__(self, name: str) -> Any:
        """The value of a variable that has to be there; StackctlError without it."""
        missing = object()
        value = self.get(name, missing)
        if value is missing:
            raise StackctlError(f"{self.name}: the inventory gives no {name}", hint="stackctl check reads the site")
        return value

    def _with_defaults(self) -> dict[str, Any]:
        defaults: dict[str, Any] = {}
        for group in sorted(self.groups):
            defaults |= role_defaults(group)
        found = defaults | dict(self.variables)
        if "database" in self.groups:
            # the database's role hands on to that of its engine
            found = role_defaults(f"database_{found['database_engine']}") | found
        return found

    def to_json(self) -> dict[str, Any]:
        """A plain mapping; ``from_json`` reads it back."""
        return {
            "name": self.name,
            "groups": sorted(self.groups),
            "variables": dict(self.variables),
            "peers": {group: list(hosts) for group, hosts in self.peers.items()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Target":
        """What ``to_json`` wrote."""
        peers = {group: tuple(hosts) for group, hosts in value["peers"].items()}
        return cls(value["name"], frozenset(value["groups"]), value["variables"], peers)


def read(inventory: Path | None, runner: Runner | None = None) -> tuple[Target, ...]:
    """Every host of an inventory source (None: the one of ansible.cfg), in the inventory's order.

    ``group_vars`` and ``host_vars`` beside the source count, as for a playbook.
    Raises InputError when Ansible cannot read the source.
    """
    argv = [paths.program("ansible-inventory"), "--list"]
    if inventory is not None:
        argv += ["-i", str(inventory)]
    try:
        result = (runner or SystemRunner()).run(argv, env=ansible_environment(fast=False))
    except ProcessError as failure:
        raise InputError(
            f"ansible-inventory cannot read {inventory or 'the inventory'}: {_first_error(failure.result.stderr)}",
            hint="stackctl check names every error of a site with its line",
        ) from None
    return parse(json.loads(result.stdout))


def parse(listing: Mapping[str, Any]) -> tuple[Target, ...]:
    """The hosts of what ``ansible-inventory --list`` prints."""
    hostvars: Mapping[str, Mapping[str, Any]] = listing.get("_meta", {}).get("hostvars", {})
    members = {group: _members(listing, group, frozenset()) for group in listing if group != "_meta"}
    groups: dict[str, list[str]] = {}
    for group, hosts in members.items():
        for host in hosts:
            groups.setdefault(host, []).append(group)
    return tuple(
        Target(
            host,
            frozenset(groups[host]),
            hostvars.get(host, {}),
            {group: tuple(other for other in members[group] if other != host) for group in groups[host]},
        )
        for host in sorted(groups, key=lambda host: _position(hostvars, host))
    )


def select(targets: Iterable[Target], names: Iterable[str]) -> tuple[Target, ...]:
    """The named targets, all without names. A name is a host or a group.

    Raises InputError that lists every name nobody carries.
    """
    targets, wanted = tuple(targets), tuple(names)
    if not wanted:
        return targets
    known = {target.name for target in targets} | {group for target in targets for group in target.groups}
    if unknown := [name for name in wanted if name not in known]:
        raise InputError(
            f"no host or group is called {', '.join(unknown)}",
            hint=f"hosts of this site: {', '.join(target.name for target in targets)}",
        )
    return tuple(target for target in targets if target.name in wanted or not target.groups.isdisjoint(wanted))


@cache
def role_defaults(role: str) -> dict[str, Any]:
    """The defaults of one of our roles; empty where there is no such role."""
    file = paths.data("playbooks", "roles", role, "defaults", "main.yml")
    if not file.is_file():
        return {}
    return dict(yaml.safe_load(file.read_text(encoding="utf-8")) or {})


def _members(listing: Mapping[str, Any], group: str, above: frozenset[str]) -> list[str]:
    """The hosts of a group and of the groups in it, each once."""
    if group in above:
        return []
    entry = listing.get(group, {})
    below = [host for child in entry.get("children", []) for host in _members(listing, child, above | {group})]
    return list(dict.fromkeys([*entry.get("hosts", []), *below]))


def _position(hostvars: Mapping[str, Any], host: str) -> int:
    names = list(hostvars)
    return names.index(host) if host in hostvars else len(names)


_UNSAFE = "__ansible_unsafe"
"""How ansible-inventory prints a text that is none of ours to evaluate, whatever braces it holds."""


def _is_template(value: object) -> bool:
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    if isinstance(value, Mapping):
        return _UNSAFE not in value and any(_is_template(inner) for inner in value.values())
    return isinstance(value, list | tuple) and any(_is_template(inner) for inner in value)


def _decoded(value: Any, text: Callable[[str], Any]) -> Any:
    """The value with every text that may be evaluated passed through ``text``, and the others as they are."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        if _UNSAFE in value:
            return value[_UNSAFE]
        return {key: _decoded(inner, text) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_decoded(inner, text) for inner in value]
    return value


def _evaluate(variables: Mapping[str, Any], name: str) -> Any:
    """Ansible's own evaluation, imported only where a site needs it: it takes a third of a second."""
    from ansible.errors import AnsibleError
    from ansible.parsing.dataloader import DataLoader
    from ansible.template import Templar, trust_as_template

    trusted = _decoded(variables, trust_as_template)
    try:
        return Templar(DataLoader(), trusted).template(trusted[name])
    except AnsibleError as failure:
        raise StackctlError(f"the variable {name} cannot be evaluated: {failure}") from None


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line]
    return (errors or lines or ["it said nothing"])[-1]
