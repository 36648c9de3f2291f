"""The action that brings the search app to a server, run on this host: plain, and with mitogen."""

import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from stackctl import paths
from stackctl.apply.bundle import Source, Target
from stackctl.apply.environment import ansible_environment, mitogen_strategies

pytestmark = pytest.mark.service

_PLAY = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: Install the release
      stackctl_bundle:
        root: {root}
"""


class Server:
    """This host in the place of a server, and a cache that holds the bundle for it already."""

    def __init__(self, folder: Path, fast: bool) -> None:
        self.root = folder / "app"
        self.play = folder / "play.yml"
        self.play.write_text(_PLAY.format(root=self.root))
        self.environment = {
            **ansible_environment(fast=fast),
            "ANSIBLE_STDOUT_CALLBACK": "oneline",
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        self.target = Target(
            f"{sys.version_info.major}.{sys.version_info.minor}",
            platform.machine(),
            os.confstr("CS_GNU_LIBC_VERSION") or "",
        )
        self.digest = Source.shipped().digest(self.target)
        self.archive = paths.cache("bundles") / f"{self.digest}.tar.gz"
        self.fill("first")

    def fill(self, text: str) -> None:
        """Write the cached archive."""
        with tarfile.open(self.archive, "w:gz") as tar:
            member = tarfile.TarInfo("stacksearch/mark")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))

    def run(self, *words: str) -> dict[str, Any]:
        """The result of the one task."""
        argv = [paths.program("ansible-playbook"), "-i", "localhost,", "-c", "local", str(self.play), *words]
        argv += ["-e", f"ansible_python_interpreter={sys.executable}"]
        environment = {**os.environ, **self.environment}
        done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
        said = re.search(r"^localhost \| (\S+) ?=> (\{.*)$", done.stdout, re.MULTILINE)
        assert said, done.stdout + done.stderr
        found: dict[str, Any] = {"outcome": said[1].strip("!"), **json.loads(said[2])}
        return found


@pytest.fixture(params=["plain", "mitogen"])
def server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server without any release."""
    if request.param == "mitogen" and mitogen_strategies() is None:
        pytest.skip("mitogen is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Server(tmp_path, request.param == "mitogen")


def test_a_release_is_sent_once_and_put_in_force(server: Server) -> None:
    would = server.run("--check")
    assert (would["changed"], would["sent"]) == (True, False)
    assert not server.root.exists()

    first = server.run()
    assert (first["changed"], first["sent"], first["digest"]) == (True, True, server.digest)
    assert (server.root / "current" / "stacksearch" / "mark").read_text() == "first"

    again = server.run()
    assert (again["changed"], again["sent"]) == (False, False)

    (server.root / "current").unlink()
    back = server.run()
    assert (back["changed"], back["sent"]) == (True, False)
    assert (server.root / "current" / "stacksearch" / "mark").read_text() == "first"


def test_what_stands_in_the_way_is_told_in_plain_words(server: Server) -> None:
    (server.root / "current").mkdir(parents=True)
    result = server.run()
    assert result["outcome"] == "FAILED"
    assert result["msg"] == f"{server.root}/current is no link and stands in the way"
    assert (result["stackctl_hint"], result["stackctl_exit"]) == (f"move {server.root}/current away", 3)


def test_an_index_that_fails_is_told_in_plain_words(server: Server) -> None:
    server.archive.unlink()
    server.environment |= {
        "PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "1",
        "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "PIP_NO_CACHE_DIR": "1",
    }  # fmt: skip
    result = server.run()
    assert result["outcome"] == "FAILED"
    assert result["msg"] == "the Python package index does not serve us: Connection refused"
    assert "PIP_INDEX_URL" in result["stackctl_hint"]
    assert not server.root.exists()
