"""Where data lies: on which mounted volume of the host's layout."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import pytest

from stackctl.site.models import Layout
from stackctl.validation.inventory import Target
from stackctl.validation.system import System


def layout_of(plain: Mapping[str, Any]) -> Layout:
    """The layout in a host's variables, which have its ``name`` beside."""
    return Layout.model_validate({key: value for key, value in plain.items() if key != "name"})


def wrong_place(target: Target, system: System, directory: str) -> str | None:
    """Why the directory is not on a volume of the layout; None where it is.

    Not made where there is no layout, or the directory is meant to lie elsewhere.
    """
    plain = target.get("storage_layout")
    if plain is None:
        pytest.skip("this host has no layout: its data lies where its disks' owner put it")
    layout = layout_of(plain)
    found = system.paths[directory]
    if found is None or not found.directory:
        return f"there is no directory {directory}"
    mounts = {path: layout.volumes[name].filesystem for name, path in layout.mounts.items()}
    if not any(PurePosixPath(directory).is_relative_to(mount) for mount in mounts):
        pytest.skip(f"{directory} is meant to lie outside of the layout's volumes")
    if found.mount not in mounts:
        return f"{directory} lies on the file system mounted at {found.mount}, not on a volume of the layout"
    mounted = system.mount_at(found.mount)
    wanted = mounts[found.mount]
    if mounted is None or mounted.type != wanted:
        return f"{directory} lies on {mounted.type if mounted else 'nothing that is mounted'}, not on {wanted}"
    return None
