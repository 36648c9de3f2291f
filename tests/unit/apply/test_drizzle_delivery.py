"""Drizzle's archive on its way: checked on the controller, sent only when the server lacks it and it fits."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stackctl.apply.archive import Archive
from stackctl.apply.drizzle import Delivery
from stackctl.node.drizzle import Drizzle, Places
from stackctl.node.drizzle_tree import Chosen
from stackctl.node.errors import NodeError
from stackctl.node.process import SystemRunner
from tests.lib.forge import Forge, pack


class Server:
    """What the module does on the server, done in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.drizzle = Drizzle(SystemRunner(), Places(root=folder / "opt"), user=None)
        self.states: list[str] = []
        self.sent: list[Path] = []
        self.libc: str | None = None
        self.machine: str | None = None

    def module(self, words: Mapping[str, Any]) -> dict[str, Any]:
        self.states.append(words["state"])
        chosen = Chosen(tuple(words["plugins"]), tuple(words["wished"]), tuple(words["removed"]))
        try:
            if words["state"] == "installed":
                self.drizzle.install(words["release"], Path(words["archive"]), words["checksum"], chosen)
                return {"changed": True}
            told = self.drizzle.look(Path(words["data"]), words["release"], chosen)
            if words.get("needed"):
                told["packages"] = list(self.drizzle.packages(words["needed"]))
        except NodeError as failure:
            return {"failed": True, **failure.to_result()}
        told |= {"libc": self.libc or told["libc"], "machine": self.machine or told["machine"]}
        return {"changed": False, "invocation": {}, **told}

    def send(self, file: Path) -> str:
        self.sent.append(file)
        return str(file)

    def deliver(self, archive: Archive, *, change: bool = True, check: bool = False, **chosen: Any) -> dict[str, Any]:
        wanted = Chosen(**{"added": ("auth_file",), **chosen})
        delivery = Delivery(archive, str(self.folder / "data"), wanted, self.module, self.send)
        return delivery.run(change=change, check=check)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    folder = tmp_path_factory.mktemp("made")
    tree = Forge(folder / "tree").tree()
    return Archive("drizzle.tar.gz", pack(tree, folder / "drizzle.tar.gz"), home=folder)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def test_checking_sends_nothing_and_tells_all_that_templates_need(server: Server, archive: Archive) -> None:
    for check in (False, True):
        told = server.deliver(archive, change=False, check=check)
        assert not told.get("failed"), told
        assert told["tree"]["program"] == "sbin/drizzled"
        assert (told["added"], told["changed"], told["packages"], told["log_size"]) == (
            ["auth_file"],
            False,
            [],
            None,
        )
        assert "invocation" not in told
    assert (server.sent, "installed" in server.states) == ([], False)


def test_it_is_sent_once(server: Server, archive: Archive) -> None:
    assert server.deliver(archive, check=True)["changed"]
    assert server.sent == []
    assert server.deliver(archive)["changed"]
    assert server.sent == [archive.fetch()]
    told = server.deliver(archive)
    assert (told["changed"], len(server.sent), told["tree"]["program"]) == (False, 1, "sbin/drizzled")


def test_a_release_that_is_there_needs_no_archive_any_more(server: Server, archive: Archive) -> None:
    server.deliver(archive)
    gone = Archive("https://gone.invalid/drizzle.tar.gz", archive.sha256)
    assert server.deliver(gone)["present"] == [archive.name]


def _failure(told: dict[str, Any], server: Server) -> tuple[str, int]:
    assert told["failed"]
    assert (server.sent, server.drizzle.releases.look().present) == ([], ())
    return told["msg"], told["stackctl_exit"]


def test_another_archive(server: Server, archive: Archive) -> None:
    wrong = Archive(archive.source, "0" * 64, home=archive.home)
    message, code = _failure(server.deliver(wrong, change=False), server)
    assert (archive.sha256 in message, code) == (True, 2)


def test_an_archive_that_was_cut_before_its_digest_was_taken(
    server: Server, archive: Archive, tmp_path: Path
) -> None:
    import hashlib

    content = archive.fetch().read_bytes()[:-500]
    (tmp_path / "cut.tar.gz").write_bytes(content)
    cut = Archive(str(tmp_path / "cut.tar.gz"), hashlib.sha256(content).hexdigest())
    message, code = _failure(server.deliver(cut, change=False), server)
    assert ("no whole tar archive" in message, code) == (True, 2)


def test_another_machine(server: Server, archive: Archive) -> None:
    server.machine = "riscv64"
    message, code = _failure(server.deliver(archive, change=False), server)
    assert (f"{os.uname().machine} (64 bits), and the server is riscv64" in message, code) == (True, 2)


def test_an_older_glibc(server: Server, archive: Archive) -> None:
    server.libc = "glibc 2.1"
    message, code = _failure(server.deliver(archive, change=False), server)
    assert ("and the server has 2.1" in message, code) == (True, 2)


def test_another_c_library(server: Server, archive: Archive) -> None:
    server.libc = "musl"
    assert "C library is musl" in _failure(server.deliver(archive, change=False), server)[0]


def test_a_library_that_no_debian_has(server: Server, tmp_path: Path) -> None:
    tree = Forge(tmp_path / "tree")
    tree.tree()
    tree.server(Forge(tmp_path).library("away/libnowhere.so.1"))
    strange = Archive(str(tmp_path / "d.tar"), pack(tree.folder, tmp_path / "d.tar"))
    message, code = _failure(server.deliver(strange, change=False), server)
    assert ("does not have: libnowhere.so.1" in message, code) == (True, 2)


def test_a_foreign_prefix(server: Server, archive: Archive) -> None:
    (server.folder / "opt" / "bin").mkdir(parents=True)
    message, code = _failure(server.deliver(archive, change=False), server)
    assert ("is not ours: it holds bin" in message, code) == (True, 3)


def test_mariadbs_data(server: Server, archive: Archive) -> None:
    (server.folder / "data" / "mysql").mkdir(parents=True)
    message, code = _failure(server.deliver(archive, change=False), server)
    assert ("holds the data of a MariaDB or MySQL server" in message, code) == (True, 3)


def test_a_plugin_that_is_not_there(server: Server, archive: Archive) -> None:
    message, code = _failure(server.deliver(archive, change=False, added=("auth_file", "zeromq")), server)
    assert ("has no plugin zeromq" in message, code) == (True, 2)
