"""Signals of an observation: who said it, how old it was, for which rows it does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.reasons import Reason
from schemas.signals import Signal, SignalStatus
from schemas.snapshot import SourceRead
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot

API = "kubernetes_api"
METRICS = "metrics_server"
POWER_MODEL = "power_model"
PROMETHEUS = "prometheus"


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """Known facts about the nodes' usage."""

    signal: Signal
    usable: frozenset[str]
    """Nodes whose usage cells hold a value."""


def api_signal(
    snapshot: Snapshot,
    name: str,
    sources: tuple[str, ...],
    settings: CollectorSettings,
    unknown: tuple[str, ...] = (),
) -> Signal:
    """Return the signal of lists read in this cycle, `unknown` its exceptions; missing when one of them failed."""
    reads = [snapshot.source(source) for source in sources]
    watched, limits = any(read.watched for read in reads), settings.limits
    limit = limits.watched_seconds if watched else limits.kubernetes_api_seconds
    bad = [read for read in reads if not read.ok]
    if bad:
        return _missing_signal(name, API, limit, bad, bad[0].reason, snapshot)
    oldest = min(read.read_time_seconds for read in reads)
    signal = _dated_signal(name, API, oldest, limit, snapshot, unknown)
    return signal.model_copy(update={"watched": watched})


def nodes_of_unknown_size(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the nodes that say no CPU or no memory: a share of what they offer is not known."""
    table = snapshot.nodes
    sizes = zip(table.ids, table.cpu_allocatable_cores, table.memory_allocatable_bytes, strict=True)
    return tuple(name for name, cores, memory in sizes if cores <= 0 or memory <= 0)


def usage_signal(
    snapshot: Snapshot, settings: CollectorSettings, unknown: tuple[str, ...] = ()
) -> NodeUsage:
    """Return the signal of node usage; `unknown` are nodes of which no share can be told.

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
        if at is not None and cpu is not None and memory is not None and name not in unknown
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


@dataclass(frozen=True, slots=True)
class NodePower:
    """Known facts about the nodes' power."""

    signal: Signal
    watts: Mapping[str, float]
    """Of the nodes that were measured lately."""


def power_signal(
    snapshot: Snapshot, settings: CollectorSettings, requests: Signal, usage: NodeUsage
) -> NodePower:
    """Return measured power with its signal, which names the nodes whose power is modelled; where none is
    measured, the model's signal: its source says what load it was computed from.
    """
    modelled = _modelled_power(requests, usage)
    power = None if snapshot.measured is None else snapshot.measured.power
    limit, now = settings.limits.node_usage_seconds, snapshot.cluster_time_seconds
    times: dict[str, float] = {}
    if power is not None and requests.status is not SignalStatus.MISSING:
        known = set(snapshot.nodes.ids)
        times = {
            name: at
            for name, at in zip(power.ids, power.sample_time_seconds, strict=True)
            if name in known and now - at <= limit
        }
    if power is None or not times:
        return NodePower(modelled, {})
    rest = tuple(name for name in snapshot.nodes.ids if name not in times)
    source = f"{PROMETHEUS}:{power.scope}" + (f"+{modelled.source}" if rest else "")
    window = snapshot.source("node_power").window_seconds
    signal = _dated_signal("power", source, min(times.values()), limit, snapshot, (), window)
    watts = zip(power.ids, power.watts, strict=True)
    return NodePower(
        signal.model_copy(update={"measured": True, "modelled": rest}),
        {name: value for name, value in watts if name in times},
    )


def _modelled_power(requests: Signal, usage: NodeUsage) -> Signal:
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


def request_signals(snapshot: Snapshot, settings: CollectorSettings) -> tuple[Signal, ...]:
    """Return the signal of Services' requests where a Prometheus is asked for them, else none."""
    read = next((one for one in snapshot.sources if one.source == "service_requests"), None)
    if read is None or (read.ok and not read.items):  # nobody counts any
        return ()
    limit, name = settings.limits.node_usage_seconds, read.source
    if not read.ok:
        return (_missing_signal(name, read.server, limit, (read,), read.reason, snapshot),)
    at, window = read.read_time_seconds, read.window_seconds
    return (_dated_signal(name, read.server, at, limit, snapshot, (), window),)


def energy_price(snapshot: Snapshot, settings: CollectorSettings) -> tuple[float, Signal]:
    """Return the price of a kWh and its signal: a server's, a file's, or the constant of the settings."""
    price = None if snapshot.measured is None else snapshot.measured.energy_price
    if price is not None and price.asked_time_seconds is not None:
        limit, at = settings.limits.energy_price_seconds, price.asked_time_seconds
        return price.kwh, _dated_signal("energy_price", price.source, at, limit, snapshot)
    assumed = Signal(
        name="energy_price",
        source="settings" if price is None else price.source,
        status=SignalStatus.ASSUMED,
        observed_time_seconds=None,
        age_seconds=None,
    )
    return settings.energy_price if price is None else price.kwh, assumed


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
