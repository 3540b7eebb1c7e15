"""The dashboard's HTTP face reads, streams and refuses everything else."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from bus.clock import SystemClock
from bus.errors import ConfigError
from schemas.control import Command
from services.dashboard import hub as hub_module
from services.dashboard import past as past_module
from services.dashboard.app import PAGES, STATIC, DashboardRoutes, make_app
from services.dashboard.hub import Hub, Rendered
from services.dashboard.page import Page, after_event
from services.dashboard.service import listen
from services.dashboard.settings import DashboardSettings
from tests import builders
from tests.builders import ORIGIN
from tests.dashboard.built_cycles import cycles
from tests.dashboard.served_page import FilledLog, ServedPage
from tests.patience import HANGS_SECONDS

NAMES_ONLY = re.compile(r"http://www\.w3\.org/[\w/]+|https://svelte\.dev/e/\w*")
"""Namespaces, and where the framework's errors are explained: named, never asked."""
SETTINGS = DashboardSettings(update_seconds=0.01, heartbeat_seconds=0.05)


@asynccontextmanager
async def running(
    filled_log: FilledLog, settings: DashboardSettings = SETTINGS
) -> AsyncIterator[Hub]:
    """Run a hub until it has applied what the log holds."""
    hub = Hub(settings, filled_log.bus(), SystemClock(), ORIGIN)
    tasks = [asyncio.create_task(hub.follow()), asyncio.create_task(hub.render())]
    try:
        while (
            hub._rendered.page.overview.seq < filled_log.log.last_seq or not hub._rendered.version
        ):
            await asyncio.sleep(0.001)
            for task in tasks:
                if task.done():
                    task.result()
        yield hub
    finally:
        hub.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def client(hub: Hub) -> httpx.AsyncClient:
    """Return a client of the app, without a socket."""
    transport = httpx.ASGITransport(app=make_app(hub))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765")


def update_of(frame: bytes) -> dict[str, Any]:
    """Return the data of one Server-Sent Event."""
    line = next(line for line in frame.decode().splitlines() if line.startswith("data: "))
    update: dict[str, Any] = json.loads(line.removeprefix("data: "))
    return update


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/api/state", "/static/app.js", "/nowhere"])
async def test_only_reads_are_answered(filled_log: FilledLog, method: str, path: str) -> None:
    """Whatever is not GET or HEAD gets 405, on every address."""
    async with running(filled_log) as hub, client(hub) as http:
        answer = await http.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"


async def test_a_foreign_host_is_refused(filled_log: FilledLog) -> None:
    """A page of another site that resolves to this address cannot read it."""
    async with running(filled_log) as hub, client(hub) as http:
        answer = await http.get("/api/state", headers={"host": "evil.example"})
    assert answer.status_code == 400


async def test_every_answer_forbids_what_comes_from_elsewhere(filled_log: FilledLog) -> None:
    """The content security policy is on good answers and on refusals."""
    async with running(filled_log) as hub, client(hub) as http:
        for answer in (await http.get("/"), await http.get("/nothing"), await http.post("/")):
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'self'")
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_names_no_other_site() -> None:
    """No script, style or picture comes from anywhere else, and none is written into the page."""
    for file in STATIC.iterdir():
        text = NAMES_ONLY.sub("", file.read_text(encoding="utf-8"))
        assert "http://" not in text, file.name
        assert "https://" not in text, file.name
    index = (STATIC / "index.html").read_text(encoding="utf-8")
    assert "style=" not in index
    assert "<script>" not in index


@pytest.mark.parametrize("page", PAGES)
async def test_each_page_has_an_address_of_its_own(filled_log: FilledLog, page: str) -> None:
    """Opened there, reloaded there, linked from elsewhere: the page is served."""
    async with running(filled_log) as hub, client(hub) as http:
        answer = await http.get(f"/{page}?at=12")
    assert (200, (STATIC / "index.html").read_text()) == (answer.status_code, answer.text)


async def test_the_state_is_served_whole(filled_log: FilledLog) -> None:
    """GET /api/state tells the newest decision at once."""
    filled_log.fill(cycles(3))
    async with running(filled_log) as hub, client(hub) as http:
        state = (await http.get("/api/state")).json()
    assert state["seq"] == filled_log.log.last_seq
    assert state["sections"]["decision"]["action"]["label"] == "AgentA:replicate"


async def test_one_event_is_served_whole(filled_log: FilledLog) -> None:
    """GET /api/events/<seq> gives attributes and data of a stored event; unknown ones are 404."""
    filled_log.fill(cycles(1))
    async with running(filled_log) as hub, client(hub) as http:
        content = (await http.get("/api/events/11")).json()
        gone = await http.get("/api/events/999")
        word = await http.get("/api/events/first")
    assert content["attributes"]["type"] == "foresail.decision.v2"
    assert content["data"]["rule"] == "safety_first"
    assert (gone.status_code, word.status_code) == (404, 404)


