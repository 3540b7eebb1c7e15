"""`foresail status`: the stack's processes, the age of every layer, and the log with its retention."""

from __future__ import annotations

import argparse
import asyncio
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from bus.cancellation import cancel_and_wait
from bus.clock import Clock, SystemClock
from bus.events import read_entry, read_events
from bus.exit_codes import ExitCode, verdict
from bus.port import Bus
from foresail.attachment import show_attachment
from foresail.log_source import connect
from foresail.output import console, print_json
from foresail.remote import add_remote, remote_of
from foresail.replay_place import replay_beside, replay_position
from foresail.run_status import show_run
from foresail.stack.disk_space import disk_trouble
from foresail.stack.state_folder import StackFile, StateFolder
from foresail.status_warnings import warnings
from foresail.verbs import Verb
from inputs.limited_json import BadJson, load_json
from projections.breaker.text import standing_text
from projections.demotion.text import foresight_standing
from projections.figures import duration, percent, size
from projections.operating import EXECUTOR, OperatingState, operating_after
from projections.outage import Outage, outage_of
from projections.promotion.text import driving_texts
from projections.score.effect import effect_sentence
from projections.stale import stale_text
from projections.switchback.text import SWITCHBACK_HINT
from projections.times import WALL
from schemas import subjects
from schemas.breaker import Breaker, BreakerState, OutcomeBreaker
from schemas.capabilities import OutcomeCapabilities
from schemas.control import Control
from schemas.foresight import OutcomeForesight
from schemas.model import EventData
from schemas.observation import Observation
from schemas.promotion import OutcomeModels
from schemas.registry import EVENT_TYPES
from schemas.run import RunManifest
from schemas.score import OutcomeCounterfactual, OutcomeScore
from schemas.snapshot import SnapshotNodes
from schemas.switchback import OutcomeSwitchback

VERB = Verb(70, "show whether the stack is well: processes, layers, log, dashboard address")
EXAMPLES = (
    ("status", "is everything well?"),
    ("status --nats", "how any NATS client can read the log"),
    ("status --run train.fslog", "how far is a training that writes its run?"),
)

STACK_MANIFEST = (*RunManifest.PATTERN[:2], "stack")
HEARTBEAT_BYTES = 16_384
"""Bytes of a heartbeat; one of ours has three hundred."""
LISTEN_SECONDS = 1.6
"""How long heartbeats are collected at least; every process sends one a second."""
MOST_LISTEN_SECONDS = 10.0
"""How long a process that runs is waited for: on a busy machine its heartbeat is late."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "--state",
        default=".foresail",
        metavar="FOLDER",
        help="state folder of the stack (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--nats", action="store_true", help="print how any NATS client can read the log"
    )
    parser.add_argument(
        "--run", metavar="FILE|SESSION",
        help="how a run stands: of the file of a verb's --run, of a recording, or a session",
    )  # fmt: skip
    add_remote(parser)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the status."""
    if arguments.run is not None:
        return await show_run(arguments.run, arguments.state, as_json=arguments.json)
    state = StateFolder(Path(arguments.state))
    stack = remote_of(arguments) or state.read()
    if arguments.nats:
        return show_attachment(state, stack, as_json=arguments.json)
    async with connect(stack, state) as bus:
        status = await gather(bus, stack, SystemClock())
        status["replay"] = await replay_position(bus, stack) or replay_beside(state)
    if stack.running and stack.embedded and (full := disk_trouble(state.path)):
        status["troubles"].append(full)
    if arguments.json:
        print_json(status)
    else:
        _print(status)
    up = all(process["state"] != "down" for process in status["processes"].values())
    healthy = stack.running and up and not status["troubles"]
    return verdict(differs=not healthy)


