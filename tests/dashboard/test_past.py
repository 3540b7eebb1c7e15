"""Any moment of the log: the same state as when it was the newest, whatever lies between the kept ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bus.clock import SystemClock
from bus.recording.bus import RecordingBus
from foresail.__main__ import main
from schemas.identity import Origin
from services.dashboard import kept_states
from services.dashboard import past as past_module
from services.dashboard.app import make_app
from services.dashboard.arrival import arrival_of
from services.dashboard.hub import Hub
from services.dashboard.node_measures import COLUMNS, MEASURES
from services.dashboard.page import Page, evolve
from services.dashboard.sections import sections_of
from services.dashboard.settings import DashboardSettings
from tests.architecture.source_tree import ROOT

RECORDING = ROOT / "tests" / "golden" / "v2.fslog"
SETTINGS = DashboardSettings(update_seconds=0.01)


def origin_of(bus: RecordingBus) -> Origin:
    """Return whose log a recording is."""
    return Origin(str(bus.header["cluster"]), str(bus.header["incarnation"]))


@asynccontextmanager
async def reading(
    settings: DashboardSettings = SETTINGS, file: str = "v2.fslog", recording: Path = RECORDING
) -> AsyncIterator[Hub]:
    """Run a hub over a recording until its newest event is applied, and its past is known."""
    bus = RecordingBus(recording)
    hub = Hub(settings, bus, SystemClock(), origin_of(bus), file=file)
    following = asyncio.create_task(hub.follow())
    await followed_to((await bus.info()).last_seq, hub, following)
    await hub.remember()
    yield hub
    following.cancel()


async def followed_to(seq: int, hub: Hub, following: asyncio.Task[None]) -> None:
    """Wait until a hub has applied a message; fail as it failed."""
    while hub.page.overview.seq < seq:
        await asyncio.sleep(0)
        if following.done():
            following.result()


def asking(hub: Hub) -> httpx.AsyncClient:
    """Return a client of the app, without a socket."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=make_app(hub)), base_url="http://127.0.0.1"
    )


async def reduced(until_seq: int) -> tuple[Page, Origin]:
    """Reduce the recording from its beginning to a position, as if it were the newest."""
    bus, page = RecordingBus(RECORDING), Page()
    async for message in bus.history([">"], end_seq=until_seq):
        page = evolve(page, arrival_of(message))
    return page, origin_of(bus)


