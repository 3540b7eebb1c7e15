"""The terms of the score scale, each against a number worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import Action, ActionKind, AgentName
from schemas.outcome import RewardPart
from services.agent_rewards import RewardInput
from services.scoreboard.rewards import agent_rewards, reward_parts
from tests.builders import make_action

A, B, C = "safety", "efficiency", "admission"
AGENTS = (A, B, C)


def situation(**fields: Any) -> RewardInput:
    """Return a situation in which only the base terms apply."""
    default: dict[str, Any] = {
        "queue_length": 100,
        "sla_violations": 0,
        "completed_tasks": 0,
        "dead_tasks": 0,
        "max_demand_ratio": 0.5,
        "energy_watts": 900.0,
    }
    return RewardInput(**{**default, **fields})


def terms(
    action: Action, risk: float | None = None, **fields: Any
) -> dict[tuple[AgentName, str], float]:
    """Return the amounts by agent and term, the base left out."""
    parts = reward_parts(action, situation(**fields), risk, AGENTS)
    return {(part.agent, part.term): part.amount for part in parts if part.term != "base"}


def test_every_agent_gets_its_base() -> None:
    """Each step is worth one point to each agent, whatever was decided."""
    parts = reward_parts(make_action(), situation(), None, AGENTS)
    assert [(part.agent, part.term, part.amount) for part in parts] == [
        (A, "base", 1.0),
        (B, "base", 1.0),
        (C, "base", 1.0),
    ]


@pytest.mark.parametrize(
    ("kind", "risk", "amounts"),
    [
        (ActionKind.MIGRATE, 0.70, {(A, "migrate_at_risk"): 10.0}),
        (ActionKind.MIGRATE, 0.699, {}),
        (ActionKind.MIGRATE, 0.40, {}),
        (ActionKind.MIGRATE, 0.399, {(A, "needless_migration"): -20.0}),
        (ActionKind.MIGRATE, None, {}),
        (ActionKind.REPLICATE, 0.83, {(A, "replicate_at_risk"): 8.0}),
        (ActionKind.REPLICATE, 0.829, {}),
        (ActionKind.THROTTLE, 0.50, {(A, "throttle_at_risk"): 3.0}),
        (ActionKind.THROTTLE, 0.499, {}),
        (ActionKind.DVFS, 0.99, {}),
    ],
)
def test_safety_actions_are_paid_at_their_risk(
    kind: ActionKind, risk: float | None, amounts: dict[tuple[AgentName, str], float]
) -> None:
    """A safety action earns its bonus from its threshold on, and a needless migration costs 20."""
    assert terms(make_action(A, kind), risk) == amounts


def test_a_dead_task_costs_a_hundred_once() -> None:
    """Any number of dead tasks costs 100."""
    assert terms(make_action(), dead_tasks=1) == {(A, "dead_task"): -100.0}
    assert terms(make_action(), dead_tasks=7) == {(A, "dead_task"): -100.0}


@pytest.mark.parametrize(
    ("violations", "penalty"),
    [(1, -8.465736), (9, -16.512925), (402, -34.994683), (403, -35.0), (5_000, -35.0)],
)
def test_sla_penalty_grows_with_the_logarithm(violations: int, penalty: float) -> None:
    """The penalty is 5 + 5 ln(1 + n), at most 35."""
    assert terms(make_action(), sla_violations=violations) == {(A, "sla_penalty"): penalty}


@pytest.mark.parametrize(("violations", "credit"), [(1, 4.1), (50, 9.0), (120, 16.0), (500, 16.0)])
def test_recovery_is_credited_to_a_valid_safety_action(violations: int, credit: float) -> None:
    """A valid safety action amid violations earns 4 + 0.1 n, at most 16; an invalid one nothing."""
    action = make_action(A, ActionKind.REPLICATE)
    paid = terms(action, 0.9, sla_violations=violations)
    assert paid[A, "recovery_credit"] == pytest.approx(credit)
    assert (A, "recovery_credit") not in terms(action, 0.8, sla_violations=violations)
    assert (A, "recovery_credit") not in terms(action, 0.9)


@pytest.mark.parametrize(
    "kind", [ActionKind.POWER_STATE, ActionKind.DVFS, ActionKind.MEMORY_BALLOON]
)
def test_efficiency_pays_at_low_demand_and_costs_at_high(kind: ActionKind) -> None:
    """An efficiency action earns 5 below 0.35 and costs 30 above 0.75."""
    action = make_action(B, kind)
    assert terms(action, max_demand_ratio=0.349) == {(B, "efficiency_low_demand"): 5.0}
    assert terms(action, max_demand_ratio=0.35) == {}
    assert terms(action, max_demand_ratio=0.75) == {}
    assert terms(action, max_demand_ratio=0.751) == {(B, "efficiency_high_demand"): -30.0}
    assert terms(action, max_demand_ratio=None) == {}
    assert terms(make_action(), max_demand_ratio=0.1) == {}


def test_energy_below_the_goal_is_always_paid() -> None:
    """Every 100 W below 500 W are one point, whatever was decided."""
    assert terms(make_action(), energy_watts=260.0) == {(B, "energy"): 2.4}
    assert terms(make_action(), energy_watts=500.0) == {}


@pytest.mark.parametrize(
    ("word", "queue", "amounts"),
    [
        ("admit", 79, {(C, "admit_short_queue"): 5.0}),
        ("admit", 80, {}),
        ("admit", 120, {}),
        ("admit", 121, {(C, "admit_full_queue"): -50.0}),
        ("deprioritize", 79, {}),
        ("deprioritize", 80, {(C, "deprioritize_long_queue"): 3.0}),
        ("reject", 59, {(C, "reject_short_queue"): -20.0}),
        ("reject", 60, {}),
        ("queue", 100, {}),
    ],
)
def test_admission_is_paid_by_the_queue(
    word: str, queue: int, amounts: dict[tuple[AgentName, str], float]
) -> None:
    """Admission words are judged by the queue's length after them."""
    action = make_action(C, ActionKind.ADMISSION, admission=word)
    assert terms(action, queue_length=queue) == amounts


def test_a_cap_pays_with_a_long_queue() -> None:
    """Capping a node earns 4 from 80 waiting on."""
    action = make_action(C, ActionKind.RESOURCE_CAP, cpu_cap_ratio=0.85)
    assert terms(action, queue_length=80) == {(C, "cap_long_queue"): 4.0}
    assert terms(action, queue_length=79) == {}


@pytest.mark.parametrize(("completed", "amount"), [(1, 0.1), (95, 9.5), (100, 10.0), (900, 10.0)])
def test_completed_tasks_pay_up_to_ten(completed: int, amount: float) -> None:
    """Ten completed tasks are one point, at most ten points."""
    assert terms(make_action(), completed_tasks=completed) == {(C, "completed"): amount}


def test_the_total_weighs_the_agents() -> None:
    """The total is the sum of each reward times its weight: 11 + 0.6 * 3.4 + 0.8 * 6."""
    parts = [
        RewardPart(agent=A, term="base", amount=1.0),
        RewardPart(agent=A, term="migrate_at_risk", amount=10.0),
        RewardPart(agent=B, term="base", amount=1.0),
        RewardPart(agent=B, term="energy", amount=2.4),
        RewardPart(agent=C, term="base", amount=1.0),
        RewardPart(agent=C, term="admit_short_queue", amount=5.0),
    ]
    sums = agent_rewards(parts, {A: 1.0, B: 0.6, C: 0.8})
    assert sums.by_agent == {A: 11.0, B: 3.4, C: 6.0}
    assert sums.total == 17.84