async def gather(bus: Bus, stack: StackFile, clock: Clock) -> dict[str, Any]:
    """Return the status as JSON values."""
    heartbeats = await collect_heartbeats(bus, stack) if stack.running else {}
    info, now_ns = await bus.info(), clock.wall_ns()
    outage = await newest_outage(bus, stack.cluster) if stack.running else None
    stale = await stale_signals(bus, stack.cluster) if stack.running else None
    operating = await read_operating_state(bus, stack.cluster)
    names = sorted({*stack.processes, *heartbeats})
    breakers = await standing_breakers(bus, stack.cluster)
    tripped = [one["text"] for one in breakers if one["state"] == BreakerState.SHADOW]
    return {
        "running": stack.running,
        "cluster": stack.cluster,
        "incarnation": stack.incarnation,
        "mode": mode_in_force(stack, operating),
        "hold": None
        if not operating.hold
        else {
            "command": operating.hold,
            "since_wall_seconds": operating.held_since_seconds,
            "reason": operating.reason,
            "text": operating.hold_text(),
        },
        "manifest": await newest_content(bus, stack.cluster, RunManifest, STACK_MANIFEST),
        "score": await newest_content(bus, stack.cluster, OutcomeScore),
        "counterfactual": await newest_content(bus, stack.cluster, OutcomeCounterfactual),
        "switchback": await newest_content(bus, stack.cluster, OutcomeSwitchback),
        "breakers": breakers,
        "models": await newest_content(bus, stack.cluster, OutcomeModels),
        "foresight": await newest_content(bus, stack.cluster, OutcomeForesight),
        "means": await newest_content(bus, stack.cluster, OutcomeCapabilities),
        "cluster_outage": None if outage is None else {**asdict(outage), "text": outage.text()},
        "nats_url": stack.nats_url,
        "dashboard_url": stack.dashboard_url,
        "health": stack.health,
        "processes": {name: heartbeats.get(name, {"state": "down"}) for name in names},
        "servers": stack.servers,
        "last_ends": stack.last_ends,
        "troubles": [
            *troubles(heartbeats),
            *([] if outage is None else [outage.text()]),
            *([] if stale is None or outage is not None else [stale]),
            *tripped,
        ],
        "warnings": await warnings(bus, stack, now_ns),
        "newest": await newest_ages(bus, stack.cluster, now_ns),
        "log": {
            "stream": stack.stream,
            "messages": info.messages,
            "first_seq": info.first_seq,
            "last_seq": info.last_seq,
            "bytes": info.bytes,
            "max_bytes": info.max_bytes,
            "max_age_seconds": info.max_age_seconds,
        },
    }


async def newest_ages(bus: Bus, cluster: str, now_ns: int) -> dict[str, Any]:
    """Return position and age of the newest event of each kind that has one subject."""
    newest: dict[str, Any] = {}
    for kind in EVENT_TYPES:
        if "*" in kind.PATTERN:
            continue
        last = await bus.last(subjects.build(cluster, kind.PATTERN))
        if last is not None:
            age = round(max(0.0, (now_ns - last.time_ns) / 1e9), 1)
            newest[".".join(kind.PATTERN)] = {"seq": last.seq, "age_seconds": age}
    return newest


async def read_operating_state(bus: Bus, cluster: str) -> OperatingState:
    """Return the executor's mode and hold as the log makes them."""
    state = OperatingState()
    patterns = [
        subjects.build(cluster, Control.PATTERN),
        subjects.build(cluster, ("config", EXECUTOR)),
    ]
    async for entry in read_events(bus.history(patterns)):
        if entry.event is not None:
            state = operating_after(state, entry.event.data)
    return state


def mode_in_force(stack: StackFile, operating: OperatingState) -> str:
    """Return the executor's mode; of a replay, which executes nothing, that it is one."""
    if stack.mode == "replay":
        return "replay"
    return operating.mode or stack.mode


async def standing_breakers(bus: Bus, cluster: str) -> list[dict[str, Any]]:
    """Return the breakers that are not closed as JSON values, each with a line of text."""
    change = await newest_content(bus, cluster, OutcomeBreaker)
    standing = map(Breaker.model_validate, change["standing"] if change else ())
    return [{**one.model_dump(mode="json"), "text": standing_text(one)} for one in standing]


