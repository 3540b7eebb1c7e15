"""Sections: the page's state as small pieces of JSON that travel only when they change."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

from projections.breaker.text import standing_texts
from projections.promotion.text import WHY, driving_texts
from projections.run_state import RunState
from projections.stale import stale_text
from schemas.agents import agent_manifests, letter_of, referee_place
from schemas.identity import Origin
from schemas.observation import ClusterTotals
from schemas.reaction import ReactionItem
from schemas.signals import Signal
from services.dashboard.acting import acting_json
from services.dashboard.cycle_json import (
    MILLISECOND_NS,
    Json,
    cycle_json,
    decision_rows,
    signal_json,
)
from services.dashboard.foresight import foresight_json
from services.dashboard.page import NANOSECONDS, EventRow, Page

RECENT_DECISIONS = 20
RECENT_REACTIONS = 24


def sections_of(
    page: Page,
    origin: Origin,
    replay: str = "",
    file: str = "",
    appended_ms: int | None = None,
    reads_to: int | None = None,
) -> dict[str, Any]:
    """Return every section by name; each is plain JSON.

    `replay` says how far a replay is, `file` names a recording; both are empty for a live stack. `appended_ms`
    says when a recording was last added to that may still be written, `reads_to` up to which event it is still read.
    """
    decided = page.overview.cycles.newest_decided
    return {
        "head": _head(page, origin, replay)
        | {
            "file": file or None,
            "grows": appended_ms is not None,
            "appended_ms": appended_ms,
            "reads_to": reads_to,
        },
        "agents": _agents(),
        "layers": _layers(page),
        "cluster": _cluster(page),
        "signals": _signals(page),
        "decision": None
        if decided is None
        else cycle_json(decided, _signals_of(page, decided.cycle)),
        "recent": _recent(page),
        "models": _models(page),
        "promotion": _promotion(page),
        "node_names": [] if page.observation is None else list(page.observation.nodes.ids),
        "node_cells": page.cells,
        "acting": acting_json(page.overview, simulated=_simulated(page)),
        "foresight": foresight_json(page.foresight),
        "rewards": _rewards(page),
        "reactions": [_reaction(item) for item in page.overview.reactions[:RECENT_REACTIONS]],
        "stimulus": None
        if page.overview.stimulus is None
        else page.overview.stimulus.model_dump(mode="json"),
    }


def row_json(row: EventRow) -> list[Any]:
    """Return one line of the tail: seq, recorded time in ms, subject, text."""
    return [row.seq, row.recorded_ns // MILLISECOND_NS, row.subject, row.text]


def _head(page: Page, origin: Origin, replay: str) -> Json:
    observation, overview = page.observation, page.overview
    run = overview.run
    interval = page.interval_seconds
    return {
        "cluster": origin.cluster,
        "incarnation": origin.incarnation,
        "simulated": _simulated(page),
        "cycle": None if observation is None else observation.cycle,
        "cluster_time_seconds": None if observation is None else observation.cluster_time_seconds,
        "interval_ms": None if interval is None else round(interval * 1_000),
        "newest_ms": overview.recorded_ns // MILLISECOND_NS,
        "seq": overview.seq,
        "mode": run.operating.mode,
        "early": _early(run),
        "hold": run.operating.hold,
        "hold_text": run.operating.hold_text(),
        "breakers": list(standing_texts(overview.breakers)),
        "mismatches": [
            one.model_dump(mode="json", include={"kind", "text", "remedy", "since_cycle"})
            for one in overview.mismatches
        ],
        "replay": replay or None,
        "outage": None if overview.outage is None else overview.outage.text(),
        "stale": None
        if observation is None or overview.outage
        else stale_text(observation.signals),
        "source": None
        if run.source is None
        else {"kind": run.source.kind, "name": run.source.name},
        "error": None if run.error is None else f"{run.error.process}: {run.error.text}",
    }


def _simulated(page: Page) -> bool:
    observation = page.observation
    return observation is not None and any(signal.simulated for signal in observation.signals)


def _early(run: RunState) -> str | None:
    """Return what the head says while writes to a real cluster take effect."""
    if run.operating.mode != "active" or run.namespaces is None:
        return None
    return f"early: writes in {', '.join(run.namespaces) or 'no namespace'}"


def _layers(page: Page) -> list[Json]:
    return [
        {
            "name": name,
            "count": activity.count,
            "seq": activity.seq,
            "newest_ms": _milliseconds(activity.stamps_ns[-1:]),
            "oldest_ms": _milliseconds(activity.stamps_ns[:1]),
            "window": len(activity.stamps_ns),
        }
        for name, activity in page.overview.layers.items()
    ]


def _agents() -> list[Json]:
    """Return what the page needs to draw an agent: the same for as long as this process runs."""
    return [
        {
            "name": agent.name,
            "letter": agent.letter,
            "purpose": agent.purpose,
            "colour": agent.colour,
            "dark_colour": agent.dark_colour,
        }
        for agent in agent_manifests().values()
    ]


def _milliseconds(stamps_ns: tuple[int, ...]) -> int | None:
    return stamps_ns[0] // MILLISECOND_NS if stamps_ns else None


def _cluster(page: Page) -> Json | None:
    observation = page.observation
    if observation is None:
        return None
    totals: ClusterTotals = observation.totals
    awake = [state == "on" for state in observation.nodes.power_state]
    return {
        **totals.model_dump(mode="json"),
        "cpu_used_ratio": _mean(observation.nodes.cpu_used_ratio),
        "memory_used_ratio": _mean(observation.nodes.memory_used_ratio),
        "nodes_asleep": awake.count(False),
        "interval_seconds": observation.interval_seconds,
        "namespaces": list(observation.namespaces),
    }


def _mean(values: tuple[float | None, ...]) -> float | None:
    """Return the mean of what was measured; None when nothing was."""
    measured = [value for value in values if value is not None]
    return round(math.fsum(measured) / len(measured), 6) if measured else None


def _signals(page: Page) -> list[Json]:
    if page.observation is None:
        return []
    return [signal_json(signal) for signal in page.observation.signals]


def _signals_of(page: Page, cycle: int) -> tuple[Signal, ...] | None:
    """Return the signals of a cycle's observation; None where a newer one came meanwhile."""
    seen = page.observation
    return seen.signals if seen is not None and seen.cycle == cycle else None


