"""What people read from the page, in a real Chromium."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import httpx
import pytest

from bus.clock import SystemClock
from schemas.actions import ActionKind
from schemas.decision import RefereeRule
from tests import builders
from tests.dashboard.built_cycles import cycles, one_cycle
from tests.dashboard.served_page import FilledLog, ServedPage, served_over
from tests.patience import HANGS_SECONDS
from tests.score_events import make_difference, make_judgement

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MILLISECONDS = 1_000.0 * HANGS_SECONDS
"""A machine that builds container images beside this stood still for half a minute."""
TOO_WIDE = """() => [...document.querySelectorAll("main .panel .body")]
    .filter(body => body.scrollWidth > body.clientWidth)
    .map(body => `${body.parentElement.dataset.testid}: ${body.scrollWidth} px in ${body.clientWidth}`)"""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH"),
]
expect = playwright.expect


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    """Start one Chromium for this file."""
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def problems() -> list[str]:
    """Return what the page complained about: script errors, refused and failed requests."""
    return []


@pytest.fixture
def page(
    browser: playwright.Browser, served_page: ServedPage, problems: list[str]
) -> Iterator[playwright.Page]:
    """Open the page of a dozen cycles."""
    _wait_for(served_page.url)
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    opened = context.new_page()
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    opened.goto(served_page.url)
    opened.get_by_test_id("action").wait_for()
    yield opened
    context.close()


def test_the_page_tells_the_action_and_why(page: playwright.Page) -> None:
    """The newest action, its target, the referee's rule and the rationale are on the page."""
    action = page.get_by_test_id("action")
    assert action.get_attribute("data-label") == "AgentA:replicate"
    expect(action).to_contain_text("replicate")
    expect(action).to_contain_text(re.compile(r"node-\d{3}"))
    expect(page.get_by_test_id("rule")).to_have_text("safety_first")
    expect(page.get_by_test_id("rationale")).to_contain_text("A goes before everything")


def test_each_loser_stands_there_with_the_rule_that_beat_it(page: playwright.Page) -> None:
    """Nobody loses silently: both losers show rule, winner and their numbers."""
    for agent in ("admission", "efficiency"):
        expect(page.get_by_test_id(f"loser-{agent}-rule")).to_have_text("safety_first")
        expect(page.get_by_test_id(f"loser-{agent}")).to_contain_text("lost to A")
    expect(page.get_by_test_id("loser-admission")).to_contain_text("cpu pressure 0.62 ≥ 0.6")
    expect(page.get_by_test_id("loser-admission")).to_contain_text("queue")
    expect(page.get_by_test_id("loser-efficiency")).to_contain_text("nothing to do")


def test_the_age_of_the_newest_event_moves_on_and_turns_amber(page: playwright.Page) -> None:
    """The age is that of the log, not of the page, and grows while nothing comes."""
    newest = page.get_by_test_id("newest-age")
    first = _seconds(newest.inner_text())
    assert first < 20
    page.wait_for_function(
        "before => parseFloat(document.querySelector('[data-testid=newest-age]').textContent)"
        " > before",
        arg=first,
    )
    expect(page.get_by_test_id("live")).to_have_attribute(
        "data-state", "stale", timeout=PATIENCE_MILLISECONDS
    )
    expect(page.get_by_test_id("layer-decision")).to_have_attribute("data-state", "stale")


def test_a_new_cycle_appears_by_itself(page: playwright.Page, served_page: ServedPage) -> None:
    """What is decided while the page is open is shown without a reload, a missing agent too."""
    proposal = builders.stamp_event(
        builders.make_proposal("admission", ActionKind.RESOURCE_CAP, cycle=13, target="node-001")
    )
    decision = builders.make_decision(
        proposal.data.action,
        cycle=13,
        considered=[builders.make_considered(proposal)],
        selected=proposal.id,
        rule=RefereeRule.ADMISSION_PROTECTS,
        missing=("efficiency",),
    )
    served_page.store([proposal, builders.stamp_event(decision)])
    expect(page.get_by_test_id("action")).to_have_attribute("data-label", "AgentC:resource_cap")
    expect(page.get_by_test_id("missing-efficiency")).to_contain_text("no proposal")
    expect(page.get_by_test_id("live")).to_have_attribute("data-state", "live")
    expect(page.get_by_test_id("tail").locator(".event").first).to_contain_text("decision")


