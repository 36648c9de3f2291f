"""The probe of search against the real application: a page is crawled, found, forgotten; what is broken is told."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl.node.process import RecordingRunner, Result, SystemRunner
from stackctl.validation.probes import search
from stacksearch.urls import digest
from tests.lib.waiting import wait_for
from tests.stack import WORKERS, Stack, free_port, listens, missing_programs

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(bool(missing_programs()), reason=f"needs {', '.join(missing_programs())}"),
]

LOOPBACK = "127.0.0.1"


class App:
    """The application with its web front, and its command line in place of the server's."""

    def __init__(self, stack: Stack, port: int, settings: Path) -> None:
        self.stack, self.port, self.settings = stack, port, settings

    def command(self, argv: tuple[str, ...]) -> Result:
        words = [sys.executable, "-m", "stacksearch.cli", "--config", str(self.settings), *argv[1:]]
        return SystemRunner().run(words, check=False)

    @property
    def runner(self) -> RecordingRunner:
        return RecordingRunner(self.command)

    def count(self, table: str) -> int:
        rows = self.stack.root(lambda cursor: cursor.execute(f"SELECT COUNT(*) FROM probed.{table}"))
        return int(rows[0][0])


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    stack = Stack(tmp_path_factory.mktemp("search"))
    stack.start()
    try:
        stack.clean("probed")
        port = free_port()
        settings = stack.write_settings(fetch={"allow": ["127.0.0.0/8"]}, web={"port": port})
        app = App(stack, port, settings)
        assert app.command(("stacksearch", "migrate")).returncode == 0
        with stack.running(settings, *WORKERS, ("web",)):
            wait_for(lambda: listens(port), "the web front")
            wait_for(lambda: search.look(app.runner) == [], "the workers")
            yield app
    finally:
        stack.stop()


def test_an_application_in_order_finds_nothing_amiss(app: App) -> None:
    assert search.look(app.runner) == []


def test_a_page_is_crawled_found_and_forgotten(app: App) -> None:
    page = search.page(LOOPBACK, app.port, [[LOOPBACK, 0]], app.runner)
    assert page == {"served": True, "wrong": None, "cleanup": None}
    assert [app.count(table) for table in ("url", "document", "document_part")] == [0, 0, 0]
    assert app.stack.sphinx("SELECT id FROM documents") == []


def test_forgetting_leaves_what_others_lead_to(app: App) -> None:
    app.stack.root(lambda cursor: cursor.execute("INSERT INTO probed.document VALUES (77, 'd', 'title', 1, 1, 1)"))
    rows = [
        f"('{digest(address)}', '{address}', 'done', 1, 0, 1, 0, 0, '', 77, '')"
        for address in ("http://a.example/", "http://b.example/")
    ]
    columns = "digest, address, state, moment, depth, seed, generation, attempts, lease, document, reason"
    app.stack.root(lambda cursor: cursor.execute(f"INSERT INTO probed.url ({columns}) VALUES {', '.join(rows)}"))
    forgot = app.command(("stacksearch", "forget", "http://a.example/", "http://c.example/"))
    assert forgot.stdout == "forgot 1 of 2 URLs\n"
    assert (app.count("url"), app.count("document")) == (1, 1)
    assert app.command(("stacksearch", "forget", "http://b.example/")).returncode == 0
    assert (app.count("url"), app.count("document")) == (0, 0)


def test_a_place_that_is_taken_is_passed_over(app: App) -> None:
    page = search.page(LOOPBACK, app.port, [[LOOPBACK, app.port], [LOOPBACK, 0]], app.runner)
    assert (page["served"], page["wrong"]) == (True, None)
    assert search.page(LOOPBACK, app.port, [[LOOPBACK, app.port]], app.runner)["served"] is False


def test_an_empty_index_is_told_as_such(app: App) -> None:
    assert search.known(LOOPBACK, app.port, "the | of") == {"wrong": None, "documents": 0, "found": 0}


def test_a_front_that_is_off_is_told(app: App) -> None:
    page = search.page(LOOPBACK, free_port(), [[LOOPBACK, 0]], app.runner)
    assert page["wrong"].endswith(": Connection refused")
    assert page["cleanup"] is None


def test_a_stopped_index_is_told(app: App) -> None:
    app.stack.services["index"].stop()
    try:
        (wrong,) = search.look(app.runner)
        assert wrong.startswith("index: searchd at")
    finally:
        app.stack.start_service("index")


def test_a_wrong_password_is_told(app: App, tmp_path: Path) -> None:
    text = app.settings.read_text()
    app.settings.write_text(text.replace("password: secret", "password: wrong"))
    try:
        (wrong,) = search.look(app.runner)
        assert wrong.startswith("database: ")
        assert "Access denied" in wrong
    finally:
        app.settings.write_text(text)


def test_a_command_that_is_not_there_is_told() -> None:
    runner = RecordingRunner(lambda argv: Result(argv, 127, "", "stacksearch: not found"))
    assert search.look(runner) == ["stacksearch: not found"]
