"""An action that rests on a forecast, and its outcome: whether the rise came, and who lost requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from projections.foresight.course import Course
from projections.foresight.foreseen import BandAhead, Foreseen
from schemas.outcome import Mode
from schemas.proposal import ForecastGround

RISE_RATIO = 0.25
"""A rise has begun when this share of the way to what is foreseen is passed, and so is what the replicas bear."""
HOUR_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True)
class AheadAction:
    """A change of replicas that was decided because of a forecast."""

    seq: int
    """Position of the decision in the log."""
    cycle: int
    part: int
    service: str
    """`<namespace>/<name>`."""
    workload: str
    ground: ForecastGround
    replicas_before: int
    replicas_after: int
    decided_seconds: float
    held_seconds: float
    """How long new replicas are expected to be kept."""
    foreseen: Foreseen | None
    """All bands of the forecast it rests on; None where the log does not hold it any more."""
    level: float
    """Requests a second from which on the rise is there."""
    spoke: Foreseen | None
    """The first forecast, without a break up to that one, whose middle passed `level`."""
    capacity_hourly: float
    """Money that one replica was taken to cost an hour."""
    currency: str
    mode: Mode | None = None
    """None until it is executed."""
    executed_seconds: float | None = None
    ready_seconds: float | None = None
    """When as many replicas as wanted were first seen ready."""
    replaced_seconds: float | None = None
    """When the next action on the same Service was carried out, or this one taken back."""

    @property
    def bears_before(self) -> float:
        """Requests a second that the replicas of before bear."""
        return self.replicas_before * self.ground.replica_rate

    @property
    def bears_after(self) -> float:
        """Requests a second that the replicas bear that were asked for."""
        return self.replicas_after * self.ground.replica_rate

    @property
    def spoke_seconds(self) -> float:
        """When the rise was first foreseen."""
        return self.ground.made_seconds if self.spoke is None else self.spoke.made_seconds

    @property
    def spoke_seq(self) -> int:
        """Position of that forecast in the log; of the decision where it is not there any more."""
        return self.seq if self.spoke is None else self.spoke.seq

    @property
    def bands(self) -> tuple[BandAhead, ...]:
        """The bands it rests on; where the log has lost the rest, the one that decided."""
        return bands_of(self.ground, self.foreseen)

    @property
    def due_seconds(self) -> float:
        """Until when the rise should be there: the end of the farthest step that new replicas were to serve."""
        reach = reach_of(self.ground, self.foreseen, self.decided_seconds, self.held_seconds)
        return reach[-1].end_seconds

    @property
    def until_seconds(self) -> float:
        """Until when its effect is counted: the end of the farthest step, or the next action on the Service."""
        farthest = max(band.end_seconds for band in self.bands)
        return farthest if self.replaced_seconds is None else min(farthest, self.replaced_seconds)


def decisive_band(ground: ForecastGround) -> BandAhead:
    """Return the band that a proposal states."""
    return BandAhead(
        ground.horizon_seconds,
        60.0,
        ground.made_seconds + ground.horizon_seconds,
        ground.low,
        ground.middle,
        ground.high,
        ground.model,
    )


def bands_of(ground: ForecastGround, foreseen: Foreseen | None) -> tuple[BandAhead, ...]:
    """Return the bands of a forecast; where the log has lost them, the one that a proposal states."""
    return (decisive_band(ground),) if foreseen is None else foreseen.bands


def reach_of(
    ground: ForecastGround, foreseen: Foreseen | None, decided_seconds: float, held_seconds: float
) -> list[BandAhead]:
    """Return the bands of the time that new replicas are to serve, up to the end of their hold; never empty."""
    until = decided_seconds - ground.made_seconds + ground.lead_seconds + held_seconds
    farthest = max(ground.horizon_seconds, until)
    return [one for one in bands_of(ground, foreseen) if one.horizon_seconds <= farthest]


def rise_level(
    ground: ForecastGround, replicas: int, foreseen: Foreseen | None, reach: Sequence[BandAhead]
) -> float:
    """Return the requests a second from which on a foreseen rise is there.

    It is what the replicas of before bear, but at least a quarter of the way up from the rate of then, or the lowest
    foreseen one: where little was seen, what a replica bears is hardly more than it gets.
    """
    borne = replicas * ground.replica_rate
    if foreseen is None:
        return borne
    middles = [band.middle for band in reach]
    floor = min(foreseen.newest, *middles)
    return max(borne, floor + RISE_RATIO * (max(middles) - floor))


@dataclass(frozen=True, slots=True)
class WorldCounts:
    """A Service's requests in one world, from the decision until its effect is not counted any more."""

    offered: float
    served: float
    failed: float
    violated_seconds: float
    extra_replica_seconds: float
    """Wanted replicas beyond those of before, times seconds."""
    fails_seconds: float | None
    """Begin of the first minute since the rise in which more failed than the objective allows; None: never,"""
    failing_until_seconds: float | None
    """and the end of the last one."""


