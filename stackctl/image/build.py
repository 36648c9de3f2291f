"""Builds an image once and keeps it by what it is made of."""

import hashlib
import inspect
import shutil
import uuid
from pathlib import Path

from stackctl import console, paths
from stackctl.errors import StackctlError
from stackctl.image import cage, disk, grub, tree
from stackctl.image import definition as definitions
from stackctl.image.definition import Definition
from stackctl.image.sources import Sources, controller_sources
from stackctl.lock import exclusive, is_held
from stackctl.process import Runner, SystemRunner
from stackctl.site.models import Mirrors
from stackctl.units import GIB, format_size

_NAMESPACE = uuid.UUID("6f0c4a38-6d6a-4f0a-9c5e-2a5b1f1f8f11")
_NEEDED_SPACE = 3 * GIB
_LOCK, _WORKSHOP = ".lock", ".build"


def build(name: str, *, mirrors: Mirrors | None = None, runner: Runner | None = None) -> Path:
    """The raw, sparse disk image ``name``, from the cache or built now.

    Two builders of one image wait for each other; an interrupted build leaves nothing that is taken for an image.
    """
    runner = runner or SystemRunner()
    definition = definitions.load(name)
    sources = controller_sources(definition.suite, mirrors or Mirrors(), runner)
    key = digest(definition, sources)
    image = paths.cache("images") / f"{name}-{key[:16]}.raw"
    if image.exists():
        return image
    sweep(runner)
    waiting = f"another build of {image.name} is under way; waiting for it"
    with exclusive(image.with_suffix(_LOCK), waiting=waiting) as lock:
        if not image.exists():
            with console.step(f"build image {name}: {definition.description}"):
                _build(definition, sources, image, key, lock, runner)
    return image


def digest(definition: Definition, sources: Sources) -> str:
    """What an image depends on, in one name: its definition, the archives, and the code that builds it."""
    hashed = hashlib.sha256(definition.model_dump_json().encode())
    hashed.update(sources.digest().encode())
    for module in (tree, disk, grub):
        hashed.update(inspect.getsource(module).encode())
    return hashed.hexdigest()


def identifiers(key: str) -> tree.FileSystems:
    """The identifiers of an image's disk and file systems: the same image always has the same."""
    disk_id, root, partition = (
        str(uuid.uuid5(_NAMESPACE, f"{key}/{what}")) for what in ("disk", "root", "partition")
    )
    return tree.FileSystems(disk=disk_id, root=root, root_partition=partition)


def _build(definition: Definition, sources: Sources, image: Path, key: str, lock: int, runner: Runner) -> None:
    free = shutil.disk_usage(image.parent).free
    if free < _NEEDED_SPACE:
        raise StackctlError(
            f"building an image takes {format_size(_NEEDED_SPACE)} in {image.parent}; {format_size(free)} are free",
            hint="free some space, or point XDG_CACHE_HOME to a larger disk",
        )
    workshop = image.with_suffix(_WORKSHOP)
    workshop.mkdir(mode=0o700)
    try:
        ids = identifiers(key)
        with console.step("root file system"):
            root = tree.make(definition, sources, ids, workshop, lock)
        with console.step("disk"):
            disk.make(root, definition.disk, ids, workshop, runner).rename(image)
    finally:
        _remove(workshop, runner)


def _remove(workshop: Path, runner: Runner) -> None:
    """Delete a workshop, whose files belong to users that we are not."""
    runner.run(cage.as_root(["rm", "-rf", "--one-file-system", str(workshop)]))


def sweep(runner: Runner | None = None) -> None:
    """Remove what interrupted builds have left."""
    for workshop in paths.cache("images").glob(f"*{_WORKSHOP}"):
        lock = workshop.with_suffix(_LOCK)
        if not is_held(lock):
            with exclusive(lock, waiting=f"{workshop.name} is being removed; waiting"):
                _remove(workshop, runner or SystemRunner())
