"""What a person does with the search: submits a page, watches it, searches, finds. No page needs a script."""

from collections.abc import Callable

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browsing import CHAPTERS, HOSTILE, App, Browser

Start = Callable[..., Browser]


def test_a_page_is_submitted_watched_and_found(browser: Browser, app: App) -> None:
    browser.open("/")
    browser.picture("home")
    with browser.left():
        browser.driver.find_element(By.LINK_TEXT, "Submit").click()
    browser.find("#urls").send_keys(f"{app.site}chapter-3.html")
    depth = browser.find("#depth")
    depth.clear()
    depth.send_keys("0")
    browser.picture("submit")
    browser.click("main button")
    assert browser.path.startswith("/urls/")
    browser.wait(lambda: browser.all(".state") == ["done"], "the page is done")
    browser.picture("url")
    browser.open("/")
    browser.enter("lantern room number 3")
    assert browser.all(".hits h2") == ["Chapter 3: keepers"]
    assert browser.find(".hits h2 a").get_attribute("href") == f"{app.site}chapter-3.html"
    browser.click(".hits h2 a")
    assert browser.driver.title == "Chapter 3: keepers"


def test_a_whole_book_is_crawled_and_the_status_tells(browser: Browser, app: App) -> None:
    browser.open("/submit")
    browser.find("#urls").send_keys(app.site)
    browser.click("main button")
    browser.open("/status")
    browser.wait(lambda: "The crawl has ended" in browser.find("main").text, "the end of the crawl")
    browser.picture("status")
    cards = dict(zip(browser.all(".card dt"), browser.all(".card dd"), strict=True))
    assert (cards["done"], cards["open"], cards["failed"]) == (str(CHAPTERS + 2), "0", "1")
    assert browser.all("table a") == [f"{app.site}gone.html"]
    assert "404" in browser.find("main").text


@pytest.mark.usefixtures("crawled")
def test_results_come_page_by_page(browser: Browser) -> None:
    browser.open("/search?q=fresnel+lens")
    browser.picture("results")
    assert f"{CHAPTERS} results" in browser.find("[role=status]").text
    first = browser.all(".hits h2")
    assert len(first) == 10
    assert set(browser.all(".hits mark")) == {"fresnel", "lens"}
    browser.click("[rel=next]")
    assert "page=2" in browser.path
    assert not set(browser.all(".hits .place")) & set(first)
    browser.click("[rel=next]")
    assert len(browser.all(".hits h2")) == CHAPTERS - 20
    assert browser.driver.find_elements(By.CSS_SELECTOR, "[rel=next]") == []


@pytest.mark.usefixtures("crawled")
def test_words_of_other_alphabets_and_phrases(browser: Browser) -> None:
    browser.open("/")
    browser.enter("GRÖßE")
    assert browser.all(".hits h2") == ["Größe und Licht"]
    assert browser.find("#q").get_attribute("value") == "GRÖßE"
    browser.enter('"room number 7"')
    assert browser.all(".hits h2") == ["Größe und Licht"]


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("words", ['"', "((", "@title x", "lens |", "-lens", "/", "a*", "\\", "<b>", "%", "lens'--"])
def test_no_words_break_the_page(browser: Browser, words: str) -> None:
    browser.open("/")
    browser.enter(words)
    assert browser.find("[role=status]").text
    assert browser.find("#q").get_attribute("value") == words


@pytest.mark.usefixtures("crawled")
def test_what_pages_say_is_text_and_no_markup(browser: Browser) -> None:
    browser.open("/search?q=pharology")
    assert browser.all(".hits h2") == [HOSTILE]
    assert "<b>marks</b>" in browser.find(".snippet").text
    assert browser.driver.title == "pharology · Lighthouse search"
    assert browser.driver.find_elements(By.CSS_SELECTOR, ".snippet b, script") == []