async def test_one_cycle_can_be_read(filled_log: FilledLog) -> None:
    """GET /api/cycles/<cycle> tells an earlier cycle's argument; unknown ones are 404."""
    filled_log.fill(cycles(3))
    async with running(filled_log) as hub, client(hub) as http:
        content = (await http.get("/api/cycles/2")).json()
        gone = await http.get("/api/cycles/77")
    assert content["cycle"] == 2
    assert {agent["verdict"] for agent in content["agents"]} == {"won", "lost"}
    assert gone.status_code == 404


async def test_the_stream_begins_whole_and_goes_on_with_changes(filled_log: FilledLog) -> None:
    """The first update holds every section, the next only what changed, each with its seq as id."""
    events = cycles(3)
    filled_log.fill([event for event in events if event.cycle < 3])
    async with running(filled_log) as hub:
        updates = hub.updates()
        first = await anext(updates)
        assert first.startswith(b"id: 30\n")
        assert len(update_of(first)["sections"]) == 16
        filled_log.fill([event for event in events if event.cycle == 3][-1:])
        second = await _next_update(updates)
        await updates.aclose()
    assert set(update_of(second)["sections"]) == {"head", "layers", "rewards"}
    assert [row[2] for row in update_of(second)["rows"]] == ["outcome.reward"]


async def test_a_page_that_comes_back_gets_only_newer_rows(filled_log: FilledLog) -> None:
    """With Last-Event-ID the tail goes on where it ended; lost rows are counted."""
    filled_log.fill(cycles(3))
    async with running(filled_log, SETTINGS.model_copy(update={"tail_rows": 10})) as hub:
        for last_seq, rows, skipped in ((40, 5, 0), (20, 10, 15), (9_999, 10, 0)):
            updates = hub.updates(last_seq)
            update = update_of(await _next_update(updates))
            await updates.aclose()
            assert (len(update["rows"]), update["skipped"]) == (rows, skipped)


async def test_rows_that_a_log_lacks_are_counted_as_skipped(filled_log: FilledLog) -> None:
    """Wherever among the new rows the hole is."""
    filled_log.fill(cycles(3))
    async with running(filled_log) as hub:
        rows = hub.page.rows
        for hole in (21, 30):
            page = replace(hub.page, rows=tuple(row for row in rows if row.seq != hole))
            update = update_of(hub._frame(Rendered(page, 1), 0, 20))
            assert (len(update["rows"]), update["skipped"]) == (len(rows) - 21, 1)


async def test_silence_is_kept_alive(filled_log: FilledLog) -> None:
    """When nothing happens, a comment goes out so that nobody closes the connection."""
    filled_log.fill(cycles(1))
    async with running(filled_log) as hub:
        updates = hub.updates()
        await anext(updates)
        assert await anext(updates) == b": still here\n\n"
        await updates.aclose()
        assert hub.pages == 0


async def test_too_many_pages_are_told_to_come_back(filled_log: FilledLog) -> None:
    """One page more than allowed gets 503, not a share of everybody's memory."""
    settings = SETTINGS.model_copy(update={"max_pages": 0})
    async with running(filled_log, settings) as hub, client(hub) as http:
        assert (await http.get("/api/stream")).status_code == 503


async def test_pages_that_come_at_once_are_counted_one_by_one(filled_log: FilledLog) -> None:
    """A crowd that asks in the same moment gets no further than the limit."""
    settings = SETTINGS.model_copy(update={"max_pages": 2})
    async with running(filled_log, settings) as hub:
        stream = DashboardRoutes(hub).stream
        answers = [await stream(Request({"type": "http", "headers": []})) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 503]
        for answer in answers[:2]:
            assert isinstance(answer, StreamingResponse)
            body = answer.body_iterator
            assert isinstance(body, AsyncGenerator)
            assert str(await anext(body)).startswith("b'id: ")
            await body.aclose()
        assert hub.pages == 0


async def test_health_tells_the_age_of_the_newest_event(filled_log: FilledLog) -> None:
    """GET /healthz says whether the reader is live and how old the newest event is."""
    filled_log.fill(cycles(1))
    async with running(filled_log) as hub, client(hub) as http:
        health = (await http.get("/healthz")).json()
    assert (health["state"], health["seq"]) == ("live", 15)
    assert 0 <= health["newest_age_seconds"] < 5


