"""Drizzle's configuration files: read as drizzled reads them, checked, and turned into those of a trial start."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import NodeError

_PLUGINS = frozenset({"plugin-add", "plugin-remove", "plugin-load"})
_REPEATED = frozenset({"plugin-add", "plugin-remove"})
"""Options that may stand more than once; any other that does ends drizzled without a word of which."""
_NEEDED = {
    "auth_file": "auth-file.users",
    "regex_policy": "regex-policy.policy",
    "slave": "slave.config-file",
}
"""Options that name a file without which a plugin does not start, by plugin."""
_SIZES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True)
class Option:
    """One line; ``file`` is where it stands."""

    name: str
    value: str
    file: str


@dataclass(frozen=True)
class Places:
    """What a trial uses instead of what the server uses."""

    folder: Path
    users: Path
    port: int
    native_port: int


def read(files: Mapping[str, str]) -> tuple[Option, ...]:
    """The options of files (contents by path): comments, sections and switches without a value as drizzled has them.

    Raises NodeError of kind ``input`` where one stands twice or has no value.
    """
    options = tuple(option for path, text in files.items() for option in _read(path, text))
    seen: dict[str, Option] = {}
    for option in options:
        if not option.value:
            raise NodeError(f"{option.file}: {option.name} has no value, which drizzled cannot read", kind="input")
        if option.name in seen and option.name not in _REPEATED:
            where = dict.fromkeys([seen[option.name].file, option.file])
            raise NodeError(
                f"the option {option.name} stands twice: {' and '.join(where)}",
                kind="input",
                hint="leave one; what the role writes is changed by database_drizzle_options",
            )
        seen[option.name] = option
    return options


def _read(path: str, text: str) -> Iterable[Option]:
    section = ""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if re.fullmatch(r"\[.+\]", line):
            section = line[1:-1].rstrip(".") + "."
        elif line:
            name, equals, value = line.partition("=")
            yield Option(section + name.strip(), value.strip() if equals else "true", path)


def plugins(options: Iterable[Option], name: str) -> tuple[str, ...]:
    """Plugins that ``plugin-add`` or ``plugin-remove`` name."""
    values = (option.value.split(",") for option in options if option.name == name)
    return tuple(dict.fromkeys(word.strip().replace("-", "_") for words in values for word in words if word.strip()))


def check_files(options: Sequence[Option], there: Iterable[Path] = ()) -> None:
    """Raise NodeError where a plugin needs a file that is absent; those of ``there`` are on their way."""
    values = {option.name: option.value for option in options}
    coming = {str(path) for path in there}
    for plugin in plugins(options, "plugin-add"):
        if (name := _NEEDED.get(plugin)) is None:
            continue
        file = values.get(name)
        if file is None:
            raise NodeError(
                f"the plugin {plugin} needs a file, and no option names it",
                kind="input",
                hint=f"give {name} in database_drizzle_options",
            )
        if file not in coming and not Path(file).is_file():
            raise NodeError(
                f"the plugin {plugin} needs the file {file}, which is not on the server",
                kind="input",
                hint=f"put it there, or correct {name} in database_drizzle_options",
            )


def check_log(options: Iterable[Option], present: int | None) -> None:
    """Raise NodeError where the size of InnoDB's log is another than that of the log that is there (in bytes)."""
    wanted = next((option.value for option in options if option.name == "innodb.log-file-size"), None)
    if present is None or wanted is None or _size(wanted) == present:
        return
    raise NodeError(
        f"innodb.log-file-size is {wanted}, and the log that is there has {present} bytes: drizzled would not start",
        kind="input",
        hint="leave the option out; or stop drizzled, wait for its end, and move ib_logfile* out of the data folder",
    )


def _size(text: str) -> int:
    factor = _SIZES.get(text[-1:].lower(), 1)
    digits = text[:-1] if factor > 1 else text
    return int(digits) * factor if digits.isdigit() else 0


def for_trial(options: Iterable[Option], places: Places) -> str:
    """The same options for a start beside the running server: other ports, small buffers, nothing of its data.

    A path that a plugin writes to becomes one in the trial's folder.
    """
    instead = {
        "auth-file.users": str(places.users),
        "drizzle-protocol.bind-address": "127.0.0.1",
        "drizzle-protocol.port": str(places.native_port),
        "innodb.buffer-pool-size": str(32 << 20),
        "innodb.log-file-size": str(4 << 20),
        "mysql-protocol.bind-address": "127.0.0.1",
        "mysql-protocol.port": str(places.port),
        "mysql-unix-socket-protocol.path": str(places.folder / "mysql.sock"),
        **dict.fromkeys(
            ("innodb.data-home-dir", "innodb.log-group-home-dir", "secure-file-priv", "tmpdir"), str(places.folder)
        ),
    }
    given = [option for option in options if option.name != "innodb.data-file-path"]
    always = [name for name in instead if name.startswith(("drizzle-protocol.", "mysql-"))]
    pairs = [
        (option.name, instead.get(option.name) or _moved(option, places))
        for option in given
        if option.name not in always
    ]
    pairs += [(name, instead[name]) for name in always]
    # the kernel's options come first
    return "".join(f"{name} = {value}\n" for name, value in sorted(pairs, key=lambda pair: "." in pair[0]))


def _moved(option: Option, places: Places) -> str:
    path = Path(option.value)
    if option.name in _PLUGINS or not path.is_absolute() or option.name in _NEEDED.values():
        return option.value
    return str(places.folder / path.name)
