"""Bands of demand by the minute: what n series are at most and at least in 5 to 60 minutes, with their own record.

Three rules give a point: `last_value` (the newest minute stays: the simple rule), `trend` (a damped line through ten
minutes) and `daily` (the newest minute, times what the same hours of earlier days did). A rule is used in place of
the simple one while its recent errors are clearly smaller. Around the point lies a band from the rule's own errors,
as they were seen when horizons ended (split conformal: the ranks are those of n + 1 values), widened or narrowed by
what share of recent values fell outside (adaptive conformal inference, Gibbs and Candes 2021). A series that is new
borrows the errors of others of its kind and size.

*Drift*: recent values leave the band far more often than they should, or the rule's errors outgrow the simple one's.
Then the simple rule speaks for a while, and `basis` says so.

Pure and causal: state in, state out, no clock and no chance. What is kept between two minutes is rounded to
what a checkpoint holds, so that a restart changes no bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.series.band_state import (
    ASSUMED,
    ASSUMED_SPREAD,
    BETTER,
    DAILY,
    DAILY_GROWTH,
    DAILY_RATE,
    DRIFT,
    DRIFT_MINUTES,
    DRIFT_SHARE,
    FEWEST_ERRORS,
    FEWEST_SCORES,
    HIGH,
    KEPT_MINUTES,
    LAST_VALUE,
    LEVELS,
    LOW,
    MIDDLE,
    MINUTES,
    MISS_SHARE,
    MISSING,
    NARROWEST,
    OWN,
    POINTS,
    QUARTER,
    QUARTERS,
    RATE,
    REACH,
    RULES,
    SCALE,
    SIMILAR,
    SLOTS,
    SMALLEST_SCALE,
    STEPS,
    TREND,
    TREND_MINUTES,
    WIDEN_RATE,
    WIDEST,
    WORSE,
    Array,
    Bands,
    BandState,
    with_ids,
)
from features.series.quantiles import Floats


def push_minute(state: BandState, minute: int, values: Mapping[str, float]) -> BandState:
    """Return the state after a whole minute.

    Args:
        state: the state before.
        minute: which one, later than the state's; those between are unknown.
        values: mean of each series in it; a series that is not named is unknown, and forgotten
            once nothing of it is left.
    """
    if minute <= state.minute:
        raise ValueError(f"minute {minute} is not after {state.minute}")
    gap = minute - state.minute - 1
    if gap >= KEPT_MINUTES:
        kept = {"values": math.nan, "issued": math.nan}
        cleared = {name: np.full_like(getattr(state, name), fill) for name, fill in kept.items()}
        state = replace(state, **cleared)
    else:
        for skipped in range(state.minute + 1, minute):
            state = _push(state, skipped, {})
    return _push(state, minute, values)


def _push(state: BandState, minute: int, values: Mapping[str, float]) -> BandState:
    state = with_ids(state, values)
    column = np.array([values.get(name, math.nan) for name in state.ids], dtype=np.float32)
    known = np.concatenate([state.values[:, 1:], column[:, None]], axis=1)
    moved = replace(state, minute=minute, values=known, profile=_profile(state, known, minute))
    scored = _score(moved, column.astype(np.float64))
    return _issue(scored)


def _profile(state: BandState, known: Array, minute: int) -> Array:
    """Return the usual values by quarter of the day, with the quarter that has just ended."""
    if (minute + 1) % QUARTER:
        return state.profile
    quarter = minute // QUARTER % QUARTERS
    newest = known[:, -QUARTER:].astype(np.float64)
    total = np.zeros(len(newest))
    for column in range(QUARTER):
        total = total + newest[:, column]
    mean, before = total / QUARTER, state.profile[:, quarter].astype(np.float64)
    after = np.where(np.isnan(before), mean, before + DAILY_RATE * (mean - before))
    profile = state.profile.copy()
    profile[:, quarter] = np.where(np.isnan(mean), before, after)
    return profile


@lru_cache(maxsize=4)
def rule_points(state: BandState) -> Floats:
    """Return each rule's point, shape (n, horizons, rules); NaN where a rule has nothing to say."""
    last = state.values[:, -1].astype(np.float64)
    result = np.full((len(last), len(MINUTES), len(RULES)), math.nan)
    mean, slope = _line(state.values[:, -TREND_MINUTES:].astype(np.float64))
    top = 2.0 * _largest(state.values)
    now = _usual(state.profile, state.minute)
    for place, ahead in enumerate(MINUTES):
        result[:, place, LAST_VALUE] = last
        reach = REACH[place]
        line = mean + slope * ((TREND_MINUTES - 1) / 2.0 + reach)
        result[:, place, TREND] = np.minimum(np.maximum(line, 0.0), top)
        later = _usual(state.profile, state.minute + ahead)
        growth = np.where(now > 0.0, later / np.where(now > 0.0, now, 1.0), math.nan)
        growth = np.minimum(np.maximum(growth, 1.0 / DAILY_GROWTH), DAILY_GROWTH)
        result[:, place, DAILY] = last * growth
    return result


