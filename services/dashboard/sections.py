"""Sections: the page's state as small pieces of JSON that travel only when they change."""

from __future__ import annotations

import math
from typing import Any

from schemas.identity import Origin
from schemas.observation import ClusterTotals
from schemas.reaction import ReactionItem
from services.dashboard.page import NANOSECONDS, Page, Row
from services.dashboard.story import MILLISECOND_NS, Json, brief, told

RECENT_DECISIONS = 40
SHOWN_REACTIONS = 24
AGENT_NAMES = ("safety", "admission", "efficiency")


def sections_of(page: Page, origin: Origin, replay: str = "") -> dict[str, Any]:
    """Return every section by name; each is plain JSON.

    `replay` says how far a replay is; empty for a live stack.
    """
    return {
        "head": _head(page, origin, replay),
        "layers": _layers(page),
        "cluster": _cluster(page),
        "signals": _signals(page),
        "decision": None if page.story is None else told(page.story),
        "recent": _recent(page),
        "models": _models(page),
        "node_names": [] if page.observation is None else list(page.observation.nodes.ids),
        "node_cells": page.cells,
        "rewards": _rewards(page),
        "reactions": [_reaction(one) for one in page.reactions[:SHOWN_REACTIONS]],
        "stimulus": None if page.stimulus is None else page.stimulus.model_dump(mode="json"),
    }


def row_json(row: Row) -> list[Any]:
    """Return one line of the tail: seq, recorded time in ms, subject, gist."""
    return [row.seq, row.recorded_ns // MILLISECOND_NS, row.subject, row.gist]


def _head(page: Page, origin: Origin, replay: str) -> Json:
    seen = page.observation
    source = page.source
    return {
        "cluster": origin.cluster,
        "incarnation": origin.incarnation,
        "simulated": seen is not None and any(signal.simulated for signal in seen.signals),
        "cycle": None if seen is None else seen.cycle,
        "cluster_time_seconds": None if seen is None else seen.cluster_time_seconds,
        "interval_ms": None
        if page.interval_seconds is None
        else round(page.interval_seconds * 1_000),
        "newest_ms": page.recorded_ns // MILLISECOND_NS,
        "seq": page.seq,
        "mode": page.operating.mode,
        "early": _early(page),
        "hold": page.operating.hold,
        "hold_text": page.operating.hold_text(),
        "replay": replay or None,
        "outage": None if page.outage is None else page.outage.text(),
        "source": None if source is None else {"kind": source.kind, "name": source.name},
        "error": None if page.error is None else f"{page.error.process}: {page.error.text}",
    }


def _early(page: Page) -> str | None:
    """Return what the head says while writes to a real cluster take effect."""
    if page.operating.mode != "active" or page.writes_in is None:
        return None
    return f"early: writes in {', '.join(page.writes_in) or 'no namespace'}"


def _layers(page: Page) -> list[Json]:
    return [
        {
            "name": name,
            "count": pulse.count,
            "seq": pulse.seq,
            "newest_ms": pulse.stamps_ns[-1] // MILLISECOND_NS if pulse.stamps_ns else None,
            "oldest_ms": pulse.stamps_ns[0] // MILLISECOND_NS if pulse.stamps_ns else None,
            "window": len(pulse.stamps_ns),
        }
        for name, pulse in page.pulses.items()
    ]


def _cluster(page: Page) -> Json | None:
    seen = page.observation
    if seen is None:
        return None
    totals: ClusterTotals = seen.totals
    awake = [state == "on" for state in seen.nodes.power_state]
    return {
        **totals.model_dump(mode="json"),
        "cpu_used_ratio": _mean(seen.nodes.cpu_used_ratio),
        "memory_used_ratio": _mean(seen.nodes.memory_used_ratio),
        "nodes_asleep": awake.count(False),
        "interval_seconds": seen.interval_seconds,
        "namespaces": list(seen.namespaces),
    }


def _mean(values: tuple[float | None, ...]) -> float | None:
    """Return the mean of what was measured; None when nothing was."""
    measured = [value for value in values if value is not None]
    return round(math.fsum(measured) / len(measured), 6) if measured else None


def _signals(page: Page) -> list[Json]:
    if page.observation is None:
        return []
    return [
        {
            "name": signal.name,
            "source": signal.source,
            "status": signal.status,
            "age_seconds": signal.age_seconds,
            "limit_seconds": signal.limit_seconds,
            "reason": signal.reason,
            "exceptions": len(signal.exceptions),
            "simulated": signal.simulated,
        }
        for signal in page.observation.signals
    ]


def _recent(page: Page) -> list[Json]:
    newest = list(page.stories.values())[-RECENT_DECISIONS:]
    return [one for one in map(brief, reversed(newest)) if one is not None]


def _models(page: Page) -> list[Json]:
    made = (("risk", page.risk), ("demand", page.demand))
    return [
        {
            "name": name,
            "model_id": one.model_id,
            "status": one.status,
            "reason": one.reason,
            "horizon_seconds": one.horizon_seconds,
            "calibrated": one.calibrated,
        }
        for name, one in made
        if one is not None
    ]


def _rewards(page: Page) -> Json | None:
    if not page.rewards:
        return None
    newest = page.rewards[-1]
    weights = dict(
        zip(
            ("safety", "efficiency", "admission"),
            (newest.alpha, newest.beta, newest.gamma),
            strict=True,
        )
    )
    return {
        "cycle": newest.cycle,
        "scale": newest.scale,
        "mean_total": newest.mean_total,
        "scored": newest.scored,
        "agents": [
            {
                "name": name,
                "weight": weights[name],
                "observed": None if newest.observed is None else getattr(newest.observed, name),
                "predicted": getattr(newest.predicted, name),
            }
            for name in AGENT_NAMES
        ],
        "total": {
            "observed": None if newest.observed is None else newest.observed.total,
            "predicted": newest.predicted.total,
        },
        "cycles": [one.cycle for one in page.rewards],
        "observed": [None if one.observed is None else one.observed.total for one in page.rewards],
        "predicted": [one.predicted.total for one in page.rewards],
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
    return max(0.0, (wall_ns - page.recorded_ns) / NANOSECONDS) if page.seq else None
