"""Where things lie: the package's data, the operator's state and cache."""

import sys
from pathlib import Path

import platformdirs

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent


def data(*parts: str) -> Path:
    """A path of the shipped data (``playbooks``, ``templates``, ``images``, ``inventories``, ``ansible.cfg``).

    In a checkout they are the top-level folders, in an installed wheel they lie inside the package.
    """
    root = _CHECKOUT if in_checkout() else _PACKAGE / "data"
    return root.joinpath(*parts)


def in_checkout() -> bool:
    """Whether this package runs from a checkout of the project, not from an installed wheel."""
    return (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "playbooks").is_dir()


def package() -> Path:
    """The folder of the ``stackctl`` package itself."""
    return _PACKAGE


def _private(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def state(*parts: str) -> Path:
    """A folder for what must survive (lab machines, run records), made on the way, readable by its owner only."""
    return _private(Path(platformdirs.user_state_dir("stackctl")).joinpath(*parts))


def cache(*parts: str) -> Path:
    """A folder for what can be made again (images, wheels), made on the way."""
    return _private(Path(platformdirs.user_cache_dir("stackctl")).joinpath(*parts))


def config(*parts: str) -> Path:
    """A folder for the operator's own settings (the vault password), made on the way."""
    return _private(Path(platformdirs.user_config_dir("stackctl")).joinpath(*parts))


def program(name: str) -> str:
    """The path of a console program that is installed beside this Python (``ansible-playbook``, ``pytest``)."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name
