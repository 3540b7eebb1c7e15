"""The dashboard's panel on foresight, over the messages of a real run."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from functools import cache
from typing import Any

import pytest

from bus.events import read_entry
from bus.item_errors import ItemErrors
from bus.port import Message, StoredMessage
from bus.recording.bus import RecordingBus
from foresail.log_source import RecordingSource
from projections.incidents.chain import incidents
from projections.incidents.history import ClusterHistory
from projections.incidents.incident import Step
from schemas.observation import Observation
from services.dashboard.arrival import arrival_of
from services.dashboard.page import Page, evolve
from services.dashboard.past import Past
from services.dashboard.sections import sections_of
from tests.builders import ORIGIN
from tests.dashboard.served_page import FilledLog, served_over
from tests.foresight.opening import foresight, opening
from tests.patience import HANGS_SECONDS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MOST_BYTES = 24_000
"""Of the section: it travels to each page as each cycle comes."""


@cache
def messages(untouched: str = "on") -> tuple[StoredMessage, ...]:
    """Return the run's messages."""
    path = opening(untouched)

    async def read() -> list[StoredMessage]:
        return [message async for message in RecordingSource(path).messages()]

    return tuple(asyncio.run(read()))


def panel_after(until_seconds: float = float("inf"), untouched: str = "on") -> Any:
    """Return the section, as the browser reads it, after all that was observed up to a cluster time."""
    page = Page()
    for message in messages(untouched):
        arrival = arrival_of(message)
        data = None if arrival.event is None else arrival.event.data
        if isinstance(data, Observation) and data.cluster_time_seconds > until_seconds:
            break
        page = evolve(page, arrival)
    return json.loads(json.dumps(sections_of(page, ORIGIN)["foresight"]))


def most_spared() -> Any:
    """Return the rise in which most requests were spared, as the log tells it."""
    return max(foresight(), key=lambda one: (one.outcome.spared, one.rise.first.decided_seconds))


def test_it_shows_the_service_with_the_most_to_tell() -> None:
    """That of the action that spared most requests, with both worlds' failed requests and its moments."""
    one, panel = most_spared(), panel_after()
    assert panel["service"] == one.rise.service
    assert panel["failed"] == pytest.approx(one.outcome.here.failed)
    assert panel["untouched_failed"] == pytest.approx(one.outcome.there.failed)
    assert (
        panel["others"]
        == len({each.rise.service for each in foresight() if each.rise.carried_out}) - 1
    )
    moments = {mark["name"]: mark["at"] for mark in panel["marks"]}
    assert moments == {
        "foreseen": one.rise.first.spoke_seconds,
        "asked": one.rise.first.executed_seconds,
        "ready": one.rise.first.ready_seconds,
        "rise": one.outcome.rise_seconds,
    }
    assert len(json.dumps(panel)) < MOST_BYTES


def test_the_curves_are_those_of_the_counters() -> None:
    """Each minute's requests a second, ready replicas times what one bears, and the band that was acted on."""
    one, panel = most_spared(), panel_after()
    measured, band = panel["measured"], panel["band"]
    assert len({len(column) for column in measured.values()}) == 1
    assert len({len(column) for column in band.values()}) == 1
    bears = {
        round(value / ready, 3)
        for value, ready in zip(measured["bears"], measured["ready"], strict=True)
        if ready and value is not None
    }
    assert len(bears) == 1
    assert max(measured["ready"]) >= one.rise.first.replicas_after
    drawn = band["middle"][1:]
    inside = [
        each.middle for each in one.rise.first.bands if each.end_seconds - 150.0 < panel["to"]
    ]
    assert drawn[: len(inside)] == inside
    assert len(drawn) <= len(inside) + 1
    assert band["at"] == sorted(band["at"])
    assert band["at"][-1] <= panel["to"]
    for ends in zip(
        *(band[name][1:] for name in ("lowest", "low", "middle", "high", "highest")), strict=True
    ):
        assert list(ends) == sorted(ends)
    assert panel["from"] <= measured["at"][0] <= panel["now"] <= panel["to"]


def test_before_anything_is_done_the_steepest_rise_is_shown() -> None:
    """As soon as there are bands the panel has them; before there is nothing."""
    first = min(one.rise.first.decided_seconds for one in foresight())
    panel = panel_after(first - 15.0)
    assert panel["marks"] == []
    assert re.search(r"requests/s are foreseen in \d+ min", panel["heading"])
    assert panel_after(0.0) is None


def test_without_an_untouched_world_only_our_own_failures_are_shown() -> None:
    """Nothing stands in for the other world."""
    panel = panel_after(untouched="off")
    assert panel["untouched"] is None
    assert panel["untouched_failed"] is None
    assert panel["worth"] is None


def test_the_incidents_page_tells_what_timeline_tells() -> None:
    """The same incidents with the same chains, newest first; before anything happened there are none."""
    history = ClusterHistory()
    for message in messages():
        event = read_entry(message).event
        if event is not None:
            history.add(event)
    past, last = Past(RecordingBus(opening("on")), "twin", 10, ItemErrors("test")), messages()[-1]

    async def ask() -> tuple[list[Any], list[Any]]:
        after, before = await past.incidents(last.seq), await past.incidents(1)
        return after["incidents"], before["incidents"]

    told, earlier = asyncio.run(ask())

    assert [one.steps for one in incidents(history)] == [
        tuple(Step(**step) for step in one["steps"]) for one in reversed(told)
    ]
    assert told
    assert earlier == []


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH")
def test_a_browser_draws_it() -> None:
    """Heading, both figures and the four moments stand on the page, within a narrow one, too."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    filled, problems = FilledLog(), []
    for message in messages()[-2_000:]:
        subject = message.subject.replace(".twin.", f".{ORIGIN.cluster}.", 1)
        expected = [filled.log.newest_seq(subject)]
        filled.log.store([Message(subject, message.headers, message.data)], expected)
    with served_over(filled) as served, sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 400, "height": 900})
        page.set_default_timeout(1_000.0 * HANGS_SECONDS)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console", lambda line: problems.append(line.text) if line.type == "error" else None
        )
        page.goto(served.url)
        page.get_by_test_id("foresight-heading").wait_for()
        for name in ("foreseen", "asked", "ready", "rise"):
            assert page.get_by_test_id(f"moment-{name}").count() == 1
        assert page.get_by_test_id("failed-without-us").inner_text() != "0"
        panel, charts = page.get_by_test_id("foresight"), page.locator(".foresight-chart")
        assert charts.count() == 2
        box, chart = panel.bounding_box(), charts.first.bounding_box()
        assert box is not None
        assert chart is not None
        assert chart["x"] + chart["width"] <= box["x"] + box["width"] + 1.0
        browser.close()
    assert problems == []
