"""`group_vars/` and `host_vars/` beside a site: doubts about what they set."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from stackctl import paths
from stackctl.site.document import Document, Problem, read
from stackctl.site.load import OpenSite
from stackctl.site.messages import did_you_mean
from stackctl.site.variables import groups, own_variables, site_variables

_ANSIBLE_TAGS = frozenset({"!vault", "!vault-encrypted", "!unsafe"})
_KEY_OF = {
    **{
        f"{role}_{key}": f"services.{role}.{key}"
        for role in ("database", "queue", "cache")
        for key in ("listen", "port")
    },
    "queue_http_port": "services.queue.http_port",
    "search_index_listen": "services.search.listen",
    "search_index_port": "services.search.port",
    "search_web_listen": "services.web.listen",
    "search_web_port": "services.web.port",
    "storage_layout": "layouts",
    "stackctl_mirrors": "mirrors",
}


def doubts(opened: OpenSite) -> list[Problem]:
    """Files for groups and hosts that do not exist, variables that stack.yml sets itself, names no role knows."""
    return [problem for file, owner in _files(opened.directory) for problem in _doubts(opened, file, owner)]


def unreadable(opened: OpenSite) -> list[Problem]:
    """What keeps the files of variables from being read as YAML, each with its line."""
    documents = (_plain(file) for file, _ in _files(opened.directory))
    return [problem for document in documents if document is not None for problem in document.problems]


def _files(directory: Path) -> Iterator[tuple[Path, str]]:
    """Every YAML file of variables, and the group or host it is for (`group_vars/NAME.yml` or `NAME/*.yml`)."""
    for folder in ("group_vars", "host_vars"):
        for entry in sorted((directory / folder).glob("*")):
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from ((file, entry.name) for file in sorted(entry.rglob("*")) if _is_yaml(file))
            elif _is_yaml(entry):
                yield entry, entry.stem if entry.suffix else entry.name


def _is_yaml(file: Path) -> bool:
    return file.is_file() and file.suffix in {"", ".yml", ".yaml"} and not file.name.startswith(".")


def _doubts(opened: OpenSite, file: Path, owner: str) -> Iterator[Problem]:
    of_hosts = file.relative_to(opened.directory).parts[0] == "host_vars"
    known = tuple(opened.site.hosts) if of_hosts else ("all", *groups(opened.site))
    if owner not in known:
        yield Problem(
            file, 1, (), f"there is no {'host' if of_hosts else 'group'} {owner}; {did_you_mean(owner, known)}"
        )
    document = _plain(file)
    if document is None:
        return
    yield from document.problems
    published = {
        *site_variables(opened),
        *(name for host in opened.site.hosts for name in own_variables(opened, host)),
    }
    for name in document.value or ():
        if name in published and not name.startswith("ansible_"):
            key = _KEY_OF.get(name)
            where = f"set {key} in {opened.file.name} instead" if key else "it follows from the site"
            yield document.problem((name,), f"hides what {opened.file.name} says; {where}")
        elif message := _unknown(name):
            yield document.problem((name,), message)


def _plain(file: Path) -> Document | None:
    """The file, unless it is encrypted or empty."""
    try:
        with file.open("rb") as stream:
            start = stream.read(64)
    except OSError:
        return read(file)
    if start.startswith(b"$ANSIBLE_VAULT"):
        return None
    document = read(file, tags=_ANSIBLE_TAGS)
    return None if document.is_empty else document


def _unknown(variable: str) -> str | None:
    """What to say of a variable that has a role's prefix and is none of its variables."""
    roles = [role for role in _roles() if variable.startswith(f"{role}_")]
    known = {name for role in roles for name in _variables_of(role)}
    if not known or variable in known:
        return None
    role = max(roles, key=len)
    guess = did_you_mean(variable, sorted(known))
    if not guess.startswith("did"):
        guess = f"its README lists them (playbooks/roles/{role}/README.md)"
    return f"the role {role} has no such variable; {guess}"


@cache
def _roles() -> tuple[str, ...]:
    folder = paths.data("playbooks", "roles")
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.is_dir())) if folder.is_dir() else ()


@cache
def _variables_of(role: str) -> frozenset[str]:
    """The variables that a role declares, by the top keys of its defaults and the options of its argument specs."""
    folder = paths.data("playbooks", "roles", role)
    defaults = read(folder / "defaults" / "main.yml").value or {}
    specs = read(folder / "meta" / "argument_specs.yml").value or {}
    options = [entry.get("options", {}) for entry in specs.get("argument_specs", {}).values()]
    return frozenset(defaults) | {name for option in options for name in option if re.match(r"\w+$", name)}
