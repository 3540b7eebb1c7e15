"""Predictions that wait for their horizon, and what the observations until then add to them.

The first observation at or after the horizon's end closes the window, so a fast cluster, whose
cycles are longer than the horizon, is scored too. A model that looks far ahead would keep hundreds
of predictions waiting; of those every n-th cycle is scored, so that the state stays small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from pydantic import Field

from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Ratio, Rounded, Seconds
from schemas.observation import ObservedNodes, ObservedPods
from schemas.prediction import (
    ABSTAINS,
    DemandTable,
    Prediction,
    PredictionDemand,
    PredictionRisk,
    PredictionShadow,
    RiskTable,
)

T = TypeVar("T")
Failures = Mapping[str, frozenset[str]]
"""What counts as a failure, to the nodes that show it."""


class PendingForecast(DataModel):
    """The predictions of one cycle and horizon, until the horizon has passed."""

    cycle: Cycle
    cluster_time_seconds: Seconds
    horizon_seconds: Seconds
    model_id: str
    demand_model_id: str = ""
    slot: Count = 0
    """0: the active models; otherwise a shadow model's."""
    part: Literal["", "risk", "demand"] = ""
    causes: tuple[str, ...] = ()
    """Ids of the predictions."""
    risk: RiskTable | None = None
    """None when it was skipped or never came."""
    demand: DemandTable | None = None
    alarm_ratio: Rounded | None = None
    failure: Literal["unhealthy", "attempt_failed"] = "unhealthy"
    quantile: Ratio | None = None
    demand_of: Literal["requested_load", "peak_use"] = "requested_load"
    failed: tuple[str, ...] = ()
    """Nodes seen failing so far, sorted."""
    failed_time_seconds: tuple[Seconds, ...] = ()
    """When each was first seen failing."""
    peaks: tuple[Ratio, ...] = ()
    """Greatest use seen so far of each row of `demand`; empty unless that is what was foreseen."""
    acted: tuple[str, ...] = ()
    """Nodes acted upon so far, sorted."""
    abstained: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """Nodes of which the model knew no ground for a failure: their number is no alarm."""
    left: dict[str, Ratio] = Field(default={}, exclude_if=lambda left: not left)
    """Nodes left untouched on purpose, and with which propensity."""
    unseen: bool = Field(default=False, exclude_if=lambda unseen: not unseen)
    """Whether failures may have been missed: observations were lost within the window."""

    @property
    def end_seconds(self) -> float:
        """Cluster time at which the horizon ends."""
        return self.cluster_time_seconds + self.horizon_seconds

    @property
    def place(self) -> tuple[int, int, str]:
        """Its key: cycle, slot and part."""
        return (self.cycle, self.slot, self.part)


def with_prediction(
    waiting: Sequence[PendingForecast], data: Prediction, event_id: str, targets: int
) -> PendingForecast:
    """Return the pending forecast of a prediction, joined with the other one of its cycle.

    Two predictions of different horizons do not join.
    """
    slot = data.slot if isinstance(data, PredictionShadow) else 0
    same = [
        forecast for forecast in waiting if (forecast.cycle, forecast.slot) == (data.cycle, slot)
    ]
    joined = next(
        (forecast for forecast in same if forecast.horizon_seconds == data.horizon_seconds), None
    )
    base = joined or PendingForecast(
        cycle=data.cycle,
        cluster_time_seconds=data.cluster_time_seconds,
        horizon_seconds=data.horizon_seconds,
        model_id=data.model_id,
        slot=slot,
        part=_kind(data) if same else "",
    )
    changes: dict[str, object] = {"causes": (*base.causes, event_id)}
    risk, demand = _tables(data)
    if risk is not None:
        changes |= {
            "model_id": data.model_id,
            "alarm_ratio": data.alarm_ratio,
            "failure": data.failure,
        }
    if demand is not None:
        changes |= {"quantile": data.quantile, "demand_of": data.demand}
        other = data.model_id != changes.get("model_id", base.model_id)
        changes["demand_model_id"] = data.model_id if other else ""
    if data.status == "result" and risk is not None:
        changes["abstained"] = abstained_nodes(risk, data.grounds)
        keep = sample_rows(len(risk), targets)
        whole = len(keep) == len(risk)
        changes["risk"] = (
            risk
            if whole
            else RiskTable(ids=_pick(risk.ids, keep), risk_ratio=_pick(risk.risk_ratio, keep))
        )
    if data.status == "result" and demand is not None:
        keep = sample_rows(len(demand), targets)
        ids, ratios = demand.ids, demand.demand_ratio
        whole = len(keep) == len(demand)
        changes["demand"] = (
            demand if whole else DemandTable(ids=_pick(ids, keep), demand_ratio=_pick(ratios, keep))
        )
    return base.model_copy(update=changes)