@dataclass(frozen=True, slots=True)
class AheadOutcome:
    """What came of a forecast and of the action on it, as far as the log goes."""

    rise_seconds: float | None
    """Begin of the first minute whose rate passed the level; None: not until it was due."""
    came: tuple[float | None, ...]
    """Requests a second that really came, for each band; None where that time is not over."""
    here: WorldCounts
    there: WorldCounts | None
    """In the untouched world; None where there is none beside the log."""
    worth: float | None
    """Money against the untouched world: requests, minutes outside the objective, less what the replicas cost."""
    settled: bool
    """Whether its time is over."""

    def lead_seconds(self, action: AheadAction) -> float | None:
        """Return how long before the rise the action was decided; below 0 where it was late."""
        return None if self.rise_seconds is None else self.rise_seconds - action.decided_seconds


def outcome_of(
    action: AheadAction,
    here: Course,
    there: Course | None,
    prices: Mapping[str, float],
    bad_ratio: float,
) -> AheadOutcome:
    """Return the outcome up to the newest minute of the Service's course.

    Args:
        action: on which Service, when, and why.
        here: the Service's minutes in this world.
        there: in the untouched one.
        prices: money for one unit, by component of the outcome score; empty where nobody says it.
        bad_ratio: share of failed requests that the objective allows.
    """
    rise = _rise(action, here)
    own = _counts(action, here, rise, bad_ratio)
    others = None if there is None else _counts(action, there, rise, bad_ratio)
    return AheadOutcome(
        rise_seconds=rise,
        came=tuple(
            here.mean_rate(band.end_seconds - band.step_seconds, band.end_seconds)
            for band in action.bands
        ),
        here=own,
        there=others,
        worth=None if others is None else _worth(action, own, others, prices),
        settled=here.seen_seconds >= action.until_seconds,
    )


def _rise(action: AheadAction, here: Course) -> float | None:
    level = action.level
    minutes = here.between(action.ground.made_seconds, action.due_seconds)
    return next((one.end_seconds - one.seconds for one in minutes if one.rate > level), None)


def _counts(
    action: AheadAction, course: Course, rise_seconds: float | None, bad_ratio: float
) -> WorldCounts:
    minutes = list(course.between(action.decided_seconds, action.until_seconds))
    since = action.decided_seconds if rise_seconds is None else rise_seconds
    failing = [
        one for one in minutes if one.end_seconds > since and one.failed > bad_ratio * one.offered
    ]
    return WorldCounts(
        offered=math.fsum(one.offered for one in minutes),
        served=math.fsum(one.served for one in minutes),
        failed=math.fsum(one.failed for one in minutes),
        violated_seconds=math.fsum(one.violated_seconds for one in minutes),
        extra_replica_seconds=math.fsum(
            max(0, one.wanted - action.replicas_before) * one.seconds for one in minutes
        ),
        fails_seconds=failing[0].end_seconds - failing[0].seconds if failing else None,
        failing_until_seconds=failing[-1].end_seconds if failing else None,
    )


def _worth(
    action: AheadAction, here: WorldCounts, there: WorldCounts, prices: Mapping[str, float]
) -> float | None:
    if not prices:
        return None
    extra_hours = (here.extra_replica_seconds - there.extra_replica_seconds) / HOUR_SECONDS
    return math.fsum((
        prices.get("requests_served", 0.0) * (here.served - there.served) / 1e6,
        prices.get("requests_failed", 0.0) * (here.failed - there.failed) / 1e6,
        prices.get("slo_services", 0.0) * (here.violated_seconds - there.violated_seconds) / 60.0,
        -action.capacity_hourly * extra_hours,
    ))  # fmt: skip


def as_json(action: AheadAction, outcome: AheadOutcome | None) -> dict[str, Any]:
    """Return an action and what came of it as JSON values; times are cluster time in seconds."""
    came: Sequence[float | None] = () if outcome is None else outcome.came
    bands = [
        {**band._asdict(), "came": came[place] if place < len(came) else None}
        for place, band in enumerate(action.bands)
    ]
    content: dict[str, Any] = {
        "cycle": action.cycle,
        "part": action.part,
        "service": action.service,
        "workload": action.workload,
        "model": action.ground.model,
        "spoke_seconds": action.spoke_seconds,
        "made_seconds": action.ground.made_seconds,
        "decided_seconds": action.decided_seconds,
        "executed_seconds": action.executed_seconds,
        "mode": action.mode,
        "ready_seconds": action.ready_seconds,
        "lead_time_seconds": action.ground.lead_seconds,
        "replicas_before": action.replicas_before,
        "replicas_after": action.replicas_after,
        "replicas_without": action.ground.without_replicas,
        "replica_rate": action.ground.replica_rate,
        "level": action.level,
        "bands": bands,
    }
    if outcome is not None:
        content |= _outcome_json(action, outcome)
    return content


def _outcome_json(action: AheadAction, outcome: AheadOutcome) -> dict[str, Any]:
    there = outcome.there
    return {
        "rise_seconds": outcome.rise_seconds,
        "ahead_seconds": outcome.lead_seconds(action),
        "settled": outcome.settled,
        "until_seconds": action.until_seconds,
        "requests": outcome.here.offered,
        "failed": outcome.here.failed,
        "fails_seconds": outcome.here.fails_seconds,
        "untouched_failed": None if there is None else there.failed,
        "untouched_fails_seconds": None if there is None else there.fails_seconds,
        "worth": outcome.worth,
        "currency": action.currency,
    }
