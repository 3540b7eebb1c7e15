"""An action that rests on a forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from projections.foresight.foreseen import BandAhead, Foreseen
from schemas.outcome import Mode
from schemas.proposal import ForecastGround

RISE_RATIO = 0.25
"""A rise has begun when this share of the way to what is foreseen is passed, and so is what the replicas bear."""


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


def bands_of(ground: ForecastGround, foreseen: Foreseen | None) -> tuple[BandAhead, ...]:
    """Return the bands of a forecast; where the log has lost them, the one that a proposal states."""
    return (decisive_band(ground),) if foreseen is None else foreseen.bands


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


def action_json(action: AheadAction, came: Sequence[float | None]) -> dict[str, Any]:
    """Return an action as JSON values; `came` has what really came of each band. Times are cluster time in seconds."""
    return {
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
        "due_seconds": action.due_seconds,
        "bands": [
            {**band._asdict(), "came": value}
            for band, value in zip(action.bands, came, strict=True)
        ],
    }