async def test_the_start_is_recent(filled_log: FilledLog) -> None:
    """Only the newest messages are read at start, however long the log is."""
    filled_log.fill(cycles(6, nodes=2))
    async with running(filled_log, SETTINGS.model_copy(update={"history_messages": 20})) as hub:
        assert sum(layer.count for layer in hub.page.overview.layers.values()) < 20
        assert hub.page.overview.cycles.newest_decided is not None


async def test_a_hold_older_than_the_history_is_still_shown(filled_log: FilledLog) -> None:
    """A page that starts long after `pause` says so, with the operator's reason."""
    pause = builders.make_control(Command.PAUSE)
    filled_log.fill([builders.stamp_event(pause), *cycles(6, nodes=2)])
    async with running(filled_log, SETTINGS.model_copy(update={"history_messages": 20})) as hub:
        head = hub.now()["sections"]["head"]
    assert head["hold"] == "pause"
    assert head["hold_text"].startswith("PAUSED since")


async def test_a_replay_says_how_far_it_is(filled_log: FilledLog) -> None:
    """The page's head shows it, and is brought up to date although no event comes."""
    filled_log.fill(cycles(2, nodes=2))
    texts = ["replay at seq 7", "replay paused"]
    hub = Hub(SETTINGS, filled_log.bus(), filled_log.clock, ORIGIN, replay_text=lambda: texts[0])
    updates = hub.updates()
    assert b"replay at seq 7" in await anext(updates)
    texts.pop(0)
    hub._render()
    assert b"replay paused" in await anext(updates)
    await updates.aclose()


def test_a_taken_port_is_one_clear_line() -> None:
    """A port that somebody else holds names the setting and the remedy."""
    holder = listen(DashboardSettings(port=0))
    holder.listen()
    try:
        with pytest.raises(ConfigError, match=r"dashboard\.port.*another --dashboard-port"):
            listen(DashboardSettings(port=holder.getsockname()[1]))
    finally:
        holder.close()


def test_an_open_stream_does_not_hold_up_the_end(served_page: ServedPage) -> None:
    """With a page open the process still stops at once."""
    with httpx.Client(timeout=HANGS_SECONDS) as http, _stream(http, served_page.url) as lines:
        assert next(lines).startswith("id: ")
        served_page.stop()
        assert served_page._thread is not None
        assert not served_page._thread.is_alive()


async def _next_update(updates: AsyncIterator[bytes]) -> bytes:
    async for frame in updates:
        if not frame.startswith(b":"):
            return frame
    raise AssertionError("the stream ended")


@contextmanager
def _stream(http: httpx.Client, url: str) -> Iterator[Iterator[str]]:
    deadline = SystemClock().monotonic() + HANGS_SECONDS
    while True:
        with suppress(httpx.ConnectError), http.stream("GET", f"{url}/api/stream") as answer:
            yield answer.iter_lines()
            return
        assert SystemClock().monotonic() < deadline


async def test_an_error_in_one_request_or_event_costs_that_one(
    filled_log: FilledLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that cannot be shown keeps its row, a page that fails is a 500 of its own, and an open page goes on."""
    filled_log.fill(cycles(2))
    last = filled_log.log.last_seq

    def poisoned(page: Page, arrival: Any) -> Page:
        if arrival.seq == last - 1:
            raise KeyError("poison")
        return after_event(page, arrival)

    for module in (hub_module, past_module):
        monkeypatch.setattr(module, "after_event", poisoned)
    async with running(filled_log) as hub, client(hub) as browser:
        stream = aiter(hub.updates())
        await anext(stream)
        with monkeypatch.context() as patched:
            patched.setattr(Hub, "now", lambda _hub: 1 / 0)
            failed = await browser.get("/api/state")
        healthy = await browser.get("/healthz")
        state = await browser.get("/api/state")
        rendering = hub._render
        monkeypatch.setattr(hub, "_render", lambda: 1 / 0)
        while not hub.errors.counts["render"]:
            await asyncio.sleep(0.001)
        monkeypatch.setattr(hub, "_render", rendering)
        still = await anext(stream)
        counts = dict(hub.errors.counts)
        rows = [row.seq for row in hub.page.rows]
        moment = await hub.moment(last)

    assert (500, {"error": "this page cannot be shown"}) == (failed.status_code, failed.json())
    assert "default-src 'self'" in failed.headers["content-security-policy"]
    assert [200, 200] == [healthy.status_code, state.status_code]
    assert last == healthy.json()["seq"]
    assert still
    assert list(range(1, last + 1)) == rows == [row[0] for row in moment["rows"]]
    assert 1 == counts["page"]
    assert 1 == sum(count for loop, count in counts.items() if loop.startswith("read "))
