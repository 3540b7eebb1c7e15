"""The scoreboard's switchback: one estimate after each pair of blocks, from scores alone."""

from __future__ import annotations

from typing import Any

import pytest

from projections.score.prices import ScorePrices
from projections.switchback.schedule import SwitchbackSettings
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase, Mode
from schemas.reasons import Reason
from schemas.switchback import OutcomeSwitchback
from schemas.work import WorkCounters
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import ORIGIN, cycle_time, make_execution, make_observation, stamp_event

BLOCK, CYCLES = 50.0, 5
"""Seconds, and cycles, of a block."""
SCHEDULE = SwitchbackSettings(unit="time", block_seconds=BLOCK, wash_out_seconds=10.0, seed=5)
PRICES = ScorePrices(core_hour=0.0, memory_gib_hour=0.0, energy_kwh=0.0, job_completed=1.0)


def handler_of(schedule: SwitchbackSettings = SCHEDULE) -> Any:
    """Return a scoreboard that pays for Jobs alone."""
    return build(ScoreboardSettings(score=PRICES, switchback=schedule), ORIGIN)


def observations(cycles: int, schedule: SwitchbackSettings = SCHEDULE) -> list[Event[Any]]:
    """Return observations in which two Jobs a cycle complete where the block acts, one where it does not."""
    events, jobs = [], 0
    for cycle in range(cycles):
        block = schedule.block_at(cycle_time(cycle) - 1.0)
        jobs += 2 if schedule.acts(block) else 1
        work = WorkCounters(jobs_completed=jobs)
        events.append(stamp_event(make_observation(3, cycle=cycle, work=work)))
    return events


def played(
    handler: Any, events: list[Event[Any]]
) -> tuple[ScoreboardState, list[OutcomeSwitchback]]:
    """Return the state after some events, and every estimate, each stored as soon as it is owed."""
    state: ScoreboardState = handler.initial()
    estimates = []
    for event in events:
        state = handler.evolve(state, event)
        for new_event in handler.decide(state, overdue=False):
            if isinstance(new_event.data, OutcomeSwitchback):
                estimates.append(new_event.data)
                state = handler.evolve(state, stamp_event(new_event.data))
    return state, estimates


def test_each_pair_of_blocks_is_estimated_once_when_it_is_over() -> None:
    """One Job a cycle more, 360 an hour, is what acting changes; from two pairs on with an interval."""
    assert cycle_time(0) % (2 * BLOCK) == 0
    _, estimates = played(handler_of(), observations(6 * CYCLES + 2))
    assert [estimate.cycle for estimate in estimates] == [
        *(2 * CYCLES + 1, 4 * CYCLES + 1, 6 * CYCLES + 1)
    ]
    assert [estimate.pairs for estimate in estimates] == [1, 2, 3]
    assert [estimate.effect_money_per_hour for estimate in estimates] == pytest.approx([360.0] * 3)
    assert [estimate.low_money_per_hour is None for estimate in estimates] == [True, False, False]
    pair = estimates[-1].pair
    assert pair.first_block == SCHEDULE.block_at(cycle_time(4 * CYCLES))
    assert (pair.first_seconds, pair.second_seconds) == (40.0, 40.0)
    assert {pair.first_money_per_hour, pair.second_money_per_hour} == {360.0, 720.0}


def test_what_was_executed_and_held_is_counted() -> None:
    """Only what really wrote is an execution; rollbacks, dry runs and other refusals are neither."""
    held = {"phase": ExecutionPhase.REFUSED, "reason": Reason.SWITCHBACK}
    executions = (
        make_execution(cycle=1),
        make_execution(cycle=2, **held),
        make_execution(cycle=3, **held),
        make_execution(cycle=4, phase=ExecutionPhase.REFUSED, reason=Reason.COOL_DOWN),
        make_execution(cycle=5, mode=Mode.SHADOW),
        make_execution(cycle=1, rollback_of="e"),
        make_execution(cycle=6, phase=ExecutionPhase.STARTED),
    )
    events = observations(2 * CYCLES + 2)
    events[3:3] = [stamp_event(execution) for execution in executions]
    _, (estimate,) = played(handler_of(), events)
    assert (estimate.executions, estimate.held) == (1, 2)


def test_a_restart_goes_on_where_the_checkpoint_left_it() -> None:
    """The state as JSON is the state: the same estimates follow."""
    events = observations(4 * CYCLES + 2)
    state, before = played(handler_of(), events[: 3 * CYCLES])
    restored = ScoreboardState.model_validate_json(state.model_dump_json())
    handler = handler_of()
    for event in events[3 * CYCLES :]:
        restored = handler.evolve(restored, event)
    (last,) = handler.decide(restored, overdue=False)[-1:]
    _, whole = played(handler_of(), events)
    assert whole == [*before, last.data]


def test_another_schedule_begins_anew() -> None:
    """What was counted by other blocks cannot be added to."""
    state, (first, *_) = played(handler_of(), observations(2 * CYCLES + 2))
    assert first.pairs == 1
    other = handler_of(SCHEDULE.model_copy(update={"seed": 6}))
    state = other.evolve(state, observations(2 * CYCLES + 3)[-1])
    assert state.switched is not None
    assert state.switched.tally.used == 0
    assert state.switched.schedule.seed == 6


def test_switched_off_neither_checkpoint_nor_announcement_mentions_it() -> None:
    """Recordings of a run without a switchback are what they were before there was one."""
    settings = ScoreboardSettings(score=PRICES)
    state, estimates = played(build(settings, ORIGIN), observations(4 * CYCLES))
    assert estimates == []
    assert "switched" not in state.model_dump(mode="json")
    assert "switchback" not in settings.announcement()
