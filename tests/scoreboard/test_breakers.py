"""The scoreboard's breakers: every change is published once, as a fold of what the log holds."""

from __future__ import annotations

from typing import Any

from projections.breaker.settings import BreakerSettings
from schemas.actions import ActionKind
from schemas.breaker import BreakerState, OutcomeBreaker
from schemas.control import Command
from schemas.envelope import Event
from schemas.outcome import VerificationStatus
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import (
    ORIGIN,
    make_action,
    make_control,
    make_execution,
    make_observation,
    make_verification,
    stamp_event,
)

SLEEP = make_action(kind=ActionKind.POWER_STATE, target="n1")
ON = BreakerSettings(when="on", hold_seconds=60.0)


def handler_of(breaker: BreakerSettings = ON) -> Any:
    """Return a scoreboard with such breakers."""
    return build(ScoreboardSettings(breaker=breaker), ORIGIN)


def harmful(cycles: int) -> list[Event[Any]]:
    """Return cycles in each of which an execution is seen to have made it worse."""
    events: list[Event[Any]] = []
    for cycle in range(cycles):
        events.append(stamp_event(make_observation(3, cycle=cycle)))
        done = stamp_event(make_execution(SLEEP, cycle=cycle))
        judged = make_verification(
            cycle=cycle, execution_id=done.id, status=VerificationStatus.WORSE
        )
        events += [done, stamp_event(judged)]
    return events


def played(
    handler: Any, events: list[Event[Any]], state: ScoreboardState | None = None
) -> tuple[ScoreboardState, list[OutcomeBreaker]]:
    """Return the state after some events, and every change, each stored as soon as it is owed."""
    state = handler.initial() if state is None else state
    changes = []
    for event in events:
        state = handler.evolve(state, event)
        for new_event in handler.decide(state, overdue=False):
            if isinstance(new_event.data, OutcomeBreaker):
                changes.append(new_event.data)
                state = handler.evolve(state, stamp_event(new_event.data))
    assert state is not None
    return state, changes


def test_a_trip_is_published_once_with_its_numbers() -> None:
    """At the observation after the sixth; it names the unit, the share, the limit and what stands."""
    _, changes = played(handler_of(), harmful(9))
    (trip,) = changes
    assert (trip.cycle, trip.unit, trip.state) == (6, SLEEP.kind, "shadow")
    assert (trip.measured, trip.limit, trip.executions) == (1.0, 0.3, 6)
    assert [one.unit for one in trip.standing] == [trip.unit]


def test_a_restart_goes_on_where_the_checkpoint_left_it() -> None:
    """The state as JSON is the state: the same changes follow, and none twice."""
    events = [*harmful(9), stamp_event(make_control(Command.REARM))]
    events += [stamp_event(make_observation(3, cycle=cycle)) for cycle in (9, 10)]
    _, whole = played(handler_of(), events)
    assert [change.state for change in whole] == [BreakerState.SHADOW, BreakerState.CLOSED]
    for place in range(len(events)):
        state, before = played(handler_of(), events[:place])
        restored = ScoreboardState.model_validate_json(state.model_dump_json())
        _, after = played(handler_of(), events[place:], restored)
        assert before + after == whole


def test_switched_off_neither_checkpoint_nor_announcement_mentions_them() -> None:
    """Recordings of a run without breakers are what they were before there were any."""
    for off in (BreakerSettings(), BreakerSettings(when="off")):
        settings = ScoreboardSettings(breaker=off)
        state, changes = played(build(settings, ORIGIN), harmful(9))
        assert changes == []
        assert "breakers" not in state.model_dump(mode="json")
        assert "breaker" not in settings.announcement()
