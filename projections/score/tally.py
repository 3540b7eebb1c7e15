"""Amounts of the outcome score, added up from look to look.

Levels (nodes, cores, memory, watts) hold from one look to the next; where a look does not show its nodes,
the last that were shown go on. Counters count by their differences; one that fell began anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from schemas.model import DataModel
from schemas.numbers import Cycle, rounded
from schemas.score import WAITING
from schemas.signals import SignalStatus
from schemas.view import ObservationView
from schemas.work import LATENCY_BOUNDS, ServiceCounters, WorkCounters

HOUR, MINUTE, MILLION = 3_600.0, 60.0, 1e6
_WATT_SECONDS_PER_KWH = 3_600_000.0


class Levels(DataModel):
    """Size of the cluster at one moment."""

    nodes: float = 0.0
    cores: float = 0.0
    memory_gib: float = 0.0
    watts: float = 0.0


class ScoreInput(DataModel):
    """Inputs of the score from one observation."""

    id: str
    """Id of the observation."""
    cycle: Cycle
    time_seconds: float
    """Cluster time."""
    energy_price: float
    """Price of a kWh that the observation names."""
    levels: Levels | None
    """None when the nodes could not be read."""
    work: WorkCounters


class Tally(DataModel):
    """Amounts since the first look, in the units of `projections.score.money`."""

    look: ScoreInput
    """The newest look."""
    levels: Levels
    """The newest that were shown."""
    work: WorkCounters
    """The newest counters; those that the newest look does not show as they were before."""
    step_seconds: float = 0.0
    total_seconds: float = 0.0
    step: dict[str, float] = {}
    total: dict[str, float] = {}


class Slo(DataModel):
    """When a Service violates its objective."""

    latency_seconds: float
    """One of `LATENCY_BOUNDS`; a slower answer is bad."""
    bad_ratio: float


def score_input_of(view: ObservationView) -> ScoreInput | None:
    """Return what counts of an observation; None where it does not count work (older recordings)."""
    if view.work is None:
        return None
    signal = view.signal("node_requests")
    shown = signal is not None and signal.status is not SignalStatus.MISSING
    return ScoreInput(
        id=view.id,
        cycle=view.cycle,
        time_seconds=view.cluster_time_seconds,
        energy_price=view.totals.energy_price,
        levels=_levels_of(view) if shown else None,
        work=view.work,
    )


def _levels_of(view: ObservationView) -> Levels:
    nodes = view.nodes
    return Levels(
        nodes=float(len(nodes)),
        cores=math.fsum(nodes.cpu_allocatable_cores),
        memory_gib=math.fsum(nodes.memory_allocatable_bytes) / 2**30,
        watts=math.fsum(nodes.power_watts),
    )


def begin_tally(look: ScoreInput) -> Tally:
    """Return the tally at its first look: nothing has happened yet."""
    return Tally(look=look, levels=look.levels or Levels(), work=look.work)


def add_score_input(tally: Tally, look: ScoreInput, slo: Slo) -> Tally:
    """Return the tally after the step from its newest look to this one."""
    seconds = max(0.0, look.time_seconds - tally.look.time_seconds)
    step = {
        **_amounts_of_levels(tally.levels, seconds),
        **_amounts_of_work(tally.work, look.work),
        **_amounts_of_requests(tally.work, look.work, slo, seconds),
    }
    names = dict.fromkeys((*tally.total, *step))
    return Tally(
        look=look,
        levels=tally.levels if look.levels is None else look.levels,
        work=_newest_shown(tally.work, look.work),
        step_seconds=seconds,
        total_seconds=tally.total_seconds + seconds,
        step=step,
        total={name: tally.total.get(name, 0.0) + step.get(name, 0.0) for name in names},
    )


def missing_in(look: ScoreInput) -> tuple[str, ...]:
    """Return what a look does not show."""
    shown = {
        "nodes": look.levels is not None,
        "requests": look.work.services is not None,
        "job_cpu": look.work.job_cpu_seconds_done is not None,
    }
    return tuple(name for name, is_shown in shown.items() if not is_shown)


def _amounts_of_levels(levels: Levels, seconds: float) -> dict[str, float]:
    return {
        "nodes": levels.nodes * seconds / HOUR,
        "cores": levels.cores * seconds / HOUR,
        "memory": levels.memory_gib * seconds / HOUR,
        "energy": levels.watts * seconds / _WATT_SECONDS_PER_KWH,
    }


def _amounts_of_work(before: WorkCounters, now: WorkCounters) -> dict[str, float]:
    counted = {
        name: _rise(getattr(before, name), getattr(now, name))
        for name in ("jobs_completed", "jobs_failed", "jobs_dropped", "evictions", "restarts")
    }
    done = _rise(before.job_cpu_seconds_done, now.job_cpu_seconds_done)
    lost = _rise(before.job_cpu_seconds_lost, now.job_cpu_seconds_lost)
    waiting = {
        f"{WAITING}{name}": _rise(before.waiting_pod_seconds.get(name, 0.0), seconds) / HOUR
        for name, seconds in now.waiting_pod_seconds.items()
    }
    return {
        **counted,
        "job_cpu_done": done / HOUR,
        "job_cpu_lost": lost / HOUR,
        **waiting,
        "overdue": _rise(before.overdue_pod_seconds, now.overdue_pod_seconds) / HOUR,
        "held": _rise(before.held_pod_seconds, now.held_pod_seconds) / HOUR,
    }


def _amounts_of_requests(
    before: WorkCounters, now: WorkCounters, slo: Slo, seconds: float
) -> dict[str, float]:
    earlier = {counters.service: counters for counters in before.services or ()}
    bucket = LATENCY_BOUNDS.index(slo.latency_seconds) if now.services else 0
    steps = [
        _service_step(earlier.get(counters.service), counters, bucket)
        for counters in now.services or ()
    ]
    violated = sum(_violates(step, slo) for step in steps)
    return {
        "requests_served": math.fsum([step.served for step in steps]) / MILLION,
        "requests_failed": math.fsum([step.failed for step in steps]) / MILLION,
        "requests_lost": math.fsum([step.lost for step in steps]) / MILLION,
        "slo_services": violated * seconds / MINUTE,
    }


class _ServiceStep(NamedTuple):
    """A Service's requests between two looks."""

    served: float
    failed: float
    lost: float
    in_time: float | None
    """Of the served, those answered within the objective's latency; None where nobody counts them."""


