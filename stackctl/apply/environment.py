"""The environment in which this project's playbooks run, right for a checkout and for an installed wheel."""

import importlib.util
import os
import stat
import tempfile
from pathlib import Path

from stackctl import paths
from stackctl.errors import StackctlError

_SOCKET_NAME = len("/") + 40 + len(".") + 16
"""What ssh adds to a control path's folder: a slash, the hash of %C, and a random tail while it connects."""
_SOCKET_LIMIT = 104
"""The longest path of a Unix socket that every system takes."""

CONNECT_TIMEOUT = 45
"""Seconds until a server that does not answer SSH counts as unreachable."""
_START_TIMEOUT = 180
"""Seconds for a login with all that belongs to it: on a busy or emulated server Python takes its time to start."""


def shipped_playbook(name: str) -> Path:
    """The path of a playbook that ships, such as ``site.yml``."""
    return paths.data("playbooks", name)


def ansible_environment(*, fast: bool = True) -> dict[str, str]:
    """The variables that make Ansible find our roles and plugins, and run lean.

    They are to be added to the process's own. ``fast`` takes the mitogen strategy where it is installed
    and ``STACKCTL_MITOGEN`` is not 0; without it, tasks run the way Ansible runs them by itself.
    """
    plugins = paths.data("playbooks", "plugins")
    environment = {
        "ANSIBLE_CONFIG": str(paths.data("ansible.cfg")),
        "ANSIBLE_ROLES_PATH": str(paths.data("playbooks", "roles")),
        "ANSIBLE_LIBRARY": str(plugins / "modules"),
        "ANSIBLE_MODULE_UTILS": str(plugins / "module_utils"),
        "ANSIBLE_ACTION_PLUGINS": str(plugins / "action"),
        "ANSIBLE_LOOKUP_PLUGINS": str(plugins / "lookup"),
        "ANSIBLE_FILTER_PLUGINS": str(plugins / "filter"),
        "ANSIBLE_INVENTORY_PLUGINS": str(plugins / "inventory"),
        "ANSIBLE_PIPELINING": "true",
        "ANSIBLE_SSH_ARGS": " ".join(ssh_arguments()),
        "ANSIBLE_TIMEOUT": str(_START_TIMEOUT),
        "ANSIBLE_HOST_KEY_CHECKING": "true",
        "ANSIBLE_RETRY_FILES_ENABLED": "false",
        "ANSIBLE_NOCOWS": "1",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_FORCE_COLOR": "0",
        "ANSIBLE_STDOUT_CALLBACK": "default",
        "ANSIBLE_DEPRECATION_WARNINGS": "false",
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "ANSIBLE_STRATEGY": "linear",
    }
    strategies = mitogen_strategies() if fast else None
    if strategies is not None:
        environment |= {"ANSIBLE_STRATEGY": "mitogen_linear", "ANSIBLE_STRATEGY_PLUGINS": str(strategies)}
    return environment


def mitogen_strategies() -> Path | None:
    """The folder of mitogen's strategy plugins; None where it is not installed or ``STACKCTL_MITOGEN`` is 0."""
    if os.environ.get("STACKCTL_MITOGEN") == "0":
        return None
    found = importlib.util.find_spec("ansible_mitogen")
    if found is None or found.origin is None:
        return None
    strategies = Path(found.origin).parent / "plugins" / "strategy"
    return strategies if strategies.is_dir() else None


def ssh_arguments() -> tuple[str, ...]:
    """Options of every ssh that we start: one connection kept open per server, no questions, strict host keys."""
    return (
        "-o ControlMaster=auto",
        "-o ControlPersist=60s",
        f"-o ControlPath={control_directory()}/%C",
        "-o StrictHostKeyChecking=yes",
        "-o BatchMode=yes",
        f"-o ConnectTimeout={CONNECT_TIMEOUT}",
        "-o ServerAliveInterval=15",
        "-o ServerAliveCountMax=4",
    )


def control_directory() -> Path:
    """Where the sockets of kept connections lie: with the state, or in a short private folder where that is too deep.

    Raises StackctlError when the short folder belongs to someone else.
    """
    wanted = paths.state("ssh")
    if len(str(wanted)) + _SOCKET_NAME <= _SOCKET_LIMIT and " " not in str(wanted):
        return wanted
    short = Path(tempfile.gettempdir()) / f"stackctl-{os.getuid()}"
    short.mkdir(mode=0o700, exist_ok=True)
    found = short.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise StackctlError(
            f"{short} is not a private folder of this user", hint="remove it, or set XDG_STATE_HOME to a short path"
        )
    return short
