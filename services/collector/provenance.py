"""Signals of an observation: who said it, how old it was, for which rows it does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.reasons import Reason
from schemas.signals import Signal, SignalStatus
from schemas.snapshot import SourceRead
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot

API = "kubernetes_api"
METRICS = "metrics_server"
POWER_MODEL = "power_model"


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """What is known of the nodes' usage."""

    signal: Signal
    usable: frozenset[str]
    """Nodes whose usage cells hold a value."""


def api_signal(
    snapshot: Snapshot, name: str, sources: tuple[str, ...], settings: CollectorSettings
) -> Signal:
    """Return the signal of lists read in this cycle; missing when one of them failed."""
    reads = [snapshot.source(source) for source in sources]
    watched, limits = any(read.watched for read in reads), settings.limits
    limit = limits.watched_seconds if watched else limits.kubernetes_api_seconds
    bad = [read for read in reads if not read.ok]
    if bad:
        return _missing_signal(name, API, limit, bad, bad[0].reason, snapshot)
    oldest = min(read.read_time_seconds for read in reads)
    return _dated_signal(name, API, oldest, limit, snapshot)


def usage_signal(snapshot: Snapshot, settings: CollectorSettings) -> NodeUsage:
    """Return the signal of node usage.

    Fresh while any node's sample is; nodes without a fresh sample are exceptions then. When every
    sample is too old the signal is stale and keeps its values, and its age is the youngest one's.
    """
    limit = settings.limits.node_usage_seconds
    read, nodes = snapshot.source("node_metrics"), snapshot.nodes
    server = read.server or METRICS
    times = {
        name: at
        for name, at, cpu, memory in zip(
            nodes.ids,
            nodes.usage_time_seconds,
            nodes.cpu_usage_cores,
            nodes.memory_usage_bytes,
            strict=True,
        )
        if at is not None and cpu is not None and memory is not None
    }
    if not read.ok or not times:
        reason = read.reason or Reason.MISSING_SIGNAL
        missing = _missing_signal("node_usage", server, limit, (read,), reason, snapshot)
        return NodeUsage(missing, frozenset())
    now = snapshot.cluster_time_seconds
    fresh = {name: at for name, at in times.items() if now - at <= limit}
    samples = fresh or times
    signal = _dated_signal(
        "node_usage",
        server,
        min(fresh.values()) if fresh else max(times.values()),
        limit,
        snapshot,
        exceptions=tuple(name for name in nodes.ids if name not in samples),
        window_seconds=read.window_seconds,
    )
    return NodeUsage(signal, frozenset(samples))


def power_signal(requests: Signal, usage: NodeUsage) -> Signal:
    """Return the signal of the power estimate; its source says what load it was computed from."""
    if requests.status is SignalStatus.MISSING:
        changes = {"name": "power", "source": POWER_MODEL, "limit_seconds": None}
        return requests.model_copy(update=changes)
    if usage.signal.status is not SignalStatus.FRESH:
        basis, signals = "node_requests", [requests]
    elif usage.signal.exceptions:
        basis, signals = "node_usage+node_requests", [usage.signal, requests]
    else:
        basis, signals = "node_usage", [usage.signal]
    oldest = min(signals, key=lambda signal: signal.observed_time_seconds or 0.0)
    return oldest.model_copy(
        update={"name": "power", "source": f"{POWER_MODEL}:{basis}", "exceptions": ()}
    )


def assumed_signal(name: str) -> Signal:
    """Return the signal of a constant from the settings."""
    return Signal(
        name=name,
        source="settings",
        status=SignalStatus.ASSUMED,
        observed_time_seconds=None,
        age_seconds=None,
    )


def _dated_signal(
    name: str,
    source: str,
    observed: float,
    limit: float,
    snapshot: Snapshot,
    exceptions: tuple[str, ...] = (),
    window_seconds: float | None = None,
) -> Signal:
    age = max(0.0, snapshot.cluster_time_seconds - observed)
    return Signal(
        name=name,
        source=source,
        status=SignalStatus.FRESH if age <= limit else SignalStatus.STALE,
        observed_time_seconds=observed,
        age_seconds=age,
        limit_seconds=limit,
        window_seconds=window_seconds,
        exceptions=exceptions,
        simulated=snapshot.simulated,
    )


def _missing_signal(
    name: str,
    source: str,
    limit: float | None,
    reads: Sequence[SourceRead],
    reason: Reason | None,
    snapshot: Snapshot,
) -> Signal:
    since = [one.failing_since_seconds for one in reads if one.failing_since_seconds is not None]
    return Signal(
        name=name,
        source=source,
        status=SignalStatus.MISSING,
        observed_time_seconds=None,
        age_seconds=None,
        limit_seconds=limit,
        reason=reason,
        missing_since_seconds=min(since, default=None),
        simulated=snapshot.simulated,
    )
