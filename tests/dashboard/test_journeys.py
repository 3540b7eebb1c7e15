"""Ways through the pages as people go them, over a recording, in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from services.dashboard.app import PAGES
from tests.architecture.source_tree import ROOT
from tests.dashboard.test_file_view import url  # noqa: F401 - a fixture
from tests.dashboard.test_page import CHROMIUM, FLAGS, PATIENCE_MILLISECONDS, TOO_WIDE

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect
expect.set_options(timeout=120_000.0)  # a slow machine answers late
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    """Start one Chromium for this file."""
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: playwright.Browser, url: str) -> Iterator[playwright.Page]:  # noqa: F811
    """Open the recording's overview; every other host is out of reach, and no error may be told."""
    problems: list[str] = []
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=url)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    context.route(
        lambda asked: not asked.startswith(url),
        lambda route: (problems.append(route.request.url), route.abort()),
    )
    opened = context.new_page()
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on(
        "console",
        lambda line: problems.append(f"{line.text} {line.location}") if is_problem(line) else None,
    )
    opened.goto("/")
    opened.get_by_test_id("action").wait_for()
    yield opened
    context.close()
    assert problems == []


def is_problem(line: playwright.ConsoleMessage) -> bool:
    """Say whether the page complained; a condition that cannot be read is refused, and that is no fault of the page."""
    return line.type == "error" and "400 (Bad Request)" not in line.text


def parameters(page: playwright.Page) -> dict[str, str]:
    """Return what the address holds."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_one_goes_back_in_time_by_keys_and_a_link_shows_the_same(page: playwright.Page) -> None:
    """Steps by cycle, on another page, too; the address opened anew is the same moment; `l` leads back."""
    newest = page.get_by_test_id("moment").inner_text()
    page.keyboard.press("[")
    page.keyboard.press("[")
    page.wait_for_url(re.compile("at="))
    expect(page.get_by_test_id("live")).to_have_attribute("data-state", "past")
    page.keyboard.press("[")
    then = page.get_by_test_id("moment").inner_text()
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_url(re.compile("/decisions"))
    page.reload()
    expect(page.get_by_test_id("moment")).not_to_have_text(newest)
    assert "at" in parameters(page)
    assert "run" in parameters(page)
    page.keyboard.press("l")
    expect(page.get_by_test_id("moment")).to_have_text(newest)
    assert then != newest


def test_a_late_answer_leads_nobody_back_into_the_past(page: playwright.Page) -> None:
    """Who asks for the newest while a moment of the past is under way stays at the newest."""
    newest = page.get_by_test_id("moment").inner_text()
    held: list[playwright.Route] = []

    def hold(route: playwright.Route) -> None:
        held.append(route)

    page.route("**/api/moment*", hold)
    with page.expect_request("**/api/moment*"):
        page.keyboard.press("[")
    page.keyboard.press("l")
    with page.expect_request_finished(lambda request: "/api/moment" in request.url):
        held.pop().continue_()
    page.evaluate(
        "new Promise(done => setTimeout(done, 200))"
    )  # what would be done with it, is done

    assert "at" not in parameters(page)
    expect(page.get_by_test_id("moment")).to_have_text(newest)


def test_a_decision_is_found_opened_and_followed_into_the_log(page: playwright.Page) -> None:
    """Only what acts, a whole row opens, its chain leads to an event and from there to its cause."""
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.get_by_role("button", name="Only those that act").click()
    page.wait_for_url(re.compile("acts=1"))
    rows = page.locator("tr[data-chosen]")
    expect(page.locator("tr.noop")).to_have_count(0)
    rows.last.locator("td").nth(4).click()
    cycle = parameters(page)["cycle"]
    expect(page.get_by_role("heading", name=f"Cycle {cycle}")).to_be_visible()
    page.get_by_test_id("chain").get_by_role("link", name="decision", exact=True).click()
    expect(page.get_by_test_id("event-data")).to_contain_text(f'"cycle": {cycle}')
    page.get_by_test_id("event").get_by_role("link", name=re.compile("^event ")).first.click()
    expect(page.get_by_test_id("event-data")).to_be_visible()
    page.go_back()
    page.go_back()
    page.wait_for_url(re.compile("/decisions"))


def test_the_log_is_filtered_and_walked_by_keys(page: playwright.Page) -> None:
    """`/` leads into the filter, Enter searches, `j` walks; what is wrong is said."""
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.get_by_test_id("rows").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("cycle == 5")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("where="))
    options = page.locator("[role=option]")
    expect(options.first).to_contain_text("5")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.get_by_label("Condition").fill("scoore > 1")
    page.get_by_label("Condition").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("did you mean score")


def test_the_palette_leads_anywhere(page: playwright.Page) -> None:
    """A colon, some letters of a page or a cycle's number, Enter."""
    search = page.get_by_role("combobox", name=re.compile("cycle"))
    page.keyboard.press(":")
    expect(search).to_be_focused()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/decisions\?cycle=5"))
    page.keyboard.press(":")
    expect(search).to_be_focused()
    page.keyboard.type("hlp")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/help"))
    expect(page.get_by_text("the next row")).to_be_visible()


