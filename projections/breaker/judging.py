"""When a breaker trips, is tried again and closes: judged once an observation, from the tally alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from projections.breaker.settings import BreakerSettings
from projections.breaker.tally import ActionOutcome, BreakerTally, within
from projections.figures import duration, number, percent
from schemas.breaker import WHOLE, Breaker, BreakerCause, BreakerState
from schemas.numbers import rounded


@dataclass(frozen=True, slots=True)
class TripReason:
    """Why a breaker trips, with the number that does it."""

    cause: BreakerCause
    measured: float
    limit: float
    unit: str
    executions: int
    text: str


@dataclass(frozen=True, slots=True)
class BreakerChange:
    """A breaker that changes its state."""

    unit: str
    before: BreakerState
    state: BreakerState
    cause: BreakerCause
    finding: TripReason | None
    standing: tuple[Breaker, ...]
    """All that are not closed after it, by unit."""


def judge(
    tally: BreakerTally, now_seconds: float, settings: BreakerSettings
) -> tuple[BreakerTally, tuple[BreakerChange, ...]]:
    """Return the tally after an observation, and the breakers that change at it.

    Args:
        tally: of every event before.
        now_seconds: cluster time of the observation.
        settings: thresholds.
    """
    changes: list[BreakerChange] = []
    known = {WHOLE, *tally.marks, *tally.by_risk, *(one.unit for one in tally.standing)}
    wanted = tally.rearm
    for unit in sorted(known):
        breaker = next((one for one in tally.standing if one.unit == unit), None)
        after, cause, finding = _next(tally, unit, breaker, now_seconds, settings)
        if breaker is not None and ("" in wanted or unit in wanted):
            after, cause, finding = None, BreakerCause.RESET, None
        if cause is None:
            continue
        others = (one for one in tally.standing if one.unit != unit)
        standing = tuple(sorted((*others, *([after] if after else ())), key=lambda one: one.unit))
        tally = _forget(tally, unit).model_copy(update={"standing": standing})
        before = BreakerState.CLOSED if breaker is None else breaker.state
        state = BreakerState.CLOSED if after is None else after.state
        changes.append(BreakerChange(unit, before, state, cause, finding, standing))
    return (tally.model_copy(update={"rearm": ()}) if wanted else tally), tuple(changes)


def _next(
    tally: BreakerTally,
    unit: str,
    breaker: Breaker | None,
    now: float,
    settings: BreakerSettings,
) -> tuple[Breaker | None, BreakerCause | None, TripReason | None]:
    """Return the breaker after this observation, None once it is closed, and why; no cause: it stays."""
    if breaker is not None and breaker.state is BreakerState.SHADOW:
        if now < breaker.until_seconds:
            return breaker, None, None
        return _on_probation(breaker, now, settings), BreakerCause.WAITED, None
    share = 1.0 if breaker is None else settings.probation_ratio
    finding = find_harm(tally, unit, now, settings, share)
    if finding is not None:
        trips = 1 if breaker is None else breaker.trips + 1
        return _tripped(unit, finding.cause, trips, now, settings), finding.cause, finding
    if breaker is not None and now >= breaker.until_seconds and _was_tried(tally, breaker):
        return None, BreakerCause.RECOVERED, None
    return breaker, None, None


def _tripped(
    unit: str, cause: BreakerCause, trips: int, now: float, settings: BreakerSettings
) -> Breaker:
    doubled = settings.hold_seconds * 2.0 ** min(trips - 1, 30)
    return Breaker(
        unit=unit,
        state=BreakerState.SHADOW,
        cause=cause,
        since_seconds=now,
        until_seconds=now + min(doubled, settings.most_hold_seconds),
        trips=trips,
        spacing_seconds=settings.probation_spacing_seconds,
    )


def _on_probation(breaker: Breaker, now: float, settings: BreakerSettings) -> Breaker:
    update = {
        "state": BreakerState.PROBATION,
        "since_seconds": now,
        "until_seconds": rounded(now + settings.probation_seconds),
    }
    return breaker.model_copy(update=update)


def _was_tried(tally: BreakerTally, breaker: Breaker) -> bool:
    """Say whether anything was executed on probation; marks begin anew with it."""
    kinds = tally.marks if breaker.unit == WHOLE else (breaker.unit,)
    return any(
        mark.word == "executed" and mark.time_seconds >= breaker.since_seconds
        for kind in kinds
        for mark in tally.marks.get(kind, ())
    )


def _forget(tally: BreakerTally, unit: str) -> BreakerTally:
    """Return the tally without what made this breaker change: the next judgement rests on what follows."""
    if unit == WHOLE:
        return tally.model_copy(update={"points": (), "newest": None, "high_money_per_hour": None})
    marks = {kind: one for kind, one in tally.marks.items() if kind != unit}
    by_risk = {kind: one for kind, one in tally.by_risk.items() if kind != unit}
    return tally.model_copy(update={"marks": marks, "by_risk": by_risk})


def find_harm(
    tally: BreakerTally, unit: str, now: float, settings: BreakerSettings, share: float = 1.0
) -> TripReason | None:
    """Return why a unit's breaker trips now; None where nothing speaks for it.

    Args:
        tally: of every event before.
        unit: `all`, or a kind of action.
        now: cluster time, seconds.
        settings: thresholds.
        share: of the budget and the counts that suffices.
    """
    if unit == WHOLE:
        return _loss(tally, settings, share) or _switchback(tally, settings)
    marks = within(tally.marks.get(unit, ()), now, settings)
    return (
        _worse(marks, settings, share)
        or _refusals(marks, settings, share)
        or _churn(marks, settings, share)
        or _skill(tally, unit, now, settings, share)
    )


def _loss(tally: BreakerTally, settings: BreakerSettings, share: float) -> TripReason | None:
    if not tally.points or tally.newest is None:
        return None
    first, last = tally.points[0], tally.newest
    seconds = last.time_seconds - first.time_seconds
    if seconds < max(settings.harm_least_seconds, 1.0):
        return None
    loss = rounded(first.changed_money - last.changed_money)
    # Without what was lost: else the harm itself would raise the budget.
    cost = max(0.0, last.cost_money - first.cost_money - max(0.0, loss))
    budget = rounded(share * settings.harm_ratio * cost / seconds * settings.harm_window_seconds)
    if loss <= budget:
        return None
    text = (
        f"acting lost {number(loss)} {tally.currency} in {duration(seconds)} against the untouched world; "
        f"the budget of {duration(settings.harm_window_seconds)} is {number(budget)} {tally.currency}"
    )
    executed = _count([one for marks in tally.marks.values() for one in marks], "executed")
    return TripReason(BreakerCause.HARM, loss, budget, tally.currency, executed, text)


def _switchback(tally: BreakerTally, settings: BreakerSettings) -> TripReason | None:
    high = tally.high_money_per_hour
    if high is None or high >= 0.0 or tally.pairs < settings.switchback_pairs:
        return None
    text = (
        f"by {tally.pairs} pairs of blocks acting changes at most {number(high)} {tally.currency}/h"
    )
    unit = f"{tally.currency}/h"
    return TripReason(BreakerCause.SWITCHBACK, high, 0.0, unit, tally.pairs, text)


def _count(marks: Sequence[ActionOutcome], word: str) -> int:
    return sum(mark.word == word for mark in marks)


def _least(count: int, share: float) -> int:
    return max(1, math.ceil(count * share))


def _worse(
    marks: Sequence[ActionOutcome], settings: BreakerSettings, share: float
) -> TripReason | None:
    worse, every = _count(marks, "worse"), _count(marks, "worse") + _count(marks, "good")
    if worse < _least(settings.worse_least, share) or worse < settings.worse_ratio * every:
        return None
    text = f"{worse} of {every} verified executions made it worse"
    return _of_share(BreakerCause.WORSE, worse, every, settings.worse_ratio, text)


def _refusals(
    marks: Sequence[ActionOutcome], settings: BreakerSettings, share: float
) -> TripReason | None:
    refused, every = _count(marks, "refused"), _count(marks, "refused") + _count(marks, "executed")
    if refused < _least(settings.refused_least, share) or refused < settings.refused_ratio * every:
        return None
    text = f"{refused} of {every} decisions were refused"
    return _of_share(BreakerCause.REFUSALS, refused, every, settings.refused_ratio, text)


def _of_share(cause: BreakerCause, part: int, every: int, limit: float, text: str) -> TripReason:
    whole = f"{text} ({percent(part / every)}; the limit is {percent(limit)})"
    return TripReason(cause, rounded(part / every), limit, "share", every, whole)


def _churn(
    marks: Sequence[ActionOutcome], settings: BreakerSettings, share: float
) -> TripReason | None:
    turns = _turns_by_target(marks)
    most = _least(settings.churn_most, share)
    often = sum(count > most for count in turns.values())
    if not often or often < settings.churn_ratio * len(turns):
        return None
    target = max(sorted(turns), key=turns.__getitem__)
    text = (
        f"{target} was turned the other way {turns[target]} times in "
        f"{duration(settings.window_seconds)} where {most} are allowed, as were {often} of {len(turns)} targets"
    )
    return _of_share(BreakerCause.CHURN, often, len(turns), settings.churn_ratio, text)


def _turns_by_target(marks: Sequence[ActionOutcome]) -> dict[str, int]:
    """Return how often each target was turned the other way; 0 for one that went only one way."""
    directions: dict[str, list[str]] = {}
    for mark in marks:
        if mark.word == "executed" and mark.direction and mark.direction != "move":
            directions.setdefault(mark.target, []).append(mark.direction)
    return {
        target: sum(one != other for one, other in pairwise(way))
        for target, way in directions.items()
    }


def _skill(
    tally: BreakerTally, unit: str, now: float, settings: BreakerSettings, share: float
) -> TripReason | None:
    """Return that the forecast of risk was worse than always saying the rate that was seen (Brier skill below 0)."""
    decided = tally.by_risk.get(unit)
    if decided is None or now - decided >= settings.window_seconds:
        return None
    points = [one for one in tally.forecasts if now - one.time_seconds < settings.window_seconds]
    targets, positives = sum(one.targets for one in points), sum(one.positives for one in points)
    if positives < _least(settings.skill_positives, share) or positives >= targets:
        return None
    rate = positives / targets
    constant = rate * (1.0 - rate)
    skill = rounded(1.0 - math.fsum(one.brier_sum for one in points) / targets / constant)
    if skill >= 0.0:
        return None
    text = (
        f"the forecast of risk is worse than a constant: Brier skill {number(skill)} over {targets} targets, "
        f"{positives} of which failed"
    )
    return TripReason(BreakerCause.SKILL, skill, 0.0, "Brier skill", targets, text)