def test_an_earlier_cycle_can_be_read_again(page: playwright.Page) -> None:
    """Selecting a recent decision shows its argument and leads back to the newest."""
    page.get_by_test_id("recent-5").get_by_role("button").press("Enter")
    expect(page.get_by_test_id("decision-note")).to_contain_text("cycle 5,")
    page.get_by_role("button", name="Back to the newest").click()
    expect(page.get_by_test_id("decision-note")).to_contain_text("cycle 12,")


def test_a_click_anywhere_on_a_decisions_row_opens_it(page: playwright.Page) -> None:
    """Not its number alone: what is aimed at is the row."""
    page.get_by_test_id("recent-5").locator("td").nth(3).click()
    expect(page.get_by_test_id("decision-note")).to_contain_text("cycle 5,")
    expect(page.get_by_test_id("recent-5")).to_have_attribute("data-chosen", "true")


def test_the_tail_pauses_and_opens_an_event(page: playwright.Page, served_page: ServedPage) -> None:
    """A paused tail stands still, and a selected event is shown whole."""
    first = page.get_by_test_id("tail").locator(".event").first
    before = first.inner_text()
    page.get_by_role("button", name="Pause").click()
    served_page.store(one_cycle(13)[-1:])
    expect(page.get_by_test_id("tail-note")).to_contain_text("1 waiting")
    assert first.inner_text() == before
    first.click()
    expect(page.get_by_test_id("detail")).to_contain_text("foresail.outcome.reward.v2")
    page.get_by_role("button", name="Resume").click()
    expect(first).not_to_have_text(before)


def test_a_row_that_is_too_long_is_no_clip_of_its_own(page: playwright.Page) -> None:
    """Some 250 clips, painted anew with each update, took the tab of an hour to 382 MB (docs/dashboard.md, Memory)."""
    clips = """() => [...document.querySelectorAll(".overview *")]
        .filter((one) => getComputedStyle(one).overflowX !== "visible").length"""
    assert page.locator(".overview .event").count() == 40
    assert page.evaluate(clips) < 100


def test_a_click_opens_the_event_that_was_pressed(
    page: playwright.Page, served_page: ServedPage
) -> None:
    """Others take its place until the button is let go, where hundreds arrive in a second."""
    first = page.get_by_test_id("tail").locator(".event").first
    subject = first.locator(".mono").inner_text()
    first.hover()
    page.mouse.down()
    served_page.store(one_cycle(13))
    expect(page.get_by_test_id("decision-note")).to_contain_text("cycle 13,")
    page.mouse.up()
    expect(page.get_by_test_id("detail")).to_contain_text('"cycle": 12')
    expect(page.get_by_test_id("detail")).to_contain_text(subject)


def test_the_cluster_is_marked_as_simulated(page: playwright.Page) -> None:
    """What the embedded cluster says can never be taken for a real one."""
    expect(page.get_by_test_id("simulated")).to_have_text("SIMULATED")
    expect(page.get_by_test_id("mode")).to_have_text("active")
    expect(page.get_by_test_id("nodes")).to_have_attribute("aria-label", re.compile("24 nodes"))
    expect(page.get_by_test_id("signal-node_usage")).to_contain_text("22 s")


