"""Search: its units run and listen where the site says, it reaches its services, and a page is crawled and found."""

import pytest

from stackctl.site.listeners import own_address
from stackctl.validation import crawlable, expect, listening, volumes
from stackctl.validation.connection import Node
from stackctl.validation.inventory import Target
from stackctl.validation.probes import search as probe
from stackctl.validation.system import System

COMMON = "the | of | and | to | a | de | la | und | 1"
"""Words of which some page has at least one; `|` stands for or."""


def test_runs(system: System, units: tuple[str, ...]) -> None:
    """Sphinx, the workers, the web front and the web server run."""
    expect.nothing(system.wrong_now(units))


def test_listens(system: System, target: Target, units: tuple[str, ...]) -> None:
    """Sphinx, the application and the web server listen where the site says."""
    expect.running(system, units)
    expect.nothing(listening.missing("search", target, system))


def test_listens_nowhere_else(system: System, target: Target, units: tuple[str, ...]) -> None:
    """Sphinx and the web server listen nowhere else."""
    expect.running(system, units)
    expect.nothing(listening.astray("search", target, system))


def test_index_on_its_volume(system: System, target: Target) -> None:
    """The index lies on a volume of the layout."""
    expect.nothing([volumes.wrong_place(target, system, target["search_index_directory"])])


def test_application(node: Node) -> None:
    """The application reaches its services by its own configuration, and its workers are there."""
    expect.nothing(node.ask(probe.look))


def test_page(node: Node, target: Target) -> None:
    """A page is submitted, crawled and found by search."""
    front = {"host": own_address(target["search_web_listen"]), "port": target["search_web_port"]}
    # where there are several crawlers, another host's may take the page, and its loopback is not ours
    alone = not target.peers.get("search")
    places = crawlable.places(target.get("search_fetch_allow", ())) if alone else []
    page = node.ask(probe.page, **front, places=places)
    if page["served"]:
        left = page["cleanup"] and f"the page of this check could not be forgotten: {page['cleanup']}"
        expect.nothing([page["wrong"], left])
        return
    known = node.ask(probe.known, **front, words=COMMON)
    expect.nothing([known["wrong"]])
    if not known["documents"]:
        pytest.skip(
            "nothing is in the index, and search_fetch_allow names no free place on loopback for a page of ours"
        )
    if not known["found"]:
        expect.nothing([f"there are {known['documents']} documents, and no common word is found in any"])
