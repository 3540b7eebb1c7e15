"""Every key, every link, and three known moments whose numbers are those of the command line; in a real Chromium."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from bus.clock import SystemClock
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import Message
from bus.recording.bus import RecordingBus
from foresail.stack.state_folder import StackFile
from foresail.status import gather, sentence_of
from projections.figures import number
from services.dashboard.app import PAGES
from tests.dashboard.test_file_view import RECORDING, url
from tests.dashboard.test_journeys import browser, page, parameters
from tests.dashboard.test_page import CHROMIUM
from tests.dashboard.test_past import origin_of

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect
__all__ = ["browser", "page", "url"]  # fixtures
MOST_LINKS = 60
PAGE_KEYS = "odinwmrfcslh"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH"),
]


@pytest.mark.parametrize("cycle", [2, 7, 12])
def test_a_known_moment_shows_what_explain_says(page: playwright.Page, cycle: int) -> None:
    """Rule, action, each agent's score and the reward of that cycle."""
    command = [sys.executable, "-m", "foresail", "explain", str(cycle), "--json"]
    command += ["--recording", str(RECORDING)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    decision = told["decision"]["data"]
    page.keyboard.press(":")
    page.keyboard.type(str(cycle))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"cycle={cycle}"))
    argument = page.get_by_test_id("decision")

    expect(argument.get_by_test_id("rule")).to_have_text(decision["rule"])
    label = argument.get_by_test_id("action").get_attribute("data-label")
    action = decision["parts"][0]["action"]
    assert label is not None
    assert action["kind"] in label
    expect(argument.get_by_test_id("action")).to_contain_text(action["target"]["name"])
    for considered in decision["considered"]:
        expect(argument).to_contain_text(
            f"{considered['agent']}, score {number(considered['score'])}"
        )
    observed = told["reward"]["data"]["observed"]["total"]
    expect(argument.get_by_test_id("followed")).to_contain_text(
        f"{observed:+.2f}".replace("-", "\u2212")
    )


async def status_at(seq: int) -> dict[str, Any]:
    """Return what `foresail status` says of a log that ends at a position of the recording."""
    recorded, log = RecordingBus(RECORDING), MemoryLog()
    async for stored in recorded.history(["foresail.>"], end_seq=seq):
        message = Message(stored.subject, stored.headers, stored.data)
        log.store([message], [log.newest_seq(message.subject)])
    origin = origin_of(recorded)
    stack = StackFile(
        origin.cluster, origin.incarnation, "", "", embedded=True, pid=0, running=False
    )
    return await gather(MemoryBus(log, origin.cluster), stack, SystemClock())


@pytest.mark.parametrize("cycle", [4, 8, 12])
def test_a_known_moment_shows_what_status_says(page: playwright.Page, cycle: int) -> None:
    """How long the log was, the executor's mode, the outcome score, and what acting had changed."""
    seq = page.request.get(f"/api/moment?cycle={cycle}").json()["seq"]
    with ThreadPoolExecutor(
        1
    ) as thread:  # the page's driver has an event loop of its own in this one
        status = thread.submit(lambda: asyncio.run(status_at(seq))).result()
    page.goto(f"/?at={seq}")

    assert status["log"]["last_seq"] == seq
    expect(page.get_by_test_id("moment")).to_contain_text(f"event {seq}")
    expect(page.get_by_test_id("mode")).to_have_text(status["mode"])
    said = status["score"]["text"].split(": ", 1)[1]
    expect(page.get_by_test_id("acting-note")).to_have_text(f"outcome score {said}")
    effect = page.get_by_test_id("acting-verdict").inner_text()
    assert effect in sentence_of(status | {"running": True})


def test_every_key_does_what_the_help_says(page: playwright.Page) -> None:
    """Each of the list, and each page's letter after `g`."""
    moment = page.get_by_test_id("moment")
    newest = moment.inner_text()
    for letter, name in zip(PAGE_KEYS, PAGES, strict=True):
        page.keyboard.press("g")
        page.keyboard.press(letter)
        page.locator(f"main[data-page={name}]").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("d")
    rows = page.locator("tr[data-chosen]")
    expect(rows.nth(2)).to_be_visible()
    page.keyboard.press("j")
    expect(rows.nth(1)).to_have_attribute("data-chosen", "true")
    page.keyboard.press("k")
    expect(rows.nth(0)).to_have_attribute("data-chosen", "true")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.hasAttribute('data-filter')")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    page.wait_for_function("() => document.documentElement.dataset.theme")
    page.keyboard.press("{")
    page.wait_for_url(re.compile("at="))
    before = parameters(page)["at"]
    page.keyboard.press("{")
    page.wait_for_function("at => !location.search.includes(`at=${at}`)", arg=before)
    page.keyboard.press("}")
    page.wait_for_function("at => location.search.includes(`at=${at}`)", arg=before)
    page.keyboard.press("[")
    page.wait_for_function("at => !location.search.includes(`at=${at}`)", arg=before)
    page.keyboard.press("]")
    page.wait_for_function("at => location.search.includes(`at=${at}`)", arg=before)
    page.goto("/decisions?at=3")  # a minute before the end, so that it plays on while one looks
    page.get_by_label("Speed").select_option("1")
    page.get_by_label("Speed").press("Escape")
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Stop playing")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.keyboard.press("l")
    expect(moment).to_have_text(newest)
    page.keyboard.press("?")
    page.wait_for_url(re.compile("/help"))
    page.keyboard.press(":")
    expect(page.get_by_role("combobox", name=re.compile("cycle"))).to_be_focused()
    page.keyboard.press("Escape")


@pytest.mark.parametrize("name", ["decisions", "nodes", "models", "settings", "log", "what-if"])
def test_slash_filters_the_list_of_a_page(page: playwright.Page, name: str) -> None:
    """The key goes into the page's filter."""
    page.goto(f"/{name}")
    page.locator("main [data-filter]").wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.hasAttribute('data-filter')")


def test_models_are_filtered_by_name_and_use(page: playwright.Page) -> None:
    """Those that have the words in name or use are left, and the one that is shown is among them."""
    page.goto("/models")
    rows = page.locator("[data-testid=models-list] tr[data-chosen]")
    expect(rows.filter(has_text="risk").first).to_be_visible()
    page.locator("main [data-filter]").fill("demand")
    expect(rows).to_have_count(1)
    expect(page.get_by_test_id("model-note")).to_have_text("demand")
    page.locator("main [data-filter]").fill("nothing like it")
    expect(page.get_by_test_id("models-list")).to_contain_text("No model has this")


def test_every_link_leads_somewhere(page: playwright.Page) -> None:
    """One of each form on each page: its page opens, selects what it names, and nothing is called unknown."""
    found: dict[tuple[str, ...], str] = {}
    for name in PAGES:
        page.goto(f"/{name}")
        page.locator(f"main[data-page={name}] .panel").first.wait_for()
        page.wait_for_load_state("networkidle")
        for address in page.eval_on_selector_all(
            "main a[href^='/']", "all => all.map(one => one.getAttribute('href'))"
        ):
            parts = urlsplit(address)
            found.setdefault((name, parts.path, *sorted(parse_qs(parts.query))), address)
    assert 8 < len(found) < MOST_LINKS
    broken = []
    for (begin, *_), address in found.items():
        page.goto(address)
        name = urlsplit(address).path.strip("/") or "overview"
        page.locator(f"main[data-page={name}] .panel").first.wait_for()
        page.wait_for_load_state("networkidle")
        text = page.locator("main").inner_text()
        if re.search(r"holds no|nothing was observed of|does not answer", text):
            broken.append(f"{begin}: {address}")

    assert broken == []
