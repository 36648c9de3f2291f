"""Doubts about the variables beside a site."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackctl import paths
from stackctl.site import overrides
from stackctl.site.load import open_file

Doubts = Callable[[dict[str, str]], list[str]]


@pytest.fixture
def doubts(
    write: Callable[[str], Path], good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Doubts]:
    """Writes files beside a good site, and returns what is said of them; the role `search` has two variables."""
    role = tmp_path / "data" / "playbooks" / "roles" / "search"
    (role / "defaults").mkdir(parents=True)
    (role / "defaults" / "main.yml").write_text("---\nsearch_fetch_allow: []\n")
    (role / "meta").mkdir()
    (role / "meta" / "argument_specs.yml").write_text(
        "---\nargument_specs:\n  main:\n    options:\n      search_workers: {type: int}\n"
    )
    monkeypatch.setattr(paths, "data", lambda *parts: tmp_path.joinpath("data", *parts))
    _forget()

    def _doubts(files: dict[str, str]) -> list[str]:
        file = write(good)
        monkeypatch.chdir(file.parent)
        for name, text in files.items():
            (file.parent / name).parent.mkdir(parents=True, exist_ok=True)
            (file.parent / name).write_text(text)
        return [str(problem) for problem in overrides.doubts(open_file(file))]

    yield _doubts
    _forget()


def _forget() -> None:
    overrides._variables_of.cache_clear()
    overrides._roles.cache_clear()


def test_nothing_to_doubt(doubts: Doubts) -> None:
    assert doubts({}) == []
    assert (
        doubts(
            {
                "group_vars/all.yml": "search_fetch_allow: ['10.0.0.0/8']\nansible_user: me\n",
                "group_vars/search/workers.yml": "search_workers: 2\nown_thing: 1\n",
                "group_vars/database": "---\n",
                "host_vars/metal-1.yml": "secret: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\nraw: !unsafe '{{ x }}'\n",
                "group_vars/all/vault.yml": "$ANSIBLE_VAULT;1.1;AES256\n3030\n",
                "group_vars/.hidden.yml": "search_nothing: 1\n",
                "group_vars/notes.txt": "not yaml: [",
            }
        )
        == []
    )


def test_a_name_that_no_role_knows(doubts: Doubts) -> None:
    assert doubts({"group_vars/all.yml": "a: 1\nsearch_fetch_alow: []\nsearch_zzz: 1\n"}) == [
        "group_vars/all.yml:2: search_fetch_alow: the role search has no such variable; "
        "did you mean search_fetch_allow?",
        "group_vars/all.yml:3: search_zzz: the role search has no such variable; "
        "its README lists them (playbooks/roles/search/README.md)",
    ]


def test_a_variable_that_hides_the_site(doubts: Doubts) -> None:
    assert doubts({"host_vars/metal-1.yml": "queue_port: 1\nstackctl_site: x\n"}) == [
        "host_vars/metal-1.yml:1: queue_port: hides what stack.yml says; "
        "set services.queue.port in stack.yml instead",
        "host_vars/metal-1.yml:2: stackctl_site: hides what stack.yml says; it follows from the site",
    ]


def test_a_file_for_nobody(doubts: Doubts) -> None:
    assert doubts({"group_vars/databse.yml": "x: 1\n", "host_vars/metal-2.yml": "x: 1\n"}) == [
        "group_vars/databse.yml:1: there is no group databse; did you mean database?",
        "host_vars/metal-2.yml:1: there is no host metal-2; did you mean metal-1?",
    ]


def test_a_file_that_is_no_yaml(doubts: Doubts) -> None:
    (said,) = doubts({"group_vars/all.yml": "a: 1\nb: [\n"})
    assert said.startswith("group_vars/all.yml:3: not valid YAML: ")