def abstained_nodes(table: RiskTable, grounds: str) -> tuple[str, ...]:
    """Return the nodes of which a model says that nothing speaks for a failure; none where it says nothing of it."""
    if len(grounds) != len(table):
        return ()
    return tuple(
        name for name, letter in zip(table.ids, grounds, strict=True) if letter == ABSTAINS
    )


def _tables(data: Prediction) -> tuple[RiskTable | None, DemandTable | None]:
    match data:
        case PredictionRisk():
            return data.nodes, None
        case PredictionDemand():
            return None, data.nodes
        case PredictionShadow():
            return data.risk_table, data.demand_table
    return None, None


def _kind(data: Prediction) -> Literal["risk", "demand"]:
    return "risk" if _tables(data)[0] is not None else "demand"


def spacing(horizon_seconds: float, interval_seconds: float, most: int) -> int:
    """Return how many cycles lie between two that are scored, so that at most `most` wait."""
    return max(1, math.ceil(horizon_seconds / interval_seconds / most))


def sample_rows(rows: int, targets: int) -> range:
    """Return evenly spaced row numbers, at most `targets` of them."""
    return range(0, rows, max(1, math.ceil(rows / targets)))


def _pick(column: Sequence[T], rows: range) -> tuple[T, ...]:
    return tuple(column[row] for row in rows)


def failing(nodes: ObservedNodes, before: ObservedPods | None, pods: ObservedPods) -> Failures:
    """Return the nodes that fail in an observation, by what counts as a failure.

    Args:
        nodes: the observed nodes.
        before: the pods of the observation before; None when it is not known.
        pods: the pods listed now.
    """
    rows = zip(nodes.ids, nodes.ready, nodes.unhealthy_pods, strict=True)
    return {
        "unhealthy": frozenset(name for name, ready, sick in rows if not ready or sick > 0),
        "attempt_failed": frozenset() if before is None else _newly_failed(before, pods),
    }


def _newly_failed(before: ObservedPods, pods: ObservedPods) -> frozenset[str]:
    """Return the nodes of pods that Failed since, or whose containers were restarted since."""
    was = before.index()
    failed_nodes: set[str] = set()
    for number, name in enumerate(pods.ids):
        place = was.get(name)
        alive, restarts = (
            (True, 0) if place is None else (before.alive[place], before.restarts[place])
        )
        died = alive and not pods.alive[number]
        if pods.node[number] and (died or pods.restarts[number] > restarts):
            failed_nodes.add(pods.node[number])
    return frozenset(failed_nodes)


def note_observation(
    pending: PendingForecast, time_seconds: float, failures: Failures, use: Mapping[str, float]
) -> PendingForecast:
    """Note what an observation shows of the predicted nodes.

    The one that the prediction was made from does not count; the one that closes the window does.
    """
    if time_seconds <= pending.cluster_time_seconds:
        return pending
    changes: dict[str, object] = {}
    if pending.risk is not None:
        new = failures[pending.failure].difference(pending.failed)
        newly_failed = new.intersection(pending.risk.ids) if new else new
        if newly_failed:
            times = dict(zip(pending.failed, pending.failed_time_seconds, strict=True))
            times |= dict.fromkeys(newly_failed, time_seconds)
            changes["failed"] = tuple(sorted(times))
            changes["failed_time_seconds"] = tuple(times[name] for name in sorted(times))
    if pending.demand is not None and pending.demand_of == "peak_use":
        old = pending.peaks or (0.0,) * len(pending.demand)
        pairs = zip(pending.demand.ids, old, strict=True)
        changes["peaks"] = tuple(max(peak, use.get(name, 0.0)) for name, peak in pairs)
    return pending.model_copy(update=changes) if changes else pending


def note_touched(
    pending: PendingForecast, time_seconds: float, nodes: Sequence[str]
) -> PendingForecast:
    """Note nodes that an execution changed within the window."""
    new = frozenset(nodes).difference(pending.acted)
    if not new or time_seconds < pending.cluster_time_seconds:
        return pending
    return pending.model_copy(update={"acted": tuple(sorted(new.union(pending.acted)))})


def note_left(
    pending: PendingForecast, time_seconds: float, propensities: Mapping[str, float]
) -> PendingForecast:
    """Note nodes that were left untouched on purpose within the window."""
    if not propensities or time_seconds < pending.cluster_time_seconds:
        return pending
    return pending.model_copy(update={"left": {**pending.left, **propensities}})


def use_ratios(nodes: ObservedNodes) -> dict[str, float]:
    """Return the greater use of CPU and memory by node, requests where nothing is measured."""
    columns = zip(
        nodes.ids,
        nodes.cpu_used_ratio,
        nodes.cpu_requested_ratio,
        nodes.memory_used_ratio,
        nodes.memory_requested_ratio,
        strict=True,
    )
    return {
        name: max(
            cpu if cpu is not None else cpu_request,
            memory if memory is not None else memory_request,
        )
        for name, cpu, cpu_request, memory, memory_request in columns
        if cpu_request is not None and memory_request is not None
    }