async def newest_outage(bus: Bus, cluster: str) -> Outage | None:
    """Return the outage of the cluster that the newest snapshot was made in; None without one."""
    stored = await bus.last(subjects.build(cluster, SnapshotNodes.PATTERN))
    if stored is None:
        return None
    event = read_entry(stored).event
    if event is None or not isinstance(event.data, SnapshotNodes):
        return None
    return outage_of(event.data)


async def stale_signals(bus: Bus, cluster: str) -> str | None:
    """Return the warning when every signal of the newest observation is stale."""
    stored = await bus.last(subjects.build(cluster, Observation.PATTERN))
    event = None if stored is None else read_entry(stored).event
    return None if event is None else stale_text(event.data.signals)


async def newest_content(
    bus: Bus, cluster: str, kind: type[EventData], tokens: tuple[str, ...] = ()
) -> dict[str, Any] | None:
    """Return the newest event of a kind as JSON values, with a line of text; None where there is none."""
    stored = await bus.last(subjects.build(cluster, tokens or kind.PATTERN))
    event = None if stored is None else read_entry(stored).event
    if event is None:
        return None
    return {**event.data.model_dump(mode="json"), "text": event.data.line()}


async def collect_heartbeats(bus: Bus, stack: StackFile) -> dict[str, Any]:
    """Return the newest heartbeat of each process, with `pids`: everybody who sends them under that name."""
    by_process: dict[str, Any] = {}
    expected = {name for name, pid in stack.processes.items() if pid}

    async def listen() -> None:
        async for process, payload in bus.heartbeats():
            heartbeat = parse_heartbeat(payload)
            if heartbeat is None:
                continue
            pids = {*by_process.get(process, {}).get("pids", ()), heartbeat["pid"]}
            by_process[process] = {**heartbeat, "pids": sorted(pids)}

    listening = asyncio.create_task(listen())
    rounds = math.ceil(MOST_LISTEN_SECONDS / LISTEN_SECONDS)
    while rounds and not listening.done():
        await asyncio.wait({listening}, timeout=LISTEN_SECONDS)
        rounds = 0 if expected <= by_process.keys() else rounds - 1
    if listening.done():
        listening.result()
    await cancel_and_wait(listening)
    return by_process


def parse_heartbeat(payload: bytes) -> dict[str, Any] | None:
    """Read a heartbeat; None for what no process of ours sends (heartbeats pass no schema and no log)."""
    try:
        heartbeat = load_json(payload, most_bytes=HEARTBEAT_BYTES)
    except BadJson:
        return None
    sound = isinstance(heartbeat, dict) and type(heartbeat.get("pid")) is int
    return heartbeat if sound and isinstance(heartbeat.get("state"), str) else None


def troubles(heartbeats: Mapping[str, Any]) -> list[str]:
    """Return one line for everything in the heartbeats that an operator should look after."""
    lines = [
        f"{name}: {heartbeat['trouble']}"
        for name, heartbeat in heartbeats.items()
        if heartbeat.get("trouble")
    ]
    for name, heartbeat in heartbeats.items():
        if len(heartbeat["pids"]) > 1:
            pids = ", ".join(str(pid) for pid in heartbeat["pids"])
            lines.append(f"{name}: several processes of this name (pids {pids}); stop all but one")
    return sorted(lines)


def _worth_lines(status: Mapping[str, Any]) -> list[str]:
    """Return the breakers on probation (those in shadow are troubles), which models drive, and what acting is worth."""
    probation = [one for one in status["breakers"] if one["state"] == BreakerState.PROBATION]
    worth = ("score", "counterfactual", "switchback")
    return [
        *(one["text"] for one in probation),
        *(
            []
            if status["models"] is None
            else driving_texts(OutcomeModels.model_validate(status["models"]))
        ),
        *(
            []
            if status["foresight"] is None
            else foresight_standing(OutcomeForesight.model_validate(status["foresight"]))
        ),
        *([f"actions, {status['means']['text']}"] if lacks_capability(status) else []),
        *(f"{name} of {status[name]['text']}" for name in worth if status[name] is not None),
    ]


