"""Where data lies: on which mounted volume of the host's layout."""

from pathlib import PurePosixPath

import pytest

from stackctl.validation.inventory import Target
from stackctl.validation.system import System


def wrong_place(target: Target, system: System, directory: str) -> str | None:
    """Why the directory is not on a volume of the layout; None where it is.

    Not made where there is no layout, or the directory is meant to lie elsewhere.
    """
    layout = target.get("storage_layout")
    if layout is None:
        pytest.skip("this host has no layout: its data lies where its disks' owner put it")
    found = system.paths[directory]
    if found is None or not found.directory:
        return f"there is no directory {directory}"
    mounts = {volume["mount"]: volume["filesystem"] for volume in layout["volumes"].values() if volume.get("mount")}
    if not any(PurePosixPath(directory).is_relative_to(mount) for mount in mounts):
        pytest.skip(f"{directory} is meant to lie outside of the layout's volumes")
    if found.mount not in mounts:
        return f"{directory} lies on the file system mounted at {found.mount}, not on a volume of the layout"
    mounted = system.mount_at(found.mount)
    wanted = mounts[found.mount]
    if mounted is None or mounted.type != wanted:
        return f"{directory} lies on {mounted.type if mounted else 'nothing that is mounted'}, not on {wanted}"
    return None
