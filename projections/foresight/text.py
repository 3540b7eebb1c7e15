"""Foresight in plain words: of one action, and of a whole log."""

from __future__ import annotations

from collections.abc import Iterator

from projections.figures import duration, number, signed_text
from projections.foresight.action import AheadAction, AheadOutcome
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


def headline(action: AheadAction, outcome: AheadOutcome) -> str:
    """Return what was foreseen, or how long before it came, in a few words."""
    ground = action.ground
    if outcome.rise_seconds is None:
        due = minutes_text(action.due_seconds - action.spoke_seconds)
        return f"A rise of {action.service} was foreseen {due} it is due"
    ahead = minutes_text(outcome.rise_seconds - action.spoke_seconds)
    return f"{ground.model.partition('/')[0]} foresaw the rise of {action.service} {ahead} it came"


def outcome_texts(action: AheadAction, outcome: AheadOutcome) -> Iterator[str]:
    """Yield what came of an action, a sentence each, as far as the log goes."""
    yield _done_text(action, outcome)
    end = clock(action.until_seconds)
    until = f"until {end}" if outcome.settled else f"so far (it counts until {end})"
    there = outcome.there
    if there is None:
        yield f"requests that failed {until}: {number(outcome.here.failed)}; no untouched world was recorded"
        return
    since = "" if there.fails_seconds is None else f" (from {clock(there.fails_seconds)} on)"
    yield (
        f"requests that failed {until}: {number(outcome.here.failed)} here, "
        f"{number(there.failed)} in the world without us{since}{_worth_text(action, outcome)}"
    )


def _worth_text(action: AheadAction, outcome: AheadOutcome) -> str:
    return (
        "" if outcome.worth is None else f"; worth {signed_text(outcome.worth)} {action.currency}"
    )


def _done_text(action: AheadAction, outcome: AheadOutcome) -> str:
    asked = f"{action.replicas_after} instead of {action.replicas_before} replicas"
    if action.executed_seconds is None:
        return f"{asked} decided at {clock(action.decided_seconds)}, not carried out"
    shadow = " in shadow mode" if action.mode is Mode.SHADOW else ""
    text = f"{asked} asked for at {clock(action.executed_seconds)}{shadow}"
    if action.ready_seconds is not None:
        text += f", ready {duration(action.ready_seconds - action.executed_seconds)} later"
        if outcome.rise_seconds is not None:
            text += f", {minutes_text(outcome.rise_seconds - action.ready_seconds)} the rise"
    if outcome.rise_seconds is None:
        due = clock(action.due_seconds)
        text += (
            f"; the rise did not come until {due}"
            if outcome.settled
            else f"; it is due until {due}"
        )
    return text