@pytest.mark.skipif(not AXE.is_file(), reason="needs web/node_modules (make web)")
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_every_page_can_be_read_by_everybody(
    browser: playwright.Browser,
    url: str,  # noqa: F811
    scheme: str,
) -> None:
    """axe-core finds nothing serious on any page, in the dark and in the light."""
    context = browser.new_context(base_url=url, color_scheme=scheme, bypass_csp=True)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    opened, found = context.new_page(), []
    for address in PAGES:
        opened.goto(f"/{address}")
        opened.locator(f"main[data-page={address}] .panel").first.wait_for()
        opened.evaluate(AXE.read_text(encoding="utf-8"))
        violations = opened.evaluate("axe.run().then(result => result.violations)")
        found += [
            f"{address}: {one['id']} {one['nodes'][0]['html'][:90]}"
            for one in violations
            if one["impact"] in {"serious", "critical"}
        ]
    context.close()

    assert found == []


def test_a_recording_that_was_opened_while_it_was_read_can_be_scrubbed_to_its_end(
    page: playwright.Page,
) -> None:
    """The bar's outline grows with what is read, of a file that nobody writes any more, too."""
    slider = page.get_by_role("slider", name="Moment of the log")
    expect(slider).to_have_attribute("aria-valuemax", re.compile(r"\d{4,}"))
    whole = slider.get_attribute("aria-valuemax")

    def early(route: playwright.Route) -> None:
        outline = route.fetch().json()
        begun = {"last_seq": outline["first_seq"] + 9, "last_ms": outline["first_ms"] + 999}
        route.fulfill(json={**outline, **begun, "marks": []})

    page.route("**/api/outline?after=0", early)
    page.reload()
    expect(slider).to_have_attribute("aria-valuemax", "999")
    expect(slider).to_have_attribute("aria-valuemax", whole)
    page.unroute_all(behavior="ignoreErrors")


def test_an_outline_that_is_under_way_is_not_asked_for_again(page: playwright.Page) -> None:
    """A server that is busy for a while answers once, and each mark comes once."""
    slider = page.get_by_role("slider", name="Moment of the log")
    expect(slider).to_have_attribute("aria-valuemax", re.compile(r"\d{4,}"))
    held: list[playwright.Route] = []

    def hold(route: playwright.Route) -> None:
        held.append(route)

    page.clock.install()
    page.route("**/api/outline?after=0", hold)
    page.reload()
    page.get_by_test_id("action").wait_for()
    page.clock.run_for(20_000)
    page.evaluate(
        "fetch('/healthz').then(answer => answer.status)"
    )  # comes after what was asked for before

    assert len(held) == 1
    held[0].continue_()
    expect(slider).to_have_attribute("aria-valuemax", re.compile(r"\d{4,}"))
    page.unroute_all(behavior="ignoreErrors")


@pytest.mark.parametrize("address", PAGES)
def test_every_page_fits_a_narrow_screen(page: playwright.Page, address: str) -> None:
    """At 320 px, which is also 1,280 px at 400 %, nobody scrolls sideways, neither the page nor one of its panels."""
    page.set_viewport_size({"width": 320, "height": 800})
    page.goto(f"/{address}")
    page.locator(f"main[data-page={address}] .panel").first.wait_for()

    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert page.evaluate(TOO_WIDE) == []


def test_times_are_told_in_utc_as_the_browser_has_them_or_from_the_moment_shown(
    browser: playwright.Browser,
    url: str,  # noqa: F811
) -> None:
    """`u` changes all of them and is remembered; a time of day in the palette is meant as it is shown."""
    context = browser.new_context(base_url=url, timezone_id="Asia/Tokyo")
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    opened = context.new_page()
    opened.goto("/")
    moment = opened.get_by_test_id("moment")
    expect(moment).to_contain_text(" UTC, event")
    opened.keyboard.press("[")
    opened.wait_for_url(re.compile("at="))
    utc = clock_of(moment.inner_text())
    opened.keyboard.press("u")
    expect(moment).to_contain_text(" local, event")
    local = clock_of(moment.inner_text())
    opened.keyboard.press("l")
    opened.keyboard.press(":")
    opened.keyboard.type(local)
    opened.keyboard.press("Enter")
    opened.wait_for_url(re.compile("at="))
    again = clock_of(moment.inner_text())
    opened.keyboard.press("u")
    expect(moment).to_contain_text(" UTC, event")
    opened.keyboard.press("g")
    opened.keyboard.press("d")
    times = opened.locator("tr[data-chosen] td:first-child")
    expect(times.first).to_have_text(re.compile(r"^(now|[\d.]+ (s|min) ago)$"))
    expect(times.last).to_have_text(re.compile(r"^[\d.]+ (s|min) ago$"))
    opened.keyboard.press("u")
    expect(times.last).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
    context.close()

    assert int(local[:2]) == (int(utc[:2]) + 9) % 24
    assert local[2:] == utc[2:]
    assert again == local


def clock_of(text: str) -> str:
    """Return the time of day in a text."""
    found = re.search(r"\d\d:\d\d:\d\d", text)
    assert found is not None
    return found[0]
