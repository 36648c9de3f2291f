"""A site to spoil: a valid file, and a way to write one and read its errors."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl.site.load import SiteError, open_file

GOOD = """\
plugin: stackctl
site: trial
hosts:
  metal-1:
    address: 203.0.113.11
    layout: raid10
    roles: [database, queue, cache, search]
layouts:
  raid10:
    disks: {count: 4, size: ">= 500 GB"}
    volumes:
      database: {size: 50%, mount: /srv/database}
      documents: {size: rest, mount: /srv/documents}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Writes a stack.yml and returns its path."""

    def _write(text: str | bytes) -> Path:
        file = tmp_path / "stack.yml"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    return _write


@pytest.fixture
def errors(
    write: Callable[[str | bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | bytes], list[str]]:
    """The error lines that a file is refused with; none for a good one."""

    def _errors(text: str | bytes) -> list[str]:
        file = write(text)
        monkeypatch.chdir(file.parent)
        try:
            open_file(file)
        except SiteError as failure:
            return [str(problem) for problem in failure.problems]
        return []

    return _errors


@pytest.fixture
def good() -> str:
    """The text of a valid file."""
    return GOOD
