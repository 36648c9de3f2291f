"""The search app on a server, from outside: a manual is submitted, crawled, found, while parts of it are killed."""

import html
import json
import re
import urllib.request
from typing import Any

import pytest

from tests.lib.applied import Server
from tests.lib.container import Container
from tests.lib.waiting import wait_for

MANUAL = "http://127.0.0.1:8081/manual/en/"
PHRASES = {
    "rewrite rule": "rewrite",
    "virtual host": "vhosts",
    "request worker": "mpm",
}
"""What is asked for, and a word that the address of one of the first hits holds."""


class Front:
    """The web front as it is reached from outside the server."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.base + path, timeout=60) as reply:
            return json.loads(reply.read())

    def post(self, path: str, value: object) -> Any:
        request = urllib.request.Request(self.base + path, json.dumps(value).encode(), method="POST")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as reply:
            assert reply.status == 202
            return json.loads(reply.read())

    def page(self, path: str) -> str:
        with urllib.request.urlopen(self.base + path, timeout=60) as reply:
            return str(reply.read().decode())

    def hits(self, phrase: str) -> list[dict[str, Any]]:
        found: dict[str, Any] = self.get(f"/api/search?q={phrase.replace(' ', '+')}")
        assert found["total"] >= len(found["hits"])
        return list(found["hits"])


@pytest.fixture(scope="module")
def front(machine: Container) -> Front:
    return Front(machine.web_port)


@pytest.fixture(scope="module")
def pages(stack: Server) -> int:
    """How many pages the manual has: what the package of the sample site brought."""
    stack.play("sample_site.yml")
    folder = "/usr/share/doc/apache2-doc/manual/en"
    return int(stack.ssh(f"find {folder}/ -name '*.html' | wc -l").stdout)


@pytest.fixture(scope="module")
def crawled(stack: Server, front: Front, pages: int) -> dict[str, Any]:
    """The status after the manual was crawled, while three services and two workers were killed."""
    front.post("/api/urls", {"url": MANUAL})
    for unit in ("memcached", "gearman-job-server", "stacksearch-fetch", "stacksearch-document", "mariadb"):
        stack.ssh(f"systemctl kill --signal=KILL {unit}")
        wait_for(lambda unit=unit: stack.answers(f"systemctl is-active {unit}"), unit, timeout=300)
    stack.ssh("timeout 600 stacksearch status --wait")
    return dict(front.get("/api/status"))


def test_the_whole_manual_is_stored_once(stack: Server, crawled: dict[str, Any], pages: int) -> None:
    assert crawled["open"] == 0
    lost = [failure for failure in crawled["failures"] if failure["reason"] != "HTTP 404"]
    assert lost == [], "the manual has some dead links, and nothing else may fail"
    assert 0.9 * pages <= crawled["documents"] <= pages + 2
    twice = "SELECT COUNT(*) - COUNT(DISTINCT digest) FROM document"
    assert stack.ssh(f"mariadb -BNe '{twice}' stacksearch").stdout.strip() == "0"


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_finds_its_page_by_api_and_page(front: Front, phrase: str) -> None:
    hits = front.hits(phrase)
    assert any(PHRASES[phrase] in hit["url"] for hit in hits[:5]), [hit["url"] for hit in hits]
    assert all(hit["title"] for hit in hits)
    assert any("<mark>" in hit["snippet"] for hit in hits)
    shown = front.page(f"/search?q={phrase.replace(' ', '+')}")
    titles = re.findall(r"<h2><a [^>]*>(.*?)</a>", shown)
    assert [html.unescape(re.sub("<[^>]+>", "", title)).strip() for title in titles] == [hit["title"] for hit in hits]


@pytest.mark.usefixtures("crawled")
def test_searches_go_on_when_the_cache_lost_everything(stack: Server, front: Front) -> None:
    before = front.hits("virtual host")
    stack.ssh("systemctl restart memcached")
    assert front.hits("virtual host") == before


@pytest.mark.usefixtures("crawled")
def test_everything_is_wanted_at_boot(stack: Server) -> None:
    wanted = stack.ssh("systemctl list-dependencies --plain multi-user.target").stdout
    for unit in ("mariadb", "gearman-job-server", "memcached", "sphinxsearch", "stacksearch-web", "apache2"):
        assert f"{unit}.service" in wanted, unit
