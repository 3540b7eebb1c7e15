"""Guard rails over sequences of decisions, with the ledger built from the events of each step."""

from __future__ import annotations

from functools import lru_cache

from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.actions import Action, ActionKind
from schemas.outcome import ExecutionPhase
from services.executor.guards import Needs, Question, ask_guards
from services.executor.ledger import Ledger
from services.executor.ledger.handler import evolve
from services.executor.plans.planned import OperationPlan
from services.executor.settings import ExecutorSettings
from tests.builders import make_action, make_decision, make_execution, make_observation, stamp_event

WITH_A_PLAN = (Needs.LOG, Needs.PLAN)
NODES = 100
POLICY = ExecutorSettings()
SLEEP = OperationPlan(operations=(), text="", direction="off")
Step = tuple[int, float, bool]
"""Node, seconds since the step before, and whether an execution would succeed."""
Begun = tuple[str, float, bool]
"""Node, cluster time, and whether it succeeded."""


@lru_cache(maxsize=1)
def large_cluster_ledger() -> Ledger:
    """Return the ledger after one observation of a large cluster."""
    return evolve(Ledger(), stamp_event(make_observation(NODES)))


def sleep(node: int) -> Action:
    """Return the action that puts a node to sleep."""
    return make_action(kind=ActionKind.POWER_STATE, target=f"n{node}")


def run(steps: list[Step]) -> list[Begun]:
    """Decide step by step, execute what the guard rails let pass, and apply every event of it."""
    state, begun, at = large_cluster_ledger(), [], 10_000.0
    for cycle, (node, pause, succeeds) in enumerate(steps, start=1):
        at += pause
        action = sleep(node)
        state = evolve(state, stamp_event(make_decision(action, cycle=cycle, score=0.5)))
        question = Question(state.due[-1], state, POLICY, at, SLEEP)
        if all(check.passed for stage in WITH_A_PLAN for check in ask_guards(stage, question)):
            begun.append((action.target.name, at, succeeds))
            for phase in (ExecutionPhase.STARTED, ExecutionPhase.FINISHED):
                done = succeeds if phase is ExecutionPhase.FINISHED else None
                event = make_execution(
                    action,
                    cycle=cycle,
                    phase=phase,
                    direction="off",
                    cluster_time_seconds=at,
                    succeeded=done,
                )
                state = evolve(state, stamp_event(event))
        else:
            refused = make_execution(action, cycle=cycle, phase=ExecutionPhase.REFUSED)
            state = evolve(state, stamp_event(refused))
    return begun


STEPS = st.lists(
    st.tuples(st.integers(0, 24), st.floats(1.0, 90.0), st.booleans()), min_size=5, max_size=40
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
@example([(node, 1.0, True) for node in range(14)])
@example([(node, 1.0, False) for node in range(14)])
def test_limits_hold_over_any_sequence(steps: list[Step]) -> None:
    """Whatever is decided, and however it ends: no window holds more nodes than the budget, no node
    more executions than its cap, and none is hit again while it cools down or recovers.
    """
    begun = run(steps)
    budget = POLICY.budgets[0]
    for name, at, _ in begun:
        recent = [one for one in begun if 0 <= at - one[1] < budget.window_seconds]
        assert len({one[0] for one in recent}) <= budget.limit(NODES)
        earlier = [(at - one[1], one[2]) for one in begun if one[0] == name and one[1] < at]
        assert sum(age < POLICY.caps.window_seconds for age, _ in earlier) < POLICY.caps.per_node
        for age, succeeded in earlier:
            assert age >= POLICY.cool_down_seconds
            assert succeeded or age >= POLICY.cool_down_after_failure_seconds


def test_the_budget_is_used_to_its_last_node() -> None:
    """Ten of fourteen nodes in quick succession are ten percent of a hundred, failed ones included;
    once the window has passed there is room again.
    """
    ends = [True, False] * 7
    steps = [(node, 1.0, succeeds) for node, succeeds in enumerate(ends)]

    assert [name for name, _, _ in run(steps)] == [f"n{node}" for node in range(10)]
    later = [*steps, (14, POLICY.budgets[0].window_seconds, True)]
    assert run(later)[-1][0] == "n14"