@pytest.mark.parametrize("seq", [1, 77, 201])
@pytest.mark.parametrize(
    "settings", [SETTINGS, SETTINGS.model_copy(update={"history_messages": 20})]
)
async def test_a_moment_is_what_was_the_newest_state_then(
    seq: int, settings: DashboardSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every section, also where few states are kept and where the log was read from its end first."""
    monkeypatch.setattr(kept_states, "MOST_BYTES", 1)
    page, origin = await reduced(seq)
    async with reading(settings, file="") as hub, asking(hub) as http:
        moment = (await http.get(f"/api/moment?seq={seq}")).json()

    assert seq == moment["seq"]
    assert json.loads(json.dumps(sections_of(page, origin))) == moment["sections"]


async def test_a_recording_says_how_far_it_is_read() -> None:
    """Until its end was read, what is shown is not its end, and the badge can say so; then nothing more."""
    bus = RecordingBus(RECORDING)
    told: list[int | None] = []

    def listen(_state: str, _seq: int) -> None:
        told.append(hub.now()["sections"]["head"].get("reads_to"))

    hub = Hub(SETTINGS, bus, SystemClock(), origin_of(bus), listen, file="v2.fslog")
    following = asyncio.create_task(hub.follow())
    last = (await bus.info()).last_seq
    await followed_to(last, hub, following)
    following.cancel()

    assert told == [last] * (len(told) - 1) + [None]
    assert len(told) > 1


async def test_a_past_cycle_tells_what_explain_tells(capsys: pytest.CaptureFixture[str]) -> None:
    """The decision, its score and what it became at the end of the log are those of `foresail explain`."""
    asked = ["explain", "9", "--recording", str(RECORDING), "--json"]
    await asyncio.to_thread(main, asked)
    explained = json.loads(capsys.readouterr().out)["decision"]["data"]
    async with reading() as hub, asking(hub) as http:
        told = (await http.get("/api/cycles/9")).json()
        earlier = (await http.get(f"/api/cycles/9?at={told['seq']}")).json()

    assert explained["rule"] == told["rule"]
    assert explained["cluster_time_seconds"] == told["cluster_time_seconds"]
    assert explained["parts"][0]["score"] == told["score"]
    assert told["execution"] is not None
    assert earlier["execution"] is None  # at the moment of the decision nothing was executed


async def test_moments_are_found_by_time_and_cycle() -> None:
    """The newest event by a time, the last one before the next cycle's observation; none is 404."""
    async with reading() as hub, asking(hub) as http:
        outline = (await http.get("/api/outline")).json()
        by_time = (await http.get(f"/api/moment?ms={outline['last_ms']}")).json()
        by_cycle = (await http.get("/api/moment?cycle=5")).json()
        at_seconds = by_cycle["sections"]["head"]["cluster_time_seconds"]
        by_cluster_time = (await http.get(f"/api/moment?cluster={at_seconds + 1:.0f}")).json()
        none = await http.get("/api/moment?cycle=999")

    assert outline["last_seq"] == by_time["seq"]
    assert 5 == by_cycle["sections"]["head"]["cycle"]
    assert 5 == by_cycle["sections"]["decision"]["cycle"]
    assert by_cluster_time["seq"] == by_cycle["seq"]
    assert 404 == none.status_code


async def test_it_is_told_what_an_agent_lost_against_and_since_when() -> None:
    """Losses are counted by rule and winner, those of noops are none; a time limits what is counted."""
    async with reading() as hub, asking(hub) as http:
        lost = (await http.get("/api/decisions?lost=efficiency")).json()
        lately = (await http.get("/api/decisions?lost=efficiency&within=60")).json()
        safety = (await http.get("/api/decisions?lost=safety")).json()

    assert [{"rule": "safety_first", "by": "safety", "count": 3}] == lost["lost_to"]
    assert 2 == lately["lost_to"][0]["count"]
    assert ["efficiency", 3] in lost["choices"]["lost"]
    assert ([], []) == (safety["rows"], safety["lost_to"])


async def test_nodes_are_measured_by_more_than_risk() -> None:
    """Each measure has a value for every node, those of the observation then; an unknown one is refused by name."""
    async with reading() as hub, asking(hub) as http:
        seq = (await http.get("/api/moment?cycle=5")).json()["seq"]
        node = (await http.get("/api/nodes/openb-node-0002", params={"at": seq})).json()["now"]
        names = (await http.get("/api/state")).json()["sections"]["node_names"]
        asked = {by: await http.get(f"/api/measures?by={by}&at={seq}") for by in MEASURES}
        wrong = await http.get("/api/measures?by=colour")

    place = names.index("openb-node-0002")
    told = {by: answer.json()["values"] for by, answer in asked.items()}
    assert {len(names)} == {len(values) for values in told.values()}
    assert {column: told[by][place] for by, column in COLUMNS.items()} == {
        column: node[column] for column in COLUMNS.values()
    }
    assert max(told["power"]) == asked["power"].json()["highest"]
    assert (400, True) == (wrong.status_code, "use one of demand" in wrong.json()["error"])


async def test_nodes_are_priced_as_the_score_charges_them() -> None:
    """What all of them cost an hour, over a step, is what the score of the next cycle takes off for machines."""
    charged = ("nodes", "cores", "memory", "energy")
    async with reading() as hub, asking(hub) as http:
        seq = (await http.get("/api/moment?cycle=5")).json()["seq"]
        told = (await http.get(f"/api/measures?by=price&at={seq}")).json()
        asked = {"where": "cycle == 6 and step_money_per_hour != 0", "layer": "outcome"}
        events = (await http.get("/api/events", params=asked)).json()["events"]

    score = next(one["data"] for one in events if one["subject"].endswith("outcome.score"))
    money = -sum(
        one["step"] * one["price"] for one in score["components"] if one["name"] in charged
    )
    assert told["unit"] == "USD/h"
    assert sum(told["values"]) * score["step_seconds"] / 3_600 == pytest.approx(money, rel=1e-3)
    assert 0 < told["highest"] == max(told["values"])


async def test_a_decision_says_which_signals_it_could_not_see() -> None:
    """Live and of the past: stale and missing ones by name, and what nobody measured."""
    async with reading() as hub, asking(hub) as http:
        newest = (await http.get("/api/state")).json()["sections"]
        then = (await http.get("/api/cycles/5")).json()["signals"]

    assert newest["decision"]["signals"]["count"] == len(newest["signals"]) == then["count"]
    assert (then["old"], then["assumed"]) == ([], ["energy_price"])


async def test_decisions_are_listed_as_they_stood() -> None:
    """All of them, runs of doing nothing as one row; at a moment none that came later, nor what came of one later."""
    async with reading() as hub, asking(hub) as http:
        whole = (await http.get("/api/decisions")).json()
        acting = (await http.get("/api/decisions?acts=1")).json()
        seq = min(row["seq"] for row in acting["rows"])
        then = (await http.get(f"/api/decisions?at={seq}")).json()
        kind = acting["rows"][0]["kind"]
        of_kind = (await http.get(f"/api/decisions?kind={kind}")).json()
        below = (await http.get("/api/decisions?reward_below=-1e9")).json()

    assert whole["decisions"] == sum(row["count"] for row in whole["rows"])
    assert whole["acted"] == len(acting["rows"]) > 0
    assert {row["noop"] for row in acting["rows"]} == {None}
    assert (then["rows"][0]["seq"], then["rows"][0]["became"]) == (seq, "")
    assert {row["kind"] for row in of_kind["rows"]} == {kind}
    assert below["rows"] == []


async def test_the_log_is_filtered_as_tap_filters() -> None:
    """A condition finds the events for which it holds, newest first; an unknown field names what is near it."""
    async with reading() as hub, asking(hub) as http:
        found = (await http.get("/api/log/search?where=cycle == 5&layer=proposal")).json()
        wrong = await http.get("/api/log/search?where=scoore > 0.5")
        window = (await http.get("/api/log?from=10&at=12")).json()["rows"]
        event = (await http.get(f"/api/events/{found['rows'][0]['seq']}")).json()

    seqs = [row["seq"] for row in found["rows"]]
    assert {"proposal"} == {row["subject"].split(".")[0] for row in found["rows"]}
    assert sorted(seqs, reverse=True) == seqs
    assert (400, True) == (wrong.status_code, "did you mean score" in wrong.json()["error"])
    assert [10, 11, 12] == [row["seq"] for row in window]
    assert event["causes"]
    assert event["effects"]


async def test_events_come_page_by_page_as_tap_shows_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every event that fits comes once, whole, newest first; what cannot be read is refused in one line."""
    where = "cycle >= 3 and layer == 'proposal'"
    asked = ["tap", "--where", where, "--recording", str(RECORDING), "--json"]
    await asyncio.to_thread(main, asked)
    tapped = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    pages: list[list[Any]] = []
    async with reading() as hub, asking(hub) as http:
        before: int | None = None
        while not pages or before is not None:
            place = {} if before is None else {"before": before}
            params: dict[str, Any] = {"where": where, "limit": 4, **place}
            page = (await http.get("/api/events", params=params)).json()
            pages.append(page["events"])
            before = page["before"]
        wrong = await http.get("/api/events?where=scoore > 0.5")
        written = await http.post("/api/events", json={})

    events = [event for page in pages for event in page]
    assert [event["seq"] for event in events] == [event["seq"] for event in tapped][::-1]
    assert events[0]["data"] == tapped[-1]["data"]
    assert max(map(len, pages)) == 4
    assert (wrong.status_code, written.status_code) == (400, 405)
    assert "did you mean score" in wrong.json()["error"]


async def test_a_page_of_events_ends_before_it_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that asks for many does not get megabytes at once."""
    monkeypatch.setattr(past_module, "PAGE_BYTES", 3_000)
    async with reading() as hub, asking(hub) as http:
        page = (await http.get("/api/events?limit=500")).json()
    assert 1 <= len(page["events"]) < 20
    assert page["before"] == page["events"][-1]["seq"] - 1


async def test_the_run_stands_as_status_says(tmp_path: Path) -> None:
    """A whole run's stage is complete, with its samples; in its middle it had only begun."""
    file = tmp_path / "run.fslog"
    words = ["up", "--virtual-time", "--max-cycles", "3", "--nodes", "4", "--workload", "idle"]
    assert await asyncio.to_thread(main, [*words, "--record", str(file)]) == 0
    async with reading(recording=file) as hub, asking(hub) as http:
        ended = (await http.get("/api/run")).json()
        begun = (await http.get("/api/run?at=60")).json()
    (stage,) = ended["stages"]
    assert (stage["stage"], stage["status"], stage["samples"]) == ("live", "complete", 3)
    assert ended["status"] == "complete"
    assert [one["status"] for one in begun["stages"]] == ["started"]
    assert begun["status"] is None


async def test_the_server_says_who_reads_and_publishes_what(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same as `foresail architecture`, with the flowchart."""
    await asyncio.to_thread(main, ["architecture", "--json"])
    said = json.loads(capsys.readouterr().out)
    async with reading() as hub, asking(hub) as http:
        served = (await http.get("/api/architecture")).json()
    assert served.pop("mermaid").startswith("flowchart LR\n")
    assert served == said


async def test_a_nodes_history_ends_with_what_the_overview_shows() -> None:
    """One look per cycle, the last with the grid's risk; up to a moment nothing later; unknown nodes are 404."""
    async with reading() as hub, asking(hub) as http:
        state = (await http.get("/api/state")).json()["sections"]
        name = state["node_names"][0]
        history = (await http.get(f"/api/nodes/{name}")).json()
        middle = (await http.get("/api/moment?cycle=6")).json()["seq"]
        then = (await http.get(f"/api/nodes/{name}?at={middle}")).json()
        unknown = await http.get("/api/nodes/nowhere")

    assert history["cycles"] == sorted(set(history["cycles"]))
    assert (history["cycles"][-1], then["cycles"][-1]) == (state["head"]["cycle"], 6)
    cell = state["node_cells"][:2]
    if cell.isdecimal():
        assert int(cell) == int(history["series"]["risk"][-1] * 100)
    assert 404 == unknown.status_code


@pytest.mark.parametrize(
    "path",
    [
        "/api/moment",
        "/api/moment?seq=x",
        "/api/cycles/1?at=-1",
        "/api/decisions?before=1e3",
        "/api/log?from=²",
    ],
)
async def test_nonsense_is_refused(path: str) -> None:
    """An address that names no moment is 404, never an error of the server."""
    async with reading() as hub, asking(hub) as http:
        answer: Any = await http.get(path)

    assert 404 == answer.status_code
