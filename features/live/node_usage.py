"""Use of every node in windows of five minutes of cluster time, for trained demand models.

Measured use where there is any, requests where there is none, both as shares of what the node
offers. Shares are kept in steps of 1/4096, which fit two bytes and come back from a checkpoint
exactly; of a larger cluster the first nodes by name are followed, as many as a checkpoint holds.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.live.compressed_text import inflate
from features.series.features import RECENT_WINDOWS, WEEK_HOURS
from features.series.windows import (
    OpenWindow,
    SeriesState,
    add_use,
    empty_state,
    step_at,
)
from schemas.signals import SignalStatus
from schemas.view import ObservationView

RESOURCES = ("cpu", "memory")
FOLLOWED_NODES = 250
"""Nodes followed at most: 480 windows of two resources each, two bytes a window."""
STEPS = 4096
MISSING = 65_535
VERSION = 1


@dataclass(frozen=True, slots=True)
class UsageSeries:
    """One resource of every followed node."""

    state: SeriesState
    window: OpenWindow

    def after(self, time_seconds: float, use: dict[str, float]) -> UsageSeries:
        """Return this after the use seen at a moment."""
        state, window = add_use(self.state, self.window, time_seconds, use)
        if state is not self.state:
            state = replace(
                state, recent=_round_to_steps(state.recent), hours=_round_to_steps(state.hours)
            )
        return UsageSeries(state, window)


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Both resources."""

    cpu: UsageSeries
    memory: UsageSeries

    def of(self, resource: str) -> SeriesState:
        """Return the windows of one resource."""
        return (self.cpu if resource == "cpu" else self.memory).state


def usage_after(usage: Usage | None, view: ObservationView) -> Usage | None:
    """Return the usage after an observation; one without nodes, or without pods, tells nothing."""
    if any(_missing(view, name) for name in ("node_requests", "pods")) or not len(view.nodes):
        return usage
    at = view.cluster_time_seconds
    usage = usage or Usage(_empty_series(at), _empty_series(at))
    return Usage(
        usage.cpu.after(at, _use(view, "cpu")), usage.memory.after(at, _use(view, "memory"))
    )


def _missing(view: ObservationView, name: str) -> bool:
    signal = view.signal(name)
    return signal is None or signal.status is SignalStatus.MISSING


def _empty_series(time_seconds: float) -> UsageSeries:
    step = step_at(time_seconds)
    return UsageSeries(empty_state(step), OpenWindow(step, {}, {}))


def _use(view: ObservationView, resource: str) -> dict[str, float]:
    nodes = view.nodes
    measured = getattr(nodes, f"{resource}_used_ratio")[:FOLLOWED_NODES]
    requested = getattr(nodes, f"{resource}_requested_ratio")[:FOLLOWED_NODES]
    if _stale(view):
        measured = (None,) * len(requested)
    pairs = zip(nodes.ids[:FOLLOWED_NODES], measured, requested, strict=True)
    newest = {name: request if now is None else now for name, now, request in pairs}
    return {name: share for name, share in newest.items() if share is not None}


def _stale(view: ObservationView) -> bool:
    signal = view.signal("node_usage")
    return signal is None or signal.status is not SignalStatus.FRESH


def _round_to_steps(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.minimum(np.rint(shares * STEPS), MISSING - 1) / STEPS


def encode_usage(usage: Usage | None) -> str | None:
    """Return usage as text."""
    if usage is None:
        return None
    content = [VERSION, *(_series_content(series) for series in (usage.cpu, usage.memory))]
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def decode_usage(text: str | None) -> Usage | None:
    """Return the usage that `packed` made a text of.

    Raises:
        ValueError: it is no such text, or of another version.
    """
    if text is None:
        return None
    try:
        version, cpu, memory = json.loads(inflate(text))
        if version != VERSION:
            raise ValueError("usage of another version")
        return Usage(_followed_of(cpu), _followed_of(memory))
    except (LookupError, TypeError, ArithmeticError, RecursionError, AttributeError) as error:
        raise ValueError(f"no usage: {error}") from error


def _series_content(series: UsageSeries) -> dict[str, Any]:
    state, window = series.state, series.window
    return {
        "ids": state.ids,
        "next_step": state.next_step,
        "recent": _text(state.recent),
        "hours": _text(state.hours),
        "window": [window.step, window.totals, window.counts],
    }


def _followed_of(content: Mapping[str, Any]) -> UsageSeries:
    ids = tuple(content["ids"])
    step, totals, counts = content["window"]
    recent = _shares(content["recent"], (len(ids), RECENT_WINDOWS))
    hours = _shares(content["hours"], (len(ids), WEEK_HOURS))
    state = SeriesState(ids, content["next_step"], recent, hours)
    return UsageSeries(state, OpenWindow(step, totals, counts))


def _text(shares: NDArray[np.float64]) -> str:
    steps = np.where(np.isnan(shares), MISSING, shares * STEPS).astype("<u2")
    planes = steps.reshape(-1).view(np.uint8).reshape(-1, 2).T
    return base64.b64encode(np.ascontiguousarray(planes).tobytes()).decode()


def _shares(text: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    planes = np.frombuffer(base64.b64decode(text), dtype=np.uint8).reshape(2, -1)
    steps = np.ascontiguousarray(planes.T).reshape(-1).view("<u2").astype(np.float64)
    return np.where(steps == MISSING, np.nan, steps / STEPS).reshape(shape)
