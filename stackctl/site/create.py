"""A new site from one of the examples that ship."""

import json
import re
import shutil
from pathlib import Path

from stackctl import paths
from stackctl.errors import InputError, RefusedError, StackctlError
from stackctl.site.document import shown
from stackctl.site.schema import json_schema
from stackctl.site.values import FILE_NAMES, NAME_PATTERN

SCHEMA_FILE = ".stack.schema.json"
"""The JSON Schema beside a site's file; hidden, so that Ansible takes it for no inventory."""

_GITIGNORE = """\
# secrets.yml is encrypted and may be committed; the password that opens it must not be.
vault-password
.vault-password
*.retry
"""


def examples() -> tuple[str, ...]:
    """The names of the examples that ship."""
    return tuple(sorted(file.parent.name for file in paths.data("inventories").glob("*/stack.yml")))


def create(directory: Path, example: str, name: str | None = None) -> Path:
    """Write a site into an empty or new folder; returns the path of its stack.yml.

    ``name`` is the site's name, by default the folder's where that is a fit name.
    Raises RefusedError when the folder holds anything, InputError when example or name are wrong.
    """
    if example not in examples():
        raise InputError(f"there is no example {example}", hint=f"the examples are {', '.join(examples())}")
    if name is not None and not re.match(NAME_PATTERN, name):
        raise InputError(f"{name!r} is not a name of lower-case letters, digits and inner dashes")
    directory = directory.expanduser().absolute()
    _refuse_to_overwrite(directory)
    try:
        _copy(paths.data("inventories", example), directory)
        file = directory / FILE_NAMES[0]
        chosen = name or (directory.name if re.match(NAME_PATTERN, directory.name) else None)
        file.write_text(_own(file.read_text(encoding="utf-8"), chosen), encoding="utf-8")
        (directory / SCHEMA_FILE).write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8")
        (directory / ".gitignore").write_text(_GITIGNORE, encoding="utf-8")
    except OSError as failure:
        raise StackctlError(f"{shown(directory)} cannot be written: {failure.strerror or failure}") from None
    return file


def _refuse_to_overwrite(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise RefusedError(f"{shown(directory)} is a file", hint="name a new folder")
    for name in FILE_NAMES:
        if (directory / name).exists():
            raise RefusedError(f"{shown(directory / name)} is there already", hint="name another folder")
    if directory.is_dir() and any(entry.name != ".git" for entry in directory.iterdir()):
        raise RefusedError(f"the folder {shown(directory)} is not empty", hint="name a new folder")


def _copy(example: Path, directory: Path) -> None:
    """The example without what an operator of it may have left there."""
    shutil.copytree(
        example,
        directory,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("secrets.yml*", "*.retry", ".*", "__pycache__"),
    )


def _own(text: str, name: str | None) -> str:
    """The example's file with the schema's place in its first line, and the new site's name."""
    text = re.sub(r"^# yaml-language-server:.*\n", "", text, flags=re.MULTILINE)
    if name is not None:
        text = re.sub(r"^site:.*$", f"site: {name}", text, count=1, flags=re.MULTILINE)
    return f"# yaml-language-server: $schema={SCHEMA_FILE}\n{text}"
