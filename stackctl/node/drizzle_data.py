"""Drizzle's data directory: whose data it holds, if any."""

from pathlib import Path

from .errors import NodeError
from .running import working_directory

_OWN = frozenset({"server.uuid", "local"})
"""What drizzled makes first of all in an empty directory."""
_OF_MARIADB = frozenset({"mysql", "mysql.ibd", "aria_log_control", "mariadb_upgrade_info"})
_HINT = "move it away, or name another folder as database_data_directory"


def holds_data(directory: Path) -> bool:
    """Whether Drizzle's data is there; False when the directory is absent or empty, to be filled by the first start.

    Raises NodeError of kind ``refused`` when it holds anything else.
    """
    if directory.is_mount():
        raise NodeError(f"{directory} is itself a mount point; name a folder below it", kind="input")
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    if not names:
        return False
    if names & _OF_MARIADB:
        raise NodeError(
            f"{directory} holds the data of a MariaDB or MySQL server",
            kind="refused",
            hint=f"{_HINT}; `stackctl db move` takes data from one engine to the other",
        )
    if names & _OWN:
        return True
    shown = ", ".join(sorted(names)[:5])
    raise NodeError(f"{directory} holds no Drizzle data but {shown}", kind="refused", hint=_HINT)


def check_in_use(directory: Path, proc: Path = Path("/proc")) -> None:
    """Refuse an empty directory while drizzled runs on data elsewhere."""
    current = working_directory("drizzled", proc)
    if current and current != directory.resolve() and not holds_data(directory):
        raise NodeError(
            f"drizzled runs with its data in {current}, and {directory} is empty",
            kind="refused",
            hint=f"stop drizzled and move the data to {directory}, or name {current} as database_data_directory",
        )


def log_size(directory: Path) -> int | None:
    """Bytes of each of InnoDB's log files, which must not change; None where there is none yet."""
    try:
        return (directory / "ib_logfile0").stat().st_size
    except FileNotFoundError:
        return None
