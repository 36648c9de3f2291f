"""Files and folders as they should be: compared first, written in one stroke, shown as a diff."""

import grp
import os
import pwd
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .errors import NodeError


@dataclass(frozen=True)
class Wanted:
    """A file with its content, or a folder where ``content`` is None."""

    path: Path
    content: str | None = None
    mode: int = 0o644
    owner: str = "root"
    group: str = "root"


@dataclass(frozen=True)
class Change:
    """What differed: texts for a diff, with the attributes in front of the content."""

    path: Path
    before: str
    after: str


def parse_mode(text: str | None, *, folder: bool) -> int:
    """The mode of ``text`` in octal digits; 0755 for folders and 0644 for files where there is none."""
    if text is None:
        return 0o755 if folder else 0o644
    try:
        mode = int(text, 8)
    except ValueError:
        mode = -1
    if not 0 <= mode <= 0o7777:
        raise NodeError(f"{text!r} is no mode in octal digits, such as 0644", kind="input")
    return mode


def apply(wanted: Wanted, *, check: bool = False) -> Change | None:
    """Make one file or folder as wanted; return what differed, None when nothing did.

    With ``check`` nothing is written, and owners and parents that do not exist yet are taken as coming.
    """
    found = _state(wanted)
    due = _describe(wanted.mode, wanted.owner, wanted.group, wanted.content)
    if found == due:
        return None
    if not check:
        try:
            _write(wanted) if wanted.content is not None else _make_folder(wanted)
        except OSError as error:
            raise NodeError(f"{wanted.path} cannot be written: {error.strerror}") from None
    return Change(wanted.path, found, due)


def remove(path: Path, *, check: bool = False) -> Change | None:
    """Take a file or link away; return what was there, None when nothing was. Folders are refused."""
    if not os.path.lexists(path):
        return None
    if path.is_dir() and not path.is_symlink():
        raise NodeError(f"{path} is a folder and stands in the way", kind="refused", hint=f"move {path} away")
    before = f"link to {path.readlink()}\n" if path.is_symlink() else path.read_text(errors="replace")
    if not check:
        path.unlink()
    return Change(path, before, "")


def _state(wanted: Wanted) -> str:
    path = wanted.path
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    is_folder = stat.S_ISDIR(status.st_mode)
    if is_folder != (wanted.content is None):
        kind = "a folder" if is_folder else "no folder"
        raise NodeError(f"{path} is {kind} and stands in the way", kind="refused", hint=f"move {path} away")
    content = None
    if wanted.content is not None:
        content = path.read_text(errors="replace")
        if path.is_symlink():
            content = f"link to {path.readlink()}\n{content}"
    return _describe(stat.S_IMODE(status.st_mode), _user(status.st_uid), _group(status.st_gid), content)


def _describe(mode: int, owner: str, group: str, content: str | None) -> str:
    head = f"{mode:04o} {owner}:{group}\n"
    return head if content is None else head + content


def _write(wanted: Wanted) -> None:
    wanted.path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{wanted.path.name}.", dir=wanted.path.parent)
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(wanted.content or "")
            stream.flush()
            _own(name, wanted)
            os.fsync(stream.fileno())
        Path(name).replace(wanted.path)
    finally:
        Path(name).unlink(missing_ok=True)
    folder = os.open(wanted.path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _make_folder(wanted: Wanted) -> None:
    wanted.path.mkdir(parents=True, exist_ok=True)
    _own(str(wanted.path), wanted)


def _own(name: str, wanted: Wanted) -> None:
    try:
        user, group = pwd.getpwnam(wanted.owner).pw_uid, grp.getgrnam(wanted.group).gr_gid
    except KeyError:
        raise NodeError(f"{wanted.path}: there is no user {wanted.owner} or no group {wanted.group}") from None
    path = Path(name)
    if (path.stat().st_uid, path.stat().st_gid) != (user, group):
        os.chown(path, user, group)
    path.chmod(wanted.mode)


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
