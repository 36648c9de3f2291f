"""What a server runs now and after a reboot: units, sockets, mounts, paths. One look that changes nothing."""

import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackctl.node.process import Runner, SystemRunner

_PROPERTIES = ("Id", "LoadState", "ActiveState", "SubState", "UnitFileState", "Result", "MainPID", "NeedDaemonReload")
_PROCESS = re.compile(r'\("([^"]*)",pid=(\d+)')


def look(units: list[str], paths: list[str], runner: Runner | None = None) -> dict[str, Any]:
    """The named units and paths, every listening socket, every mount, and the units that failed."""
    runner = runner or SystemRunner()
    return {
        "units": {unit["asked"]: unit for unit in _units(runner, units)},
        "at_boot": _at_boot(runner),
        "failed_units": _failed(runner),
        "sockets": _sockets(runner),
        "mounts": _mounts(),
        "paths": {path: _path(path) for path in paths},
        "kernels": _kernels(),
    }


def _units(runner: Runner, names: list[str]) -> list[dict[str, Any]]:
    if not names:
        return []
    shown = runner.run(["systemctl", "show", f"--property={','.join(_PROPERTIES)}", "--", *names]).stdout
    found = []
    for name, block in zip(names, shown.strip().split("\n\n"), strict=True):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        unit = {
            "asked": name,
            "id": values.get("Id", name),
            "load": values.get("LoadState", ""),
            "active": values.get("ActiveState", ""),
            "sub": values.get("SubState", ""),
            "enabled": values.get("UnitFileState", ""),
            "result": values.get("Result", ""),
            "stale": values.get("NeedDaemonReload") == "yes",
            "said": [],
        }
        if unit["active"] != "active" and unit["load"] == "loaded":
            unit["said"] = _journal(runner, name)
        found.append(unit)
    return found


def _journal(runner: Runner, unit: str) -> list[str]:
    argv = ["journalctl", f"--unit={unit}", "--lines=3", "--output=cat", "--no-pager", "--quiet"]
    return runner.run(argv, check=False).stdout.splitlines()


def _at_boot(runner: Runner) -> list[str]:
    """Every unit that the default target wants, by itself or through other targets."""
    argv = ["systemctl", "list-dependencies", "--plain", "--full", "--no-pager", "default.target"]
    return [line.strip() for line in runner.run(argv).stdout.splitlines() if line.strip()]


def _failed(runner: Runner) -> list[str]:
    argv = ["systemctl", "list-units", "--failed", "--plain", "--no-legend", "--full"]
    return [line.split()[0] for line in runner.run(argv).stdout.splitlines() if line.strip()]


def _sockets(runner: Runner) -> list[dict[str, Any]]:
    """Listening TCP and unconnected UDP sockets."""
    found = []
    for line in runner.run(
        ["ss", "--no-header", "--listening", "--numeric", "--tcp", "--udp", "--processes"]
    ).stdout.splitlines():
        words = line.split(maxsplit=6)
        address, _, port = words[4].rpartition(":")
        found.append(
            {
                "protocol": words[0],
                "address": address.partition("%")[0].strip("[]"),
                "port": int(port),
                "processes": sorted({name for name, _ in _PROCESS.findall(words[6])}) if len(words) > 6 else [],
            }
        )
    return found


def _mounts() -> list[dict[str, str]]:
    return [_mount(line) for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]


def _mount(line: str) -> dict[str, str]:
    before, _, after = line.partition(" - ")
    kind, source, _ = after.split(" ", 2)
    return {"mount": _plain(before.split(" ")[4]), "type": kind, "source": _plain(source)}


def _plain(text: str) -> str:
    """A path of mountinfo, where blanks and the like stand as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)


def _kernels(boot: Path = Path("/boot")) -> dict[str, bool]:
    """Whether each installed kernel has its initramfs, by version."""
    versions = [kernel.name.removeprefix("vmlinuz-") for kernel in sorted(boot.glob("vmlinuz-*"))]
    return {version: (boot / f"initrd.img-{version}").is_file() for version in versions}


def _path(name: str) -> dict[str, Any] | None:
    """Kind, mode, owner and group of a path, and the mount point that it lies under; None when it is not there."""
    path = Path(name)
    if not path.exists():
        return None
    found = path.stat()
    under = path.resolve()
    while not under.is_mount():
        under = under.parent
    return {
        "directory": stat.S_ISDIR(found.st_mode),
        "mode": f"{stat.S_IMODE(found.st_mode):04o}",
        "owner": _known(path.owner, found.st_uid),
        "group": _known(path.group, found.st_gid),
        "mount": str(under),
    }


def _known(look_up: Callable[[], str], number: int) -> str:
    """A name, or the number that has none."""
    try:
        return look_up()
    except KeyError:
        return str(number)