def _line(rows: Floats) -> tuple[Floats, Floats]:
    """Return mean and slope a minute of each row, by least squares; column by column, for equal bits anywhere."""
    count = rows.shape[1]
    middle = (count - 1) / 2.0
    total, moment = np.zeros(len(rows)), np.zeros(len(rows))
    for column in range(count):
        total = total + rows[:, column]
        moment = moment + (column - middle) * rows[:, column]
    return total / count, moment / math.fsum((column - middle) ** 2 for column in range(count))


def _usual(profile: Array, minute: int) -> Floats:
    """Return what is usual at a minute: between the middles of two quarters, on a line."""
    at = (minute + 0.5) / QUARTER - 0.5
    first = math.floor(at)
    share = at - first
    before = profile[:, first % QUARTERS].astype(np.float64)
    after = profile[:, (first + 1) % QUARTERS].astype(np.float64)
    usual: Floats = before + share * (after - before)
    return usual


def _largest(values: Array) -> Floats:
    largest: Floats = np.where(np.isnan(values), -np.inf, values).max(axis=1, initial=0.0)
    return largest.astype(np.float64)


def _slot(minute: int, ahead: int) -> int | None:
    """Return where the forecast of a minute is kept that looks so far ahead; None where it is not."""
    spacing = ahead // SLOTS
    return None if minute % spacing else minute // spacing % SLOTS


def _score(state: BandState, seen: Floats) -> BandState:
    """Return the state after the forecasts whose horizon ends with this minute were held against it."""
    names = ("errors", "recent", "scored", "missed", "width", "rule", "drifted_until")
    after = replace(state, **{name: getattr(state, name).copy() for name in names})
    for place, ahead in enumerate(MINUTES):
        slot = _slot(state.minute, ahead)
        if slot is None:
            continue
        forecast = state.issued[:, place, slot].astype(np.float64)
        rows = np.flatnonzero(~np.isnan(forecast[:, MIDDLE]) & ~np.isnan(seen))
        if len(rows):
            _note_scores(after, place, rows, forecast[rows], seen[rows])
    return after


def _note_scores(after: BandState, place: int, rows: Array, forecast: Floats, seen: Floats) -> None:
    """Write the scores of some rows at one horizon into the arrays of a state that nobody else holds."""
    errors = (seen[:, None] - forecast[:, POINTS:]) / forecast[:, SCALE, None]
    steps = np.minimum(np.maximum(np.rint(errors * STEPS), MISSING + 1), -MISSING - 1)
    ring = after.errors[rows, place]
    newest = np.where(np.isnan(steps), MISSING, steps).astype(np.int16)
    after.errors[rows, place] = np.concatenate([ring[:, :, 1:], newest[:, :, None]], axis=2)
    recent, size = after.recent[rows, place].astype(np.float64), np.abs(errors)
    moved = np.where(np.isnan(recent), size, recent + RATE * (size - recent))
    recent = np.where(np.isnan(size), recent, moved)
    after.recent[rows, place] = recent
    outside = (seen < forecast[:, LOW]) | (seen > forecast[:, HIGH])
    missed = after.missed[rows, place].astype(np.float64)
    missed = missed + RATE * (outside - missed)
    width = after.width[rows, place].astype(np.float64)
    width = width + WIDEN_RATE * (outside - MISS_SHARE)
    after.width[rows, place] = np.minimum(np.maximum(width, NARROWEST), WIDEST)
    after.scored[rows, place] += 1
    _note_drift(after, place, rows, recent, missed)


def _note_drift(after: BandState, place: int, rows: Array, recent: Floats, missed: Floats) -> None:
    scored, rule = after.scored[rows, place], after.rule[rows, place]
    own = recent[np.arange(len(rows)), rule]
    worse = (rule != LAST_VALUE) & ~(own <= WORSE * recent[:, LAST_VALUE])
    drifts = (scored >= FEWEST_ERRORS) & ((missed > DRIFT_SHARE) | worse)
    until = after.minute + max(DRIFT_MINUTES, MINUTES[place])
    after.drifted_until[rows, place] = np.where(drifts, until, after.drifted_until[rows, place])
    # It is judged anew from here on: one drift is noticed once.
    after.missed[rows, place] = np.where(drifts, MISS_SHARE, missed)
    usable = scored >= FEWEST_SCORES
    rule = np.where(drifts | ~usable, LAST_VALUE, rule)
    for other in (TREND, DAILY):
        best = recent[np.arange(len(rows)), rule]
        quiet = after.drifted_until[rows, place] <= after.minute
        rule = np.where(quiet & usable & (recent[:, other] < BETTER * best), other, rule)
    after.rule[rows, place] = rule


