"""The whole search app on loopback: services, workers, web front, Apache before it; a site to crawl; a browser."""

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium import webdriver

from tests.browsing import PATIENCE, App, Book, Browser, missing, start_apache, start_chromium
from tests.lib.waiting import wait_for
from tests.stack import WORKERS, Process, Stack, free_port, listens


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here drives a browser; where a program is missing it is skipped and says which."""
    lacking = missing()
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if lacking:
                item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(lacking)}"))


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the book."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Book)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/book/"
    server.shutdown()
    thread.join()


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory, site: str) -> Iterator[App]:
    """The app with everything that it needs; nothing has been submitted yet."""
    folder = tmp_path_factory.mktemp("app")
    stack = Stack(folder)
    stack.start()
    apache: Process | None = None
    try:
        stack.clean("browsed")
        own, front = free_port(), free_port()
        settings = stack.write_settings(
            fetch={"allow": ["127.0.0.1"]}, web={"port": own, "title": "Lighthouse search"}, sweep={"interval": 1.0}
        )
        migration = stack.app(settings, "migrate")
        assert migration.popen is not None
        assert migration.popen.wait(PATIENCE) == 0, migration.log.read_text()
        with stack.running(settings, *WORKERS, ("web",)):
            wait_for(lambda: listens(own), "the web front", timeout=PATIENCE)
            apache = start_apache(folder, f"127.0.0.1:{front}", own)
            wait_for(lambda: listens(front), "Apache", timeout=PATIENCE)
            yield App(f"http://127.0.0.1:{front}", site, stack)
    finally:
        if apache is not None:
            apache.stop()
        stack.stop()


@pytest.fixture
def start(app: App, tmp_path: Path) -> Iterator[Callable[..., Browser]]:
    """Start a browser: with or without scripts, of some size."""
    drivers: list[webdriver.Chrome] = []

    def start(*, scripts: bool = True, size: str = "1200,900") -> Browser:
        driver = start_chromium(tmp_path / f"profile-{len(drivers)}", scripts=scripts, size=size)
        drivers.append(driver)
        return Browser(driver, app)

    yield start
    for driver in drivers:
        driver.quit()


@pytest.fixture
def browser(start: Callable[..., Browser]) -> Browser:
    """A browser as most people have it."""
    return start()


@pytest.fixture(scope="session")
def crawled(app: App) -> App:
    """The app after the book has been crawled, without a browser."""

    def ask(path: str, data: object = None) -> dict[str, object]:
        body = None if data is None else json.dumps(data).encode()
        asked = urllib.request.Request(app.address + path, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            found: dict[str, object] = json.load(answer)
            return found

    ask("/api/urls", {"url": app.site})

    def ended() -> bool:
        status = ask("/api/status")
        return status["open"] == 0 and bool(status["documents"])

    wait_for(ended, "the end of the crawl", timeout=PATIENCE)
    return app