def lacks_capability(status: Mapping[str, Any]) -> bool:
    """Say whether some kind of action cannot be done."""
    return status["means"] is not None and bool(status["means"]["missing"])


def sentence_of(status: Mapping[str, Any]) -> str:
    """Return whether all is well, for somebody who reads no table."""
    if not status["running"]:
        return "Foresail is not running; this is what its log holds."
    wrong = [
        f"{name} is down" for name, one in status["processes"].items() if one["state"] == "down"
    ]
    if wrong := [*wrong, *status["troubles"]]:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return f"Foresail needs somebody to look: {wrong[0]}{more}."
    decision = status["newest"].get("decision")
    if decision is None:
        return f"Foresail is well and starting: it watches {status['cluster']} and has not decided yet."
    does = {
        "active": "acts",
        "shadow": "says what it would do and changes nothing",
        "replay": "plays a recording",
    }
    doing = "is held by you" if status["hold"] is not None else does[status["mode"]]
    worth = ""
    if status["counterfactual"] is not None:
        newest_difference = OutcomeCounterfactual.model_validate(
            status["counterfactual"], extra="ignore"
        )
        worth = f" {effect_sentence(newest_difference)}"
    elif status["mode"] == "shadow":
        worth = f" {SWITCHBACK_HINT}"
    ago = duration(decision["age_seconds"])
    return (
        f"Foresail is well: it watches {status['cluster']}, {doing}, and decided {ago} ago.{worth}"
    )


def _print(status: dict[str, Any]) -> None:
    out = console()
    out.print(sentence_of(status), style="bold", markup=False)
    state = "running" if status["running"] else "not running"
    out.print(
        f"[bold]{status['cluster']}[/bold] {status['incarnation']}: {state}, mode {status['mode']}"
    )
    if status["replay"] is not None:
        out.print(status["replay"]["text"], markup=False)
    if status["hold"] is not None:
        out.print(status["hold"]["text"], style="bold red", markup=False)
    if status["running"]:
        out.print(f"dashboard {status['dashboard_url']}   log {status['nats_url']}")
    for line in _worth_lines(status):
        out.print(line, markup=False)
    table = Table(box=None)
    for column in ("process", "state", "pid", "seq", "events behind", "memory", "health port"):
        table.add_column(column)
    for name, heartbeat in status["processes"].items():
        memory = heartbeat.get("rss_bytes")
        table.add_row(
            name,
            heartbeat["state"],
            str(heartbeat.get("pid", "")),
            str(heartbeat.get("seq", "")),
            str(heartbeat.get("lag", "")),
            "" if memory is None else size(memory),
            str(status["health"].get(name, "")),
        )
    out.print(table)
    for name, how in status["last_ends"].items():
        out.print(f"  {name} last ended with {how} ({WALL})", markup=False)
    for line in status["troubles"]:
        out.print(f"trouble: {line}", style="red", markup=False)
    for line in status["warnings"]:
        out.print(f"warning: {line}", style="yellow", markup=False)
    for name, newest in status["newest"].items():
        out.print(
            f"  {name:<22} newest {duration(newest['age_seconds']):>12} ago ({WALL})   seq {newest['seq']}"
        )
    log = status["log"]
    share = log["bytes"] / log["max_bytes"] if log["max_bytes"] > 0 else 0.0
    out.print(
        f"log: {log['messages']} messages, {size(log['bytes'])} "
        f"of {size(log['max_bytes'])} ({percent(share)}), kept {duration(log['max_age_seconds'])}"
    )