def _issue(state: BandState) -> BandState:
    """Return the state with the forecasts of this minute that will be scored."""
    due = [(place, _slot(state.minute, ahead)) for place, ahead in enumerate(MINUTES)]
    if all(slot is None for _, slot in due):
        return state
    bands, at, scale = forecast_bands(state), rule_points(state), _scale(state)
    issued = state.issued.copy()
    for place, slot in due:
        if slot is not None:
            issued[:, place, slot, :SCALE] = bands.values[:, place]
            issued[:, place, slot, SCALE] = scale
            issued[:, place, slot, POINTS:] = at[:, place]
    return replace(state, issued=issued)


def _scale(state: BandState) -> Floats:
    last = state.values[:, -1].astype(np.float64)
    scale: Floats = np.maximum(np.maximum(last, SMALLEST_SCALE * _largest(state.values)), 1e-6)
    return scale


@lru_cache(maxsize=4)
def forecast_bands(state: BandState) -> Bands:
    """Return what the newest minute lets expect; nobody writes into it."""
    count = len(state.ids)
    at, scale = rule_points(state), _scale(state)
    values = np.full((count, len(MINUTES), len(LEVELS)), math.nan)
    basis = np.full((count, len(MINUTES)), ASSUMED, dtype=np.int8)
    rules = np.full((count, len(MINUTES)), LAST_VALUE, dtype=np.int8)
    groups = _groups(state)
    for place, ahead in enumerate(MINUTES):
        rule = state.rule[:, place].copy()
        rule = np.where(np.isnan(at[np.arange(count), place, rule]), LAST_VALUE, rule)
        errors = state.errors[np.arange(count), place, rule]
        offsets, enough = _error_quantiles(errors)
        spread = ASSUMED_SPREAD * math.sqrt(ahead / MINUTES[0])
        offsets[~enough] = (-spread, 0.0, spread)
        basis[enough, place] = OWN
        for members in groups:
            new = [row for row in members if not enough[row]]
            if not new:
                continue
            ring = errors[[row for row in members if rule[row] == LAST_VALUE]].reshape(1, -1)
            borrowed, some = _error_quantiles(ring)
            if some[0]:
                offsets[new], basis[new, place] = borrowed[0], SIMILAR
        basis[state.drifted_until[:, place] > state.minute, place] = DRIFT
        rules[:, place] = rule
        middle = at[np.arange(count), place, rule] + scale * offsets[:, 1]
        width = state.width[:, place].astype(np.float64) * scale
        values[:, place, 0] = np.maximum(middle + width * (offsets[:, 0] - offsets[:, 1]), 0.0)
        values[:, place, 1] = np.maximum(middle, 0.0)
        values[:, place, 2] = np.maximum(middle + width * (offsets[:, 2] - offsets[:, 1]), 0.0)
    return Bands(values, rules, basis)


def _error_quantiles(errors: Array) -> tuple[Floats, NDArray[np.bool_]]:
    """Return low, middle and high error of each row as shares of the scale, and whether there are enough."""
    known = errors != MISSING
    counts = np.count_nonzero(known, axis=1)
    whole = errors.astype(np.int64)  # int16 cannot hold what sorts behind all errors
    ordered = np.sort(np.where(known, whole, -MISSING), axis=1)
    last = np.maximum(counts - 1, 0)
    ranks: Sequence[Callable[[NDArray[Any]], NDArray[Any]]] = (
        lambda count: np.floor((count + 1) * LEVELS[0]) - 1,
        lambda count: np.floor((count - 1) * LEVELS[1]),
        lambda count: np.ceil((count + 1) * LEVELS[2]) - 1,
    )
    result = np.zeros((len(errors), len(LEVELS)))
    row = np.arange(len(errors))
    for column, rank in enumerate(ranks):
        place = np.minimum(np.maximum(rank(counts), 0), last).astype(np.int64)
        if ordered.shape[1]:
            result[:, column] = ordered[row, place] / STEPS
    return result, counts >= FEWEST_ERRORS


def _groups(state: BandState) -> list[list[int]]:
    """Return the rows of series that are alike: of one kind, and within a factor of two in their newest value."""
    groups: dict[tuple[str, int], list[int]] = {}
    for row, (name, last) in enumerate(zip(state.ids, state.values[:, -1].tolist(), strict=True)):
        size = 0 if math.isnan(last) else math.frexp(last)[1]
        groups.setdefault((name.partition("/")[0], size), []).append(row)
    return list(groups.values())
