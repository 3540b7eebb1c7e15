"""A rise of one Service that was foreseen, the actions that answer it, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from projections.foresight.action import AheadAction
from projections.foresight.course import Course
from schemas.outcome import Mode

LONGEST_SECONDS = 3_600.0
"""An action so long after the first answers another rise."""
HOUR_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True)
class ForeseenRise:
    """Actions on one Service, each decided before the rise that the others answer was due; never empty."""

    actions: tuple[AheadAction, ...]
    """In the order of decisions, refused ones too."""

    @property
    def first(self) -> AheadAction:
        """The first action that was carried out; else the first."""
        return next((one for one in self.actions if one.mode is not None), self.actions[0])

    @property
    def last(self) -> AheadAction:
        """The last action that was carried out; else the last."""
        done = [one for one in self.actions if one.mode is not None]
        return (done or self.actions)[-1]

    @property
    def service(self) -> str:
        """`<namespace>/<name>`."""
        return self.actions[0].service

    @property
    def carried_out(self) -> int:
        """How many of the actions."""
        return sum(one.mode is not None for one in self.actions)

    @property
    def shadow(self) -> bool:
        """Whether nothing was written."""
        return all(one.mode in (None, Mode.SHADOW) for one in self.actions)

    @property
    def due_seconds(self) -> float:
        """Until when the rise should be there, and its effect counts: the end of what new replicas were to serve."""
        return max(one.due_seconds for one in self.actions)

    @property
    def over_seconds(self) -> float:
        """When the farthest step is over that was foreseen."""
        ends = (one.bands[-1].end_seconds for one in self.actions)
        return max(self.due_seconds, *ends)

    def places(self, cycle: int) -> list[int]:
        """Return which of the actions a cycle decided."""
        return [place for place, one in enumerate(self.actions) if one.cycle == cycle]

    def takes(self, action: AheadAction) -> bool:
        """Say whether an action answers this rise, too."""
        soon = action.decided_seconds <= self.actions[0].decided_seconds + LONGEST_SECONDS
        return (
            soon and action.service == self.service and action.decided_seconds <= self.due_seconds
        )


@dataclass(frozen=True, slots=True)
class WorldCounts:
    """A Service's requests in one world, from the first decision until the rise was due."""

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
class RiseOutcome:
    """What came of a foreseen rise and of the actions on it, as far as the log goes."""

    rise_seconds: float | None
    """Begin of the first minute whose rate passed the first action's level; None: not until it was due."""
    came: tuple[tuple[float | None, ...], ...]
    """Requests a second that really came, by action and band; None where that time is not over."""
    here: WorldCounts
    there: WorldCounts | None
    """In the untouched world; None where there is none beside the log."""
    worth: float | None
    """Money against the untouched world: requests, minutes outside the objective, less what the replicas cost."""
    due: bool
    """Whether the time is over in which it should have come."""

    def lead_seconds(self, rise: ForeseenRise) -> float | None:
        """Return how long before it came the first action was decided; below 0 where that was late."""
        came = self.rise_seconds
        return None if came is None else came - rise.first.decided_seconds

    @property
    def spared(self) -> float | None:
        """Requests that failed in the untouched world alone; None where there is none."""
        return None if self.there is None else self.there.failed - self.here.failed


def outcome_of(
    rise: ForeseenRise,
    here: Course,
    there: Course | None,
    prices: Mapping[str, float],
    bad_ratio: float,
) -> RiseOutcome:
    """Return the outcome up to the newest minute of the Service's course.

    Args:
        rise: of which Service, and what was done.
        here: the Service's minutes in this world.
        there: in the untouched one.
        prices: money for one unit, by component of the outcome score; empty where nobody says it.
        bad_ratio: share of failed requests that the objective allows.
    """
    began = _began(rise, here)
    own = _counts(rise, here, began, bad_ratio)
    others = None if there is None else _counts(rise, there, began, bad_ratio)
    return RiseOutcome(
        rise_seconds=began,
        came=tuple(
            tuple(
                here.mean_rate(band.end_seconds - band.step_seconds, band.end_seconds)
                for band in action.bands
            )
            for action in rise.actions
        ),
        here=own,
        there=others,
        worth=None if others is None else _worth(rise, own, others, prices),
        due=here.seen_seconds >= rise.due_seconds,
    )


def _began(rise: ForeseenRise, here: Course) -> float | None:
    first = rise.first
    minutes = here.between(first.ground.made_seconds, rise.due_seconds)
    return next((one.end_seconds - one.seconds for one in minutes if one.rate > first.level), None)


def _counts(
    rise: ForeseenRise, course: Course, rise_seconds: float | None, bad_ratio: float
) -> WorldCounts:
    first = rise.first
    minutes = list(course.between(first.decided_seconds, rise.due_seconds))
    since = first.decided_seconds if rise_seconds is None else rise_seconds
    failing = [
        one for one in minutes if one.end_seconds > since and one.failed > bad_ratio * one.offered
    ]
    return WorldCounts(
        offered=math.fsum(one.offered for one in minutes),
        served=math.fsum(one.served for one in minutes),
        failed=math.fsum(one.failed for one in minutes),
        violated_seconds=math.fsum(one.violated_seconds for one in minutes),
        extra_replica_seconds=math.fsum(
            max(0, one.wanted - first.replicas_before) * one.seconds for one in minutes
        ),
        fails_seconds=failing[0].end_seconds - failing[0].seconds if failing else None,
        failing_until_seconds=failing[-1].end_seconds if failing else None,
    )


def _worth(
    rise: ForeseenRise, here: WorldCounts, there: WorldCounts, prices: Mapping[str, float]
) -> float | None:
    if not prices:
        return None
    extra_hours = (here.extra_replica_seconds - there.extra_replica_seconds) / HOUR_SECONDS
    return math.fsum((
        prices.get("requests_served", 0.0) * (here.served - there.served) / 1e6,
        prices.get("requests_failed", 0.0) * (here.failed - there.failed) / 1e6,
        prices.get("slo_services", 0.0) * (here.violated_seconds - there.violated_seconds) / 60.0,
        -rise.first.capacity_hourly * extra_hours,
    ))  # fmt: skip


def rise_json(rise: ForeseenRise, outcome: RiseOutcome) -> dict[str, Any]:
    """Return what came of a rise as JSON values; times are cluster time in seconds."""
    there = outcome.there
    return {
        "actions": rise.carried_out,
        "rise_seconds": outcome.rise_seconds,
        "ahead_seconds": outcome.lead_seconds(rise),
        "until_seconds": rise.due_seconds,
        "due": outcome.due,
        "requests": outcome.here.offered,
        "failed": outcome.here.failed,
        "fails_seconds": outcome.here.fails_seconds,
        "untouched_failed": None if there is None else there.failed,
        "untouched_fails_seconds": None if there is None else there.fails_seconds,
        "worth": outcome.worth,
        "currency": rise.first.currency,
    }
