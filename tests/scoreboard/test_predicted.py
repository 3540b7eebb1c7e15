"""The one-step model: what each action is expected to lead to."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import Action, ActionKind
from schemas.view import update_view
from services.agent_rewards import RewardInput
from services.scoreboard.predicted import predict_situation, situation_of
from tests.builders import make_action, make_observation, stamp_event

A, B, C = "safety", "efficiency", "admission"
BUSY = {"cpu_requested_ratio": 0.8, "memory_requested_ratio": 0.6}
CALM = {"cpu_requested_ratio": 0.2, "memory_requested_ratio": 0.3}
ROWS = {
    "busy": BUSY,
    "calm": CALM,
    "idle-closed": {**CALM, "schedulable": False, "cpu_requested_ratio": 0.0},
}
DEMAND = 0.55 * 0.8 + 0.35 * 0.6


def after(action: Action, **totals: Any) -> tuple[RewardInput, RewardInput]:
    """Return the situations before and after an action on three nodes."""
    view = update_view(
        None, stamp_event(make_observation(ROWS, totals={"queue_length": 1, **totals}))
    )
    assert view is not None
    before = situation_of(view)
    return before, predict_situation(before, view.nodes, action)


@pytest.mark.parametrize(
    ("action", "demand", "watts"),
    [
        # source -0.12/-0.10; calm +0.08/+0.07 (the idle node takes no pods)
        (make_action(A, ActionKind.MIGRATE, "busy"), 0.55 * 0.68 + 0.35 * 0.5, -6.6),
        (make_action(A, ActionKind.REPLICATE, "busy"), DEMAND, 9.0),
        (make_action(A, ActionKind.THROTTLE, "busy"), 0.55 * 0.68 + 0.35 * 0.6, -14.4),
        (
            make_action(B, ActionKind.POWER_STATE, "calm", power_state="sleep"),
            DEMAND,
            120 * -0.13 + 60 * -0.15,
        ),
        (make_action(B, ActionKind.POWER_STATE, "calm", power_state="on"), DEMAND, 16.8),
        (
            make_action(B, ActionKind.DVFS, "busy", clock_scale_ratio=0.65),
            0.55 * 0.52 + 0.35 * 0.6,
            -33.6,
        ),
        (
            make_action(B, ActionKind.MEMORY_BALLOON, "busy", memory_scale_ratio=0.75),
            0.55 * 0.8 + 0.35 * 0.45,
            -9.0,
        ),
        (
            make_action(
                C, ActionKind.RESOURCE_CAP, "busy", cpu_cap_ratio=0.7, memory_cap_ratio=0.9
            ),
            0.55 * 0.7 + 0.35 * 0.6,
            -12.0,
        ),
        (make_action(A, ActionKind.MIGRATE, "gone"), DEMAND, 0.0),
        (make_action(), DEMAND, 0.0),
    ],
)
def test_load_follows_the_action(action: Action, demand: float, watts: float) -> None:
    """Highest demand and power move by the baseline's steps, and by nothing else."""
    before, then = after(action)
    assert then.max_demand_ratio == pytest.approx(demand, abs=1e-6)
    assert then.energy_watts - before.energy_watts == pytest.approx(watts, abs=1e-6)
    assert then.queue_length == before.queue_length


@pytest.mark.parametrize(
    ("word", "queue", "then"),
    [("queue", 5, 6), ("reject", 5, 4), ("admit", 5, 3), ("admit", 1, 0), ("deprioritize", 5, 5)],
)
def test_admission_moves_the_queue(word: str, queue: int, then: int) -> None:
    """Queueing adds one, rejecting takes one, admitting takes two, and none goes below zero."""
    action = make_action(C, ActionKind.ADMISSION, admission=word)
    assert after(action, queue_length=queue)[1].queue_length == then


def test_a_late_decision_moves_the_queue_only() -> None:
    """Without the judged nodes the model leaves load and power as they were."""
    before, _ = after(make_action())
    assert predict_situation(before, None, make_action(A, ActionKind.MIGRATE, "busy")) == before


def test_a_failed_pod_is_a_dead_task() -> None:
    """Only pods that are no longer alive count as dead."""
    pods = {"default/a": {"alive": False, "phase": "Failed"}, "default/b": {}}
    view = update_view(None, stamp_event(make_observation(1, pods=pods)))
    assert view is not None
    assert situation_of(view).dead_tasks == 1


@pytest.mark.parametrize("state", [{"schedulable": False}, {"ready": False}])
def test_pods_go_to_no_node_that_would_not_take_them(state: dict[str, bool]) -> None:
    """With nobody open to take them, what leaves a node arrives nowhere."""
    rows = {"busy": BUSY, "closed": {**CALM, **state}}
    view = update_view(None, stamp_event(make_observation(rows)))
    assert view is not None
    before = situation_of(view)

    moved = predict_situation(before, view.nodes, make_action(A, ActionKind.MIGRATE, "busy"))
    copied = predict_situation(before, view.nodes, make_action(A, ActionKind.REPLICATE, "busy"))

    assert moved.energy_watts == pytest.approx(before.energy_watts - 120 * 0.12 - 60 * 0.10)
    assert copied == before
