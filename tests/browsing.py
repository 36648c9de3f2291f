"""A browser and what it looks at: a small book to crawl, Apache before the app, Chromium with helpers."""

import contextlib
import html
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import jinja2
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.wait import WebDriverWait

from stackctl import paths
from tests.stack import Process, Stack, missing_programs

PATIENCE = 120
"""Seconds; a busy machine is no fault of the code."""
CHAPTERS = 26
HOSTILE = "<script>document.title='broken'</script> & \"quoted\" 'title'"


def missing() -> list[str]:
    programs = {
        name: shutil.which(name, path="/usr/sbin:/usr/bin:/bin") for name in ("apache2", "chromedriver", "chromium")
    }
    return [*missing_programs(), *(name for name, path in programs.items() if path is None)]


class Book(BaseHTTPRequestHandler):
    """A small book: a table of contents, chapters, one page that fails, one with a hostile title."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        page = self._page(self.path)
        body = (page or "<title>absent</title>").encode()
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    def _page(path: str) -> str | None:
        if path == "/book/":
            links = "".join(f'<li><a href="chapter-{number}.html">{number}</a>' for number in range(1, CHAPTERS + 1))
            links += "<li><a href=gone.html>gone</a><li><a href=odd.html>odd</a>"
            return f"<title>A book of lighthouses</title><h1>Contents</h1><ul>{links}</ul>"
        if path == "/book/odd.html":
            text = "The word pharology stands here, with &lt;b&gt;marks&lt;/b&gt; around."
            return f"<title>{html.escape(HOSTILE)}</title><p>{text}"
        for number in range(1, CHAPTERS + 1):
            if path == f"/book/chapter-{number}.html":
                kind = "Größe und Licht" if number == 7 else f"Chapter {number}: keepers"
                filler = "The keeper trims the lamp at dusk and winds the clockwork of the lens. " * 12
                return (
                    f"<title>{kind}</title><h1>{kind}</h1><p>{filler}</p>"
                    f"<p>In the lantern room number {number} the fresnel lens turns.</p><p>{filler}</p>"
                )
        return None

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@dataclass(frozen=True)
class App:
    """Where the app is, the site that it may crawl, and how to get an empty one."""

    address: str
    site: str
    stack: Stack


def start_apache(folder: Path, at: str, application_port: int) -> Process:
    """Apache, with the site that the role writes."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(paths.data("playbooks", "roles", "search", "templates")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    site = templates.get_template("site.conf.j2").render(
        inventory_hostname="test", search_application_port=application_port, __search_web_at=at
    )
    modules = ("mpm_event", "authz_core")
    whole = folder / "apache.conf"
    whole.write_text(
        f"ServerRoot {folder}\nPidFile {folder}/apache.pid\nErrorLog {folder}/apache.log\n"
        + "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in modules)
        + "User nobody\nGroup nogroup\n"
        + site
    )
    argv = [shutil.which("apache2", path="/usr/sbin") or "apache2", "-DFOREGROUND", "-f", str(whole)]
    return Process(argv, folder / "apache.out", {"APACHE_LOG_DIR": str(folder)}).start()


_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
)


class Browser:
    """Chromium with helpers for what people do."""

    def __init__(self, driver: webdriver.Chrome, app: App) -> None:
        self.driver = driver
        self.app = app

    def open(self, path: str) -> None:
        """Go to a page of the app."""
        self.driver.get(self.app.address + path)

    def find(self, selector: str) -> WebElement:
        """The first element of a CSS selector."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[str]:
        """The texts of all elements of a CSS selector."""
        return [element.text for element in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Until a condition holds; the page may renew itself meanwhile."""
        ignored = (StaleElementReferenceException, NoSuchElementException)
        WebDriverWait(self.driver, PATIENCE, 0.2, ignored).until(lambda _: condition(), what)

    @contextlib.contextmanager
    def left(self) -> Iterator[None]:
        """Until the page is another one: what a key or a click loads is not there yet when they return."""
        page = self.find("html")
        yield
        WebDriverWait(self.driver, PATIENCE, 0.1).until(staleness_of(page), f"another page than {self.path}")

    def click(self, selector: str) -> None:
        """Click on what leads to another page, and be there."""
        with self.left():
            self.find(selector).click()

    def enter(self, words: str) -> None:
        """Search for words, by the keyboard, and be on the page of results."""
        field = self.find("#q")
        field.clear()
        with self.left():
            field.send_keys(words, Keys.ENTER)

    @property
    def path(self) -> str:
        """The path and query of the page."""
        return self.driver.current_url.removeprefix(self.app.address)

    def picture(self, name: str) -> None:
        """Keep a screenshot where $STACKCTL_SCREENSHOTS says."""
        folder = os.environ.get("STACKCTL_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(f"{folder}/{name}.png")


def start_chromium(profile: Path, *, scripts: bool, size: str) -> webdriver.Chrome:
    """A Chromium of its own profile."""
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*_FLAGS, f"--user-data-dir={profile}", f"--window-size={size}"):
        options.add_argument(flag)
    if not scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_page_load_timeout(PATIENCE)
    return driver