@pytest.mark.usefixtures("crawled")
def test_everything_works_without_scripts(start: Start, app: App) -> None:
    browser = start(scripts=False)
    for path in ("/", "/submit", "/status"):
        browser.open(path)
        assert browser.driver.find_elements(By.CSS_SELECTOR, "script") == []
    browser.open("/submit")
    browser.find("#urls").send_keys(f"{app.site}chapter-1.html")
    browser.click("main button")
    browser.wait(lambda: browser.all(".state") == ["done"], "the page is done, without a script that looks")
    browser.open("/")
    browser.enter("clockwork")
    assert browser.all(".hits h2")


@pytest.mark.usefixtures("crawled")
def test_the_keyboard_is_enough(browser: Browser) -> None:
    """From the address line: the skip link, the navigation, the field; every stop can be seen."""
    browser.open("/search?q=keeper")
    stops = []
    for _ in range(8):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.driver.switch_to.active_element
        stops.append((focused.text or focused.get_attribute("name") or "").strip())
        outline = focused.value_of_css_property("outline-style")
        assert outline != "none", f"{stops[-1]} does not show that it has the focus"
    assert stops[:7] == ["Skip to the content", "Lighthouse search", "Search", "Submit", "Status", "q", "Search"]
    with browser.left():
        browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.driver.title.startswith("Chapter") or browser.driver.title.startswith("Größe")


def test_the_field_has_the_focus_at_the_start(browser: Browser) -> None:
    browser.open("/")
    with browser.left():
        browser.driver.switch_to.active_element.send_keys("lamp", Keys.ENTER)
    assert browser.path == "/search?q=lamp"


@pytest.mark.parametrize(
    ("typed", "said"),
    [("ftp://127.0.0.1/", "ftp"), ("http://", "http://"), ("not a url", "not"), ("http://[::1", "[::1")],
)
def test_what_is_no_url_is_told_and_kept(browser: Browser, typed: str, said: str) -> None:
    browser.open("/submit")
    browser.find("#urls").send_keys(typed)
    browser.click("main button")
    assert said in browser.find("[role=alert]").text
    assert browser.find("#urls").get_attribute("value") == typed
    if typed == "not a url":
        browser.picture("submit-error")


def test_another_sites_page_cannot_submit(browser: Browser, app: App) -> None:
    """A form elsewhere that points here."""
    browser.driver.get(
        "data:text/html,<form method=post action="
        f"{app.address}/submit><input name=urls value={app.site}evil.html><input name=depth value=0><button>go"
    )
    browser.click("button")
    assert browser.all("h1") == ["Not allowed"]
    browser.open("/status")
    assert "evil" not in browser.find("main").text


def test_pages_that_are_not_there(browser: Browser) -> None:
    for path in ("/nothing", "/urls/999999"):
        browser.open(path)
        assert browser.all("h1") == ["Not found"]
    browser.picture("missing")


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("path", ["/", "/search?q=fresnel", "/submit", "/status"])
def test_a_telephone_needs_no_sideways_scrolling(start: Start, path: str) -> None:
    browser = start(size="500,900")
    browser.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    )
    browser.open(path)
    browser.picture(f"phone{path.split('?')[0].replace('/', '-')}")
    width = browser.driver.execute_script("return document.documentElement.scrollWidth")
    assert width <= 360


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_its_ground(start: Start, dark: bool) -> None:
    """WCAG 2 AA: 4.5 to 1 for every piece of text on every page."""
    browser = start()
    scheme = "dark" if dark else "light"
    browser.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    for path in ("/", "/search?q=fresnel", "/submit", "/status", "/nothing"):
        browser.open(path)
        browser.picture(f"{scheme}{path.split('?')[0].replace('/', '-')}")
        assert browser.driver.execute_script(_CONTRAST) == []


_CONTRAST = """
const luminance = ([r, g, b]) => {
  const [R, G, B] = [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * R + 0.7152 * G + 0.0722 * B;
};
const parse = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
const ground = element => {
  for (let e = element; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
const wrong = [];
for (const element of document.body.querySelectorAll('*')) {
  const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !element.getClientRects().length) continue;
  const ink = luminance(parse(getComputedStyle(element).color));
  const [a, b] = [ink, luminance(ground(element))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) wrong.push(element.tagName + '.' + element.className + ' ' + ratio.toFixed(2));
}
return wrong;
"""
