"""Archives that are no Drizzle, named to the role on a server: each is told, and the server stays as it is.

The archives hold small real ELF files. Nothing in them serves anything.
"""

import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.lib.applied import Server, counts
from tests.lib.forge import Forge, pack

_PORTS = {"database_port": 13306, "database_drizzle_native_port": 14427}
"""Others than those of the MariaDB that runs there."""


class Site:
    """The role with an archive and words of its own."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder

    def told(self, *, changed: int = 0, **words: object) -> str:
        """What the role says when it fails; so many tasks may have changed something before."""
        file = self.folder / "words.yml"
        file.write_text(yaml.safe_dump({"database_engine": "drizzle", **_PORTS, **words}))
        result = self.server.play("database.yml", "-e", f"@{file}", check=False)
        assert result.returncode == 2, result.stdout
        assert counts(result)["changed"] == changed, result.stdout
        return " ".join(result.stdout.split())


@pytest.fixture
def site(stack: Server, tmp_path: Path) -> Iterator[Site]:
    yield Site(stack, tmp_path)
    stack.ssh("rm -rf /opt/drizzle /srv/database/drizzle /etc/drizzle; userdel drizzle", check=False)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Forge(tmp_path_factory.mktemp("made")).tree()


@pytest.fixture
def named(tree: Path, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """The variables that name an archive of the tree, after something was done to it."""

    def named(change: Callable[[Path], None] = lambda tree: None) -> dict[str, str]:
        copy = Path(shutil.copytree(tree, tmp_path / "tree", symlinks=True))
        change(copy)
        file = tmp_path / "drizzle.tar.gz"
        return {"database_drizzle_archive": str(file), "database_drizzle_archive_sha256": pack(copy, file)}

    return named


def test_without_an_archive_the_role_says_what_it_needs(site: Site) -> None:
    said = site.told()
    assert "database_engine drizzle needs an archive, as no distribution packages Drizzle" in said
    assert "database_drizzle_archive_sha256 (not set) its 64 hexadecimal digits" in said


def test_another_archive(site: Site, named: Callable[..., dict[str, str]]) -> None:
    words = named()
    said = site.told(**{**words, "database_drizzle_archive_sha256": "0" * 64})
    assert f"has the SHA-256 {words['database_drizzle_archive_sha256']}, and not {'0' * 64}" in said


def test_another_machine(site: Site, named: Callable[..., dict[str, str]]) -> None:
    def patch(tree: Path) -> None:
        content = bytearray((tree / "sbin" / "drizzled").read_bytes())
        struct.pack_into("<H", content, 18, 22)
        (tree / "sbin" / "drizzled").write_bytes(content)

    assert "its sbin/drizzled is for s390x (64 bits), and the server is x86_64" in site.told(**named(patch))


def test_tcmalloc(site: Site, named: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    def link(tree: Path) -> None:
        Forge(tree).server(Forge(tmp_path).library("away/libtcmalloc.so.4"))

    assert "sbin/drizzled is linked to tcmalloc" in site.told(**named(link))


def test_a_foreign_prefix_and_mariadbs_data(site: Site, named: Callable[..., dict[str, str]]) -> None:
    words = named()
    site.server.ssh("mkdir -p /opt/drizzle/sbin /srv/database/old/mysql && touch /srv/database/old/ibdata1")
    assert "/opt/drizzle is not ours: it holds sbin" in site.told(**words)
    site.server.ssh("rm -r /opt/drizzle")
    said = site.told(**words, database_data_directory="/srv/database/old")
    assert "/srv/database/old holds the data of a MariaDB or MySQL server" in said
    site.server.ssh("rm -r /srv/database/old")


def test_plugins_and_options_that_cannot_be(site: Site, named: Callable[..., dict[str, str]]) -> None:
    words = named()
    said = site.told(**words, database_drizzle_plugins=["auth_all", "json-server"])
    assert "database_drizzle_plugins: no auth_all, json_server here" in said
    said = site.told(**words, database_drizzle_options={"datadir": "/x", "tmpdir": "", "innodb.x": "a#b"})
    assert "database_drizzle_options: datadir, innodb.x, tmpdir cannot be given" in said
    assert "the archive has no plugin zeromq" in site.told(**words, database_drizzle_plugins=["zeromq"])


def test_a_program_that_ends_is_told_with_its_line_and_nothing_is_in_force(
    site: Site, named: Callable[..., dict[str, str]]
) -> None:
    """User, libraries and release are there then; link, configuration and unit are not."""

    def replace(tree: Path) -> None:
        source = '#include <stdio.h>\nint main(void) { fputs("unknown something\\n", stderr); return 3; }'
        Forge(tree).program("sbin/drizzled", source)

    said = site.told(changed=2, **named(replace))
    assert "this drizzled does not start with this configuration (it ended with 3): unknown something" in said
    server = site.server
    assert not server.answers("test -e /opt/drizzle/current || test -e /etc/drizzle || test -e /srv/database/drizzle")
    assert not server.answers("systemctl cat drizzled")
    assert server.ssh("ls /opt/drizzle/releases | wc -l").stdout.strip() == "1"
    assert server.ssh("ls /var/tmp | grep -c stackctl-drizzle", check=False).stdout.strip() == "0"
