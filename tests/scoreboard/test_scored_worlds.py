"""The scoreboard's outcome score and counterfactual: from observations alone, each cycle once."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.envelope import Event
from schemas.frames import frame_of
from schemas.outcome import ExecutionPhase
from schemas.reasons import Reason
from schemas.score import OutcomeCounterfactual, OutcomeScore
from schemas.untouched import UntouchedObservation
from schemas.work import WorkCounters
from services.scoreboard.scored_worlds import KEPT_LOOKS, KEPT_UNPUBLISHED
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import (
    ORIGIN,
    make_action,
    make_decision,
    make_execution,
    make_observation,
    make_risk,
    stamp_event,
)

HANDLER = build(ScoreboardSettings(), ORIGIN)


def observed(cycle: int, **counters: Any) -> Event[Any]:
    """Return an observation that counts work."""
    work = WorkCounters(**counters)
    return stamp_event(make_observation(3, cycle=cycle, work=work))


def untouched(cycle: int, **counters: Any) -> Event[Any]:
    """Return the observation of the untouched world."""
    like = observed(cycle, **counters).data
    fields = {
        name: getattr(like, name)
        for name in UntouchedObservation.model_fields
        if name not in {"cycle", "frame", "nodes", "pods"}
    }
    tables = {"nodes": like.nodes, "pods": like.pods}
    made = frame_of(
        UntouchedObservation, tables, cycle=cycle, previous=None, keyframe_every=20, **fields
    )
    return stamp_event(made)


def after(*events: Event[Any], handler: Any = HANDLER) -> ScoreboardState:
    """Return the state after some events."""
    state: ScoreboardState = handler.initial()
    for event in events:
        state = handler.evolve(state, event)
    return state


def owed(state: ScoreboardState, kind: type[Any], handler: Any = HANDLER) -> list[Any]:
    """Return what is owed of one kind."""
    return [
        new_event
        for new_event in handler.decide(state, overdue=False)
        if isinstance(new_event.data, kind)
    ]


def test_each_observation_is_scored_from_the_second_on() -> None:
    """A score needs a step; its causes are the observations at both ends."""
    first, second = observed(1), observed(2, jobs_completed=2)
    assert owed(after(first), OutcomeScore) == []
    (score,) = owed(after(first, second), OutcomeScore)
    assert (score.cycle, score.causes) == (2, (first.id, second.id))
    (jobs,) = (one for one in score.data.components if one.name == "jobs_completed")
    assert (jobs.step, jobs.total) == (2.0, 2.0)


def test_what_was_published_is_owed_no_more() -> None:
    """The log holds each score once; the next one goes on where it ended."""
    state = after(observed(1), observed(2, evictions=1))
    (score,) = owed(state, OutcomeScore)
    state = HANDLER.evolve(state, stamp_event(score.data))
    assert owed(state, OutcomeScore) == []
    (again,) = owed(HANDLER.evolve(state, observed(3, evictions=3)), OutcomeScore)
    (evictions,) = (one for one in again.data.components if one.name == "evictions")
    assert (evictions.step, evictions.total) == (2.0, 3.0)


def test_a_policy_whose_actions_are_all_refused_scores_exactly_as_doing_nothing() -> None:
    """Intent is no input: decisions, predictions and refusals change no byte of the score."""
    action = make_action("safety", ActionKind.MIGRATE, "node-0")
    observations = [observed(cycle, jobs_completed=cycle) for cycle in (1, 2, 3, 4)]
    busy: list[Event[Any]] = []
    for event in observations:
        refused = make_execution(
            action,
            cycle=event.cycle,
            phase=ExecutionPhase.REFUSED,
            reason=Reason.COOL_DOWN,
        )
        busy += [
            event,
            stamp_event(make_risk({"node-0": 0.99}, cycle=event.cycle)),
            stamp_event(make_decision(action, cycle=event.cycle)),
            stamp_event(refused),
        ]
    scores = [
        [new_event.data for new_event in owed(after(*events), OutcomeScore)]
        for events in (observations, busy)
    ]
    assert len(scores[0]) == 3
    assert scores[0] == scores[1]


def test_two_worlds_are_compared_at_the_cycles_of_which_both_were_seen() -> None:
    """A cycle that the untouched world leaves out is part of the next step of both."""
    events = (observed(1), untouched(1), observed(2), observed(3, jobs_completed=5))
    state = after(*events, untouched(3, jobs_completed=7))
    (difference,) = owed(state, OutcomeCounterfactual)
    assert difference.cycle == 3
    assert difference.data.step_seconds == difference.data.total_seconds == 20.0
    (jobs,) = (one for one in difference.data.components if one.name == "jobs_completed")
    assert (jobs.step, jobs.total) == (-2.0, -2.0)


def test_equal_worlds_differ_by_exactly_nothing() -> None:
    """Every difference of two equal worlds is 0."""
    counters = {"jobs_completed": 3, "waiting_pod_seconds": {"none": 12.5}}
    state = after(observed(1), untouched(1), observed(2, **counters), untouched(2, **counters))
    (difference,) = owed(state, OutcomeCounterfactual)
    data = difference.data
    assert {number for one in data.components for number in (one.step, one.total)} == {0.0}
    assert (data.step_money, data.total_money, data.total_money_per_hour) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "events",
    [
        (untouched(1), untouched(2)),
        (observed(2), observed(3), untouched(1), untouched(2)),
        (observed(1), observed(2), untouched(2)),
    ],
)
def test_without_a_common_step_nothing_is_compared(events: tuple[Event[Any], ...]) -> None:
    """The untouched world alone, a cycle that this world lacks, and a single common cycle."""
    assert owed(after(*events), OutcomeCounterfactual) == []


def test_without_prices_or_counters_there_is_no_score() -> None:
    """Recordings from before there were counters are read as they were."""
    handler = build(ScoreboardSettings(score=None), ORIGIN)
    assert owed(after(observed(1), observed(2), handler=handler), OutcomeScore, handler) == []
    older = [stamp_event(make_observation(3, cycle=cycle)) for cycle in (1, 2)]
    assert owed(after(*older), OutcomeScore) == []


def test_what_waits_is_bounded() -> None:
    """An outage leaves a few scores owed, and a world that never answers a few looks."""
    state = after(*(observed(cycle) for cycle in range(1, 100)))
    assert len(state.worlds.owed) == KEPT_UNPUBLISHED
    assert len(state.worlds.looks) == KEPT_LOOKS
