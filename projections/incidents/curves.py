"""Numbers over time around an incident: use, risk, and pods that wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from projections.foresight.course import Course
from projections.foresight.log import Settled
from projections.incidents.history import ClusterHistory
from projections.incidents.incident import Curve
from schemas.wording import count_text

MOST_POINTS = 400
MARGIN_SECONDS = 60.0
"""Drawn beyond the end."""


def curves_of(
    history: ClusterHistory, nodes: frozenset[str], since: float, until: float
) -> tuple[Curve, ...]:
    """Return what is known; a curve without two points is left out."""
    risk: dict[float, float] = {}
    for node in sorted(nodes):
        for at, ratio in history.risks.get(node, ()):
            risk[at] = max(risk.get(at, 0.0), ratio)
    several = count_text(len(nodes), "node") if len(nodes) > 1 else next(iter(nodes), "")
    sampled = (
        (f"CPU use of {several}", "cores", history.usage_of(nodes) if nodes else []),
        (f"highest risk of {several}", "ratio", sorted(risk.items())),
        ("pods pending", "pods", [(at, float(count)) for at, count in history.queue]),
    )
    return tuple(
        curve
        for name, unit, samples in sampled
        if (curve := _curve(name, unit, samples, since, until)) is not None
    )


def request_curves(
    history: ClusterHistory, group: Sequence[Settled], since: float, until: float
) -> tuple[Curve, ...]:
    """Return of a rise's Services together: requests a second, failed ones here and without us, replicas."""
    services = sorted({one.rise.service for one in group})
    log = history.foresight
    here = _sums(log.here, services)
    there = _sums(log.there, services)
    of = services[0] if len(services) == 1 else count_text(len(services), "Service")
    sampled = (
        (f"requests of {of}", "/s", [(at, rate) for at, rate, _, _ in here]),
        ("failed without us", "/s", [(at, failed) for at, _, failed, _ in there]),
        ("failed", "/s", [(at, failed) for at, _, failed, _ in here]),
        ("replicas ready", "replicas", [(at, ready) for at, _, _, ready in here]),
    )
    return tuple(
        curve
        for name, unit, samples in sampled
        if (curve := _curve(name, unit, samples, since - MARGIN_SECONDS, until)) is not None
    )


def _sums(
    courses: Mapping[str, Course], services: Sequence[str]
) -> list[tuple[float, float, float, float]]:
    """Return by minute requests and failed ones a second, and ready replicas, of some Services together."""
    sums: dict[float, tuple[float, float, float]] = {}
    for name in services:
        for one in courses[name].minutes if name in courses else ():
            rate, failed, ready = sums.get(one.end_seconds, (0.0, 0.0, 0.0))
            sums[one.end_seconds] = (
                rate + one.rate,
                failed + one.failed / one.seconds,
                ready + one.ready,
            )
    return [(at, *sums[at]) for at in sorted(sums)]


def _curve(
    name: str, unit: str, samples: Sequence[tuple[float, float]], since: float, until: float
) -> Curve | None:
    window = [sample for sample in samples if since <= sample[0] <= until + MARGIN_SECONDS]
    if len(window) < 2:
        return None
    step = -(-len(window) // MOST_POINTS)
    points = [*window[::step], window[-1]] if step > 1 else window
    return Curve(
        name=name,
        unit=unit,
        times_seconds=tuple(at for at, _ in points),
        values=tuple(value for _, value in points),
    )