def _recent(page: Page) -> list[Json]:
    newest = reversed(tuple(page.overview.cycles.by_cycle.values()))
    return list(islice(decision_rows(newest), RECENT_DECISIONS))


def _models(page: Page) -> list[Json]:
    predictions = (("risk", page.overview.risk), ("demand", page.overview.demand))
    return [
        {
            "name": name,
            "model_id": prediction.model_id,
            "status": prediction.status,
            "reason": prediction.reason,
            "horizon_seconds": prediction.horizon_seconds,
            "calibrated": prediction.calibrated,
        }
        for name, prediction in predictions
        if prediction is not None
    ]


def _promotion(page: Page) -> Json | None:
    """Return which model of risk drives and why; None where nobody judges models."""
    judged = page.overview.models
    if judged is None:
        return None
    return {
        "text": driving_texts(judged)[0],
        "models": [
            {
                "model_id": one.model_id,
                "state": one.state,
                "why": WHY[one.cause],
                "skill": one.skill,
                "skill_low": one.skill_low,
                "skill_high": one.skill_high,
                "lift": one.lift,
                "lift_low": one.lift_low,
                "lift_high": one.lift_high,
                "positives": one.positives,
                "text": one.text,
            }
            for one in judged.models
        ],
    }


def _rewards(page: Page) -> Json | None:
    newest, rewards = page.overview.reward, page.overview.rewards
    if newest is None:
        return None
    return {
        "cycle": newest.cycle,
        "scale": newest.scale,
        "mean_total": newest.mean_total,
        "scored": newest.scored,
        "agents": [
            {
                "name": name,
                "letter": letter_of(name),
                "weight": newest.weights[name],
                "observed": None if newest.observed is None else newest.observed.by_agent[name],
                "predicted": newest.predicted.by_agent[name],
            }
            for name in sorted(newest.weights, key=referee_place)
        ],
        "total": {
            "observed": None if newest.observed is None else newest.observed.total,
            "predicted": newest.predicted.total,
        },
        "cycles": [cycle for cycle, _, _ in rewards],
        "observed": [observed for _, observed, _ in rewards],
        "predicted": [predicted for _, _, predicted in rewards],
    }


def _reaction(item: ReactionItem) -> Json:
    return {
        "kind": item.kind,
        "object": item.object,
        "time_seconds": item.time_seconds,
        "lag_seconds": item.lag_seconds,
        "since": item.since,
        "pending_class": item.pending_class,
        "text": item.text,
    }


def age_seconds(page: Page, wall_ns: int) -> float | None:
    """Return wall seconds since the newest event was recorded; None before the first."""
    return (
        max(0.0, (wall_ns - page.overview.recorded_ns) / NANOSECONDS) if page.overview.seq else None
    )