def test_what_acting_changed_is_said_in_words(
    page: playwright.Page, served_page: ServedPage
) -> None:
    """Without an untouched world the page says so; with one it says helps or harms, and by how much."""
    acting = page.get_by_test_id("acting")
    expect(acting).to_contain_text("No untouched world runs beside this one")
    served_page.store([builders.stamp_event(make_difference(12, waiting=5.0))])
    expect(page.get_by_test_id("acting-verdict")).to_have_attribute("data-verdict", "harms")
    expect(acting).to_contain_text(
        "Acting harms so far: -0.1 USD against the same world left alone"
    )
    expect(page.get_by_test_id("acting-waiting")).to_contain_text("+5 pod-hours")
    expect(page.get_by_test_id("acting-waiting")).to_contain_text("this cycle +0.5")


def test_the_page_breaks_none_of_its_own_rules(page: playwright.Page, problems: list[str]) -> None:
    """No script error, no missing file, nothing that the content security policy refuses."""
    page.emulate_media(color_scheme="light")
    page.reload()
    page.get_by_test_id("action").wait_for()
    assert problems == []


@pytest.mark.parametrize("width", [390, 320])
def test_a_narrow_screen_shows_the_page_in_its_width(page: playwright.Page, width: int) -> None:
    """Nothing sticks out of a telephone's screen, so nobody has to scroll sideways to read the page."""
    page.set_viewport_size({"width": width, "height": 900})
    past = """width => [...document.querySelectorAll('body *')]
        .filter(element => element.getBoundingClientRect().right > width && !element.closest('.body, .nodes, .skip'))
        .map(element => element.outerHTML.slice(0, 80))"""
    assert page.evaluate("document.documentElement.scrollWidth") == width, page.evaluate(
        past, width
    )


@pytest.mark.parametrize("width", [1440, 900, 390])
def test_no_table_of_the_overview_is_wider_than_its_panel(
    page: playwright.Page, served_page: ServedPage, width: int
) -> None:
    """What a panel does not show it says; columns beyond its right edge nobody looks for."""
    page.set_viewport_size({"width": width, "height": 900})
    served_page.store([builders.stamp_event(make_judgement(cycle=12))])
    page.get_by_test_id("promotion-age-risk").wait_for()

    assert page.evaluate(TOO_WIDE) == []


def test_a_hidden_page_lets_go_of_its_connection(
    page: playwright.Page, served_page: ServedPage
) -> None:
    """Browsers allow six connections per host, so a page that nobody sees holds none."""
    assert _pages_become(served_page.url, 1)
    hide = """hidden => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, True)
    assert _pages_become(served_page.url, 0)
    page.evaluate(hide, False)
    assert _pages_become(served_page.url, 1)


def test_five_thousand_nodes_stay_light(browser: playwright.Browser, filled_log: FilledLog) -> None:
    """With 5,000 nodes the strip is one canvas, and the page stays at a few thousand elements."""
    filled_log.fill(cycles(2, nodes=5_000))
    with served_over(filled_log) as served:
        _wait_for(served.url)
        opened = browser.new_page()
        opened.goto(served.url)
        nodes = opened.get_by_test_id("nodes")
        expect(nodes).to_have_attribute(
            "aria-label", re.compile("^5000 nodes"), timeout=PATIENCE_MILLISECONDS
        )
        assert opened.evaluate("() => document.querySelectorAll('*').length") < 3_000
        opened.close()


def _seconds(text: str) -> float:
    number, unit, *_ = text.replace(",", "").split()
    assert unit == "s"
    return float(number)


def _pages_become(url: str, expected: int) -> bool:
    """Wait until that many pages are served; False when it does not happen."""
    clock = SystemClock()
    deadline = clock.monotonic() + HANGS_SECONDS
    while clock.monotonic() < deadline:
        if httpx.get(f"{url}/healthz").json()["pages"] == expected:
            return True
    return False


def _wait_for(url: str) -> None:
    clock = SystemClock()
    deadline = clock.monotonic() + HANGS_SECONDS
    while clock.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/healthz").json()["state"] == "live":
                return
        except httpx.TransportError:
            continue
    raise AssertionError(f"{url} does not answer")
