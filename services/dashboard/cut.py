"""A cut of a recording as one self-contained file: the page, and the answers that it would ask a server for.

The file holds the state at the end of each cycle and everything that can be opened from there. Lists and details
are those of the cut's end. It is read without a server and without a network.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import re
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from bus.clock import Clock
from bus.errors import InputError
from bus.recording.bus import RecordingBus
from inputs.limited_json import load_json
from schemas import subjects
from schemas.identity import Origin
from schemas.registry import to_json
from services.dashboard.app import STATIC, linked_event_json
from services.dashboard.archive import Archive
from services.dashboard.cycle_json import MILLISECOND_NS, Json
from services.dashboard.decision_list import DecisionFilter
from services.dashboard.hub import Hub
from services.dashboard.past import log_row
from services.dashboard.settings import DashboardSettings

NEWEST_CYCLES: Final = 60
"""Cycles of a cut for which no cycles were named."""
MOST_CYCLES: Final = 500
"""More would make a file that browsers open slowly."""
_RANGE = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:;"
    " base-uri 'none'; form-action 'none'"
)


async def cut_of(
    bus: RecordingBus, clock: Clock, file: str, cycles: str, on_cycle: Callable[[int, int], None]
) -> Json:
    """Return a cut of a recording.

    Args:
        bus: the recording.
        clock: says when the cut is made.
        file: the recording's name, as the page shows it.
        cycles: `FIRST-LAST`, one cycle, or empty for the newest ones.
        on_cycle: called with the cycles done and their number.

    Raises:
        InputError: the recording does not hold these cycles, or they are too many.
    """
    origin = Origin(str(bus.header.get("cluster", "")), str(bus.header.get("incarnation", "")))
    read = asyncio.Event()
    newest = (await bus.info()).last_seq

    def note(_state: str, seq: int) -> None:
        if seq >= newest:
            read.set()

    hub = Hub(DashboardSettings(), bus, clock, origin, note, file=file)
    following = asyncio.create_task(hub.follow())
    try:
        done, _ = await asyncio.wait(
            [following, asyncio.create_task(read.wait())], return_when=asyncio.FIRST_COMPLETED
        )
        if following in done:
            following.result()
        chosen = _cycles(hub.past.archive, cycles)
        return await _collect(hub, bus, chosen, clock.wall_ns() // MILLISECOND_NS, on_cycle)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def html_of(cut: Json) -> str:
    """Return the page with a cut in it, in one file that asks nobody for anything."""
    script = (STATIC / "app.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
    style = (STATIC / "app.css").read_text(encoding="utf-8")
    packed = base64.b64encode(gzip.compress(to_json(cut), mtime=0)).decode()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    icon = base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    policy = _POLICY.format(scripts=f"'sha256-{digest}'")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="content-security-policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>Foresail</title>\n'
        f'<link rel="icon" href="data:image/svg+xml;base64,{icon}">\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
        f'<script type="application/octet-stream" id="cut">{packed}</script>\n'
        f'<script type="module">{script}</script>\n'
        "<noscript>This page needs JavaScript; `foresail explain` says the same in a terminal."
        "</noscript>\n</body>\n</html>\n"
    )


def _cycles(archive: Archive, text: str) -> list[int]:
    known = list(archive.cycle_numbers)
    if not known:
        raise InputError(
            "FILE", "no observation", "there is nothing to show: record a run with cycles"
        )
    if not text:
        return known[-NEWEST_CYCLES:]
    found = _RANGE.fullmatch(text)
    if found is None:
        raise InputError("--cycles", text, "write FIRST-LAST, as in 20-60, or one cycle")
    first, last = int(found["first"]), int(found["last"] or found["first"])
    chosen = [cycle for cycle in known if first <= cycle <= last]
    if not chosen:
        raise InputError("--cycles", text, f"the recording holds cycles {known[0]} to {known[-1]}")
    if len(chosen) > MOST_CYCLES:
        raise InputError("--cycles", text, f"cut at most {MOST_CYCLES} of them")
    return chosen


async def _collect(
    hub: Hub,
    bus: RecordingBus,
    cycles: list[int],
    now_ms: int,
    on_cycle: Callable[[int, int], None],
) -> Json:
    archive = hub.past.archive
    begin, end = archive.begin_of_cycle(cycles[0]), archive.end_of_cycle(cycles[-1]) or 0
    moments: list[Json] = []
    answers: dict[str, Json] = {}
    for place, cycle in enumerate(cycles):
        moments.append({"cycle": cycle, **await hub.moment(archive.end_of_cycle(cycle) or end)})
        if (story := await hub.cycle(cycle, end)) is not None:
            answers[f"/api/cycles/{cycle}"] = story
        answers[f"/api/log?cycle={cycle}"] = {"rows": await hub.past.cycle_rows(cycle, end)}
        on_cycle(place + 1, len(cycles))
    rows: list[Json] = []
    pattern = subjects.pattern(str(bus.header.get("cluster", "")), (">",))
    async with aclosing(bus.history([pattern], start_seq=begin, end_seq=end)) as messages:
        async for message in messages:
            rows.append(log_row(message))
            links = await hub.past.links(message)
            answers[f"/api/events/{message.seq}"] = load_json(linked_event_json(message, links))
    for name in moments[-1]["sections"].get("node_names") or ():
        if (node := await hub.past.node(name, end)) is not None:
            answers[f"/api/nodes/{name}"] = node
    answers["/api/workloads"] = {"workloads": await hub.past.workloads(end)}
    for workload in answers["/api/workloads"]["workloads"]:
        if (known := await hub.past.workload(workload["name"], end)) is not None:
            answers[f"/api/workloads/{workload['name']}"] = known
    answers["/api/models"] = await hub.past.models(end)
    answers["/api/runs"] = await hub.past.runs(end)
    answers["/api/settings"] = {"processes": await hub.past.settings(end)}
    answers["/api/incidents"] = await hub.past.incidents(end)
    listed = hub.past.decisions(DecisionFilter(end))
    listed["rows"] = [row for row in listed["rows"] if row["cycle"] >= cycles[0]]
    answers["/api/decisions"] = listed | {"more": False}
    outline = archive.outline(begin - 1)
    return {
        "made_ms": now_ms,
        "first_cycle": cycles[0],
        "last_cycle": cycles[-1],
        "outline": outline
        | {
            "whole": True,
            "incarnation": hub.incarnation,
            "first_seq": begin,
            "last_seq": end,
            "first_ms": rows[0]["ms"],
            "last_ms": rows[-1]["ms"],
            "first_cycle": cycles[0],
            "last_cycle": cycles[-1],
            "marks": [mark for mark in outline["marks"] if mark["seq"] <= end],
        },
        "moments": moments,
        "rows": rows,
        "answers": answers,
    }
