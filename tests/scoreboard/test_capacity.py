"""What replicas were said to bear is scored: held below, broke above."""

from __future__ import annotations

from typing import Any

from schemas.capacity import CapacityTable, PredictionCapacity
from schemas.capacity_score import CapacityScore, capacity_score_text
from services.scoreboard.service import ScoreboardHandler
from services.scoreboard.settings import ScoreboardSettings
from tests.builders import stamp_event
from tests.inference.test_workloads import WEB, observed


def stated(cycle: int, rate: float) -> PredictionCapacity:
    """Return a statement of what one replica bears."""
    table = CapacityTable(
        ids=(WEB,),
        version=("1",),
        replica_rate=(rate,),
        low=(rate,),
        high=(rate,),
        windows=(9.0,),
        source=("seen",),
    )
    return PredictionCapacity(
        cycle=cycle,
        cluster_time_seconds=1.0,
        latency_seconds=0.5,
        bad_ratio=0.01,
        workloads=table,
    )


def played(rates: list[tuple[float, bool]]) -> list[Any]:
    """Return the scores of statements of 50 requests/s after minutes at a rate each, some of which break."""
    handler = ScoreboardHandler(ScoreboardSettings())
    state, said = handler.initial(), []
    served = late = 0.0
    cycle = 0
    for rate, breaks in [(10.0, False), *rates]:
        for _ in range(4):
            cycle += 1
            served += 2 * rate * 15.0
            late += rate if breaks else 0.0
            state = handler.evolve(state, stamp_event(observed(cycle, served, late)))
            for new in handler.decide(state, overdue=False):
                state = handler.evolve(state, stamp_event(new.data, producer="scoreboard"))
                said += [new.data] if getattr(new.data, "part", "") == "capacity" else []
            if cycle == 1:
                state = handler.evolve(state, stamp_event(stated(1, 50.0)))
    return said


def test_windows_below_and_above_are_told_apart() -> None:
    """Three minutes below, one of which breaks; two above, one of which holds."""
    told = played(
        [(20.0, False), (30.0, False), (40.0, True), (60.0, True), (70.0, False), (20.0, False)]
    )

    assert told[-1].capacity_so_far == CapacityScore(below=4, held_below=3, above=2, broke_above=1)
    assert all(one.capacity.windows == 1 for one in told)
    assert len({one.key() for one in told}) == len(told)
    assert capacity_score_text(told[-1].capacity_so_far) == (
        "what replicas bear: the objective held below it in 3 of 4 minutes, "
        "the objective broke above it in 1 of 2 minutes"
    )


def test_nothing_is_scored_before_anything_was_said() -> None:
    """Without a statement the scoreboard says what it always said."""
    handler = ScoreboardHandler(ScoreboardSettings())
    state = handler.initial()
    for cycle in range(1, 30):
        state = handler.evolve(state, stamp_event(observed(cycle, 1_000.0 * cycle, 0.0)))

    assert state.capacity is None
    assert "capacity" not in state.model_dump(mode="json")
