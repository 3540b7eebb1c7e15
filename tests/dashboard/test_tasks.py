"""Five questions that people bring, each answered from the overview within five steps, by clicks and by keys alone.

A step is a click, a choice in a list, a key, or one text that is typed. How long each takes is printed (`pytest -s`).
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT
from tests.dashboard.test_file_view import opened_recording
from tests.dashboard.test_page import CHROMIUM, FLAGS, PATIENCE_MILLISECONDS

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect
expect.set_options(timeout=120_000.0)  # a slow machine answers late
MOST_STEPS = 5
MOST_TABS = 60
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH"),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Record a quarter of an hour in which all five have an answer, and open it."""
    folder = tmp_path_factory.mktemp("tasks")
    file = folder / "tasks.fslog"
    config = Path(__file__).with_name("tasks.toml")
    flags = ["--config", str(config), "--record", str(file), "--state", str(folder / "state")]
    command = [sys.executable, "-m", "foresail", "up", *flags, "--json"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with opened_recording(file) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    """Start one Chromium for this file."""
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


class Person:
    """Somebody at the overview who counts what they do."""

    def __init__(self, page: playwright.Page, *, by_keys: bool) -> None:
        self.page = page
        self.by_keys = by_keys
        self.steps = 0
        self.began = time.monotonic()

    def press(self, *keys: str) -> None:
        """Press keys, each of which is a step."""
        for key in keys:
            self.page.keyboard.press(key)
            self.steps += 1

    def type(self, text: str) -> None:
        """Type a text, which is a step."""
        self.page.keyboard.type(text)
        self.steps += 1

    def go(self, title: str, letter: str) -> None:
        """Go to a page."""
        if self.by_keys:
            self.press("g", letter)
        else:
            self.page.get_by_role("navigation", name="Pages").get_by_role(
                "link", name=title
            ).click()
            self.steps += 1
        self.page.locator(f"nav a[aria-current=page]:has-text('{title}')").wait_for()

    def choose(self, label: str, value: str) -> None:
        """Choose from a list, which is a step; by keys one tabs to it first."""
        field = self.page.get_by_label(label, exact=True)
        field.locator(f"option[value='{value}']").wait_for(state="attached")
        self.steps += 1
        if not self.by_keys:
            field.select_option(value)
            return
        tab_to(self.page, label)
        for _ in range(MOST_TABS):
            if field.input_value() == value:
                return
            self.page.keyboard.press("ArrowDown")
        pytest.fail(f"{label} has no {value}")

    def open_a_row(self, text: str) -> None:
        """Open a row of the page's list, once all of them are about `text`."""
        rows = self.page.locator("main tr[data-chosen]")
        expect(rows.filter(has_not_text=text)).to_have_count(0)
        rows.first.wait_for()
        if self.by_keys:
            self.page.keyboard.press("Escape")  # out of a field, as by Tab
            self.press("j")
        else:
            rows.first.click()
            self.steps += 1


def tab_to(page: playwright.Page, label: str) -> None:
    """Press Tab until a field has the focus."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == label:
            return
    pytest.fail(f"Tab does not lead to {label}")


@pytest.fixture(params=["clicks", "keys"])
def person(
    request: pytest.FixtureRequest, browser: playwright.Browser, url: str
) -> Iterator[Person]:
    """Open the overview; at the end tell steps and seconds. With keys alone there is no mouse to be had."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    page = context.new_page()
    page.goto(url)
    page.get_by_test_id("action").wait_for()
    somebody = Person(page, by_keys=request.param == "keys")
    yield somebody
    took = time.monotonic() - somebody.began
    context.close()
    print(f"{request.node.name}: {somebody.steps} steps, {took:.1f} s")  # noqa: T201 - asked for
    assert 0 < somebody.steps <= MOST_STEPS


def test_why_was_nothing_done_at_12_05(person: Person) -> None:
    """The palette takes a time of day; the decision of then says its reason."""
    if person.by_keys:
        person.press(":")
    else:
        person.page.get_by_role("button", name="Search").click()
        person.steps += 1
    person.type("12:05")
    person.press("Enter")
    person.page.wait_for_url(re.compile("at="))

    expect(person.page.get_by_test_id("moment")).to_contain_text("12:05:00 UTC")
    expect(person.page.get_by_test_id("rationale")).to_contain_text("no other rule holds; queue")


def test_which_signal_was_stale_when_the_node_was_drained(person: Person) -> None:
    """The drain is found by its kind; its argument names what it could not see."""
    person.go("Decisions", "d")
    person.choose("any action", "migrate")
    person.page.wait_for_url(re.compile("kind=migrate"))
    person.open_a_row("migrate")

    saw = person.page.get_by_test_id("decision").get_by_test_id("saw")
    expect(saw).to_contain_text("node usage stale")
    expect(saw).to_contain_text("metrics server")


def test_what_did_b_lose_against_in_the_last_hour(person: Person) -> None:
    """Who lost and since when are filters; the answer stands above the list."""
    person.go("Decisions", "d")
    person.choose("whoever lost", "efficiency")
    person.choose("Cluster time", "3600")
    person.page.wait_for_url(re.compile("within=3600"))

    lost = person.page.get_by_test_id("lost-to")
    expect(lost).to_contain_text(
        re.compile(r"efficiency lost\s+\d+ times to safety by safety_first")
    )


def test_when_did_the_autoscaler_react_and_how_long_did_pods_wait(person: Person) -> None:
    """The incident's page says both."""
    person.go("Incidents", "i")
    incident = person.page.get_by_test_id("incident")

    expect(incident).to_contain_text("HorizontalPodAutoscaler/web sets 4 pods instead of 2")
    expect(incident).to_contain_text(re.compile(r"Waits: 4 pods by insufficient cpu, median 3 min"))


def test_what_would_have_happened_with_the_threshold_at_0_9(person: Person) -> None:
    """Every decision is computed anew, and those that differ lead to what was decided."""
    person.go("What if", "f")
    if person.by_keys:
        person.press("/")
    else:
        person.page.get_by_label("Setting", exact=True).click()
        person.steps += 1
    person.type("agents.safety.migrate=0.9")
    person.press("Enter")

    differing = person.page.get_by_test_id("differing")
    expect(differing).to_contain_text(re.compile(r"\d+ same, \d+ changed"))
    expect(differing.locator("tbody tr").first).to_contain_text("AgentA:migrate on small-3")
    expect(person.page.get_by_test_id("figures")).to_contain_text("AgentA:migrate")