def _service_step(
    before: ServiceCounters | None, now: ServiceCounters, bucket: int
) -> _ServiceStep:
    """Return the step, all of them where its counters began anew; `bucket` is a place in `LATENCY_BOUNDS`."""
    in_time = now.served_within[bucket] if now.served_within else None
    if before is None or (
        now.served < before.served or now.failed < before.failed or now.lost < before.lost
    ):
        return _ServiceStep(now.served, now.failed, now.lost, in_time)
    if in_time is not None:
        earlier = before.served_within[bucket] if before.served_within else 0.0
        in_time = rounded(max(0.0, in_time - earlier))
    return _ServiceStep(
        rounded(now.served - before.served),
        rounded(now.failed - before.failed),
        rounded(now.lost - before.lost),
        in_time,
    )


def service_violates(before: ServiceCounters | None, now: ServiceCounters, slo: Slo) -> bool:
    """Say whether a Service violated its objective between two looks at its counters."""
    return _violates(_service_step(before, now, LATENCY_BOUNDS.index(slo.latency_seconds)), slo)


def _violates(step: _ServiceStep, slo: Slo) -> bool:
    slow = 0.0 if step.in_time is None else max(0.0, step.served - step.in_time)
    bad = step.failed + step.lost + slow
    return bad > slo.bad_ratio * (step.served + step.failed + step.lost) + 1e-6


def _rise(before: float | None, now: float | None) -> float:
    """Return by how much a counter rose; one that fell began anew, one that is not shown stays."""
    if now is None or before is None:
        return 0.0
    return now - before if now >= before else now


def _newest_shown(before: WorkCounters, now: WorkCounters) -> WorkCounters:
    optional = ("job_cpu_seconds_done", "job_cpu_seconds_lost", "services")
    kept: Mapping[str, object] = {
        name: getattr(before, name) for name in optional if getattr(now, name) is None
    }
    return now.model_copy(update=dict(kept)) if kept else now
