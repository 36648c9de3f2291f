"""From a folder or a file to a Site: read, validated and cross-checked, every problem told at once."""

import contextlib
import copy
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from stackctl import paths
from stackctl.errors import InputError
from stackctl.site import checks
from stackctl.site.create import create
from stackctl.site.document import Document, KeyPath, Problem, read, shown
from stackctl.site.messages import place_of, problems_of
from stackctl.site.models import Site
from stackctl.site.values import FILE_NAMES


@dataclass(frozen=True)
class OpenSite:
    """A valid site and where it was read from; ``warnings`` are doubts that do not stop the work."""

    site: Site
    file: Path
    directory: Path
    warnings: tuple[Problem, ...] = ()


class SiteError(InputError):
    """The file of a site is wrong; ``problems`` holds everything that is."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        count = "1 error" if len(self.problems) == 1 else f"{len(self.problems)} errors"
        lines = "\n".join(str(problem) for problem in self.problems)
        super().__init__(f"the site cannot be used, {count}:\n{lines}")


def open_site(inventory: Path | None) -> OpenSite:
    """The site in a folder or a file; without one ``./stack.yml``, else the lab that ships.

    Raises InputError when there is none, SiteError with all that is wrong in it.
    """
    return open_file(site_file(inventory))


def open_file(file: Path) -> OpenSite:
    """The site in exactly this file. Raises SiteError with all that is wrong in it."""
    document = read(file)
    if document.value is None:
        raise SiteError(document.problems)
    site, problems, warnings = _validate(document)
    if site is None or problems:
        raise SiteError(_in_order(problems))
    return OpenSite(_anchored(site, file.parent), file, file.parent, tuple(_in_order(warnings)))


def _anchored(site: Site, directory: Path) -> Site:
    """The site with the paths in it made absolute; they are written relative to its folder."""
    if site.mirrors.ca is None:
        return site
    ca = str(directory / Path(site.mirrors.ca).expanduser())
    return site.model_copy(update={"mirrors": site.mirrors.model_copy(update={"ca": ca})})


def site_file(inventory: Path | None) -> Path:
    """The absolute path of the file that ``inventory`` means. Raises InputError when there is none."""
    if inventory is None:
        return _in_folder(Path.cwd()) or _lab()
    given = inventory.expanduser().absolute()
    if given.is_dir():
        found = _in_folder(given)
        if found is None:
            raise InputError(
                f"the folder {shown(given)} holds no stack.yml", hint=f"stackctl init {shown(given)} writes one"
            )
        return found
    if not given.exists():
        raise InputError(f"there is no site at {shown(given)}", hint=f"stackctl init {inventory} writes one")
    if given.name not in FILE_NAMES:
        raise InputError(
            f"{shown(given)} is not called stack.yml, which is how Ansible knows the file of a site",
            hint="give the folder, or rename the file",
        )
    return given


def _in_folder(folder: Path) -> Path | None:
    return next((folder / name for name in FILE_NAMES if (folder / name).is_file()), None)


def _lab() -> Path:
    """The lab's site: in a checkout the one that ships, else the operator's own copy of it."""
    if paths.in_checkout():
        return paths.data("inventories", "lab", "stack.yml")
    own = paths.state() / "lab-site"
    if not own.exists():
        with tempfile.TemporaryDirectory(dir=own.parent) as scratch:
            fresh = create(Path(scratch) / "lab", "lab").parent
            with contextlib.suppress(FileExistsError):
                fresh.rename(own)
    return own / "stack.yml"


def _validate(document: Document) -> tuple[Site | None, list[Problem], list[Problem]]:
    """The site, what is wrong and what is doubtful; a wrong part does not hide what is wrong elsewhere.

    What the validator refuses is taken out and the rest is validated again, until a site is left (or nothing is).
    """
    problems = list(document.problems)
    taken = set(document.holes)
    value: dict[str, Any] = _without(document.value, taken)
    fresh = _any_error
    while True:
        try:
            site = Site.model_validate(value)
            break
        except ValidationError as failure:
            errors = failure.errors(include_url=False)
            problems += problems_of((error for error in errors if fresh(error, document, taken)), document)
            taken |= (places := {place_of(error) for error in errors})
            smaller = {"plugin": "stackctl", "site": "unnamed", **_without(value, places)}
            if smaller == value:
                return None, problems, []
            value, fresh = smaller, _stands_alone
    found = checks.check(site, document, whole=not problems)
    return site, problems + found.errors, found.warnings


def _any_error(error: ErrorDetails, document: Document, taken: set[KeyPath]) -> bool:
    return place_of(error) not in taken


def _stands_alone(error: ErrorDetails, document: Document, taken: set[KeyPath]) -> bool:
    """Whether an error does not come of something that was taken out before."""
    place = place_of(error)
    return error["type"] == "value_error" and place not in taken and document.has(place)


def _without(value: Any, places: Iterable[KeyPath]) -> Any:
    """A copy of ``value`` without what stands at ``places``; where a key is missing, without what lacks it."""
    smaller = copy.deepcopy(value)
    present = {_present(value, place) for place in places} - {()}
    for place in sorted(present, key=_list_items_last_first, reverse=True):
        holder = smaller
        for part in place[:-1]:
            holder = holder[part]
        del holder[place[-1]]
    return smaller


def _present(value: Any, place: KeyPath) -> KeyPath:
    """As much of the way to ``place`` as there is."""
    for depth, part in enumerate(place):
        in_mapping = isinstance(value, dict) and part in value
        if not in_mapping and not (isinstance(value, list) and isinstance(part, int) and part < len(value)):
            return place[:depth]
        value = value[part]
    return place


def _list_items_last_first(place: KeyPath) -> tuple[tuple[int, str], ...]:
    return tuple((part, "") if isinstance(part, int) else (0, part) for part in place)


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.line)
