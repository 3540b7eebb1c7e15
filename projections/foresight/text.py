"""Foresight in plain words: of one action, and of a whole log."""

from __future__ import annotations

from collections.abc import Iterator

from projections.figures import duration, number, signed_text
from projections.foresight.action import AheadAction
from projections.foresight.rise import ForeseenRise, RiseOutcome
from projections.times import clock
from schemas.outcome import Mode


def minutes_text(ahead_seconds: float) -> str:
    """Return how long before or after something: `11 min before`, `40 s after`, `with`."""
    if not ahead_seconds:
        return "with"
    size = abs(ahead_seconds)
    length = f"{number(size / 60.0)} min" if size >= 60.0 else duration(size)
    return f"{length} {'before' if ahead_seconds > 0 else 'after'}"


def without_text(action: AheadAction) -> str:
    """Return what would have been wanted without the forecast."""
    without = action.ground.without_replicas
    return "nothing would be wanted" if without is None else f"{without} replicas would be wanted"


def headline(rise: ForeseenRise, outcome: RiseOutcome) -> str:
    """Return what was foreseen, or how long before it came, in a few words."""
    first = rise.first
    if outcome.rise_seconds is None:
        if outcome.due:
            return f"A rise of {rise.service} was foreseen, and has not come"
        due = minutes_text(rise.due_seconds - first.spoke_seconds)
        return f"A rise of {rise.service} was foreseen {due} it is due"
    ahead = minutes_text(outcome.rise_seconds - first.spoke_seconds)
    return (
        f"{first.ground.model.partition('/')[0]} foresaw the rise of {rise.service} {ahead} it came"
    )


def action_text(action: AheadAction, outcome: RiseOutcome) -> str:
    """Return what was asked for, and when it was there."""
    asked = f"{action.replicas_after} instead of {action.replicas_before} replicas"
    if action.executed_seconds is None:
        return f"{asked} decided at {clock(action.decided_seconds)}, not carried out"
    shadow = " in shadow mode" if action.mode is Mode.SHADOW else ""
    text = f"{asked} asked for at {clock(action.executed_seconds)}{shadow}"
    if action.ready_seconds is not None:
        text += f", ready {duration(action.ready_seconds - action.executed_seconds)} later"
        if outcome.rise_seconds is not None:
            text += f", {minutes_text(outcome.rise_seconds - action.ready_seconds)} the rise"
    return text


def outcome_texts(rise: ForeseenRise, outcome: RiseOutcome) -> Iterator[str]:
    """Yield what came of a rise, a sentence each, as far as the log goes."""
    due = clock(rise.due_seconds)
    if outcome.rise_seconds is None:
        yield (
            f"the rise has not come until {due}" if outcome.due else f"the rise is due until {due}"
        )
    until = f"until {due}" if outcome.due else f"so far (it counts until {due})"
    there = outcome.there
    if there is None:
        yield f"requests that failed {until}: {number(outcome.here.failed)}; no untouched world was recorded"
        return
    since = "" if there.fails_seconds is None else f" (from {clock(there.fails_seconds)} on)"
    worth = outcome.worth
    money = "" if worth is None else f"; worth {signed_text(worth)} {rise.first.currency}"
    yield (
        f"requests that failed {until}: {number(outcome.here.failed)} here, "
        f"{number(there.failed)} in the world without us{since}{money}"
    )
