"""Guard rails, each at both sides of its limit, and budgets over random sequences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.actions import ActionKind
from schemas.outcome import ExecutionPhase, Mode, Operation, Verb
from schemas.reasons import Reason
from services.executor.guards import BEFORE_ACTING, BEFORE_READING, ask
from services.executor.guards.budget import applies
from services.executor.guards.question import Question
from services.executor.ledger import Due, Execution, Ledger, Seen
from services.executor.plans.planned import Planned
from services.executor.settings import Budget, ExecutorSettings
from tests.builders import make_action

NOW = 10_000.0
SLEEP = ActionKind.POWER_STATE
GUARDS = (*BEFORE_READING, *BEFORE_ACTING)


def due(kind: ActionKind = SLEEP, target: str = "node-0", **fields: Any) -> Due:
    """Return a decision of the newest cycle."""
    default = {"cycle": 10, "decision_id": "d", "observation_id": "o", "score": 0.5}
    action = make_action(kind=kind, target=target)
    return Due(**{**default, "action": action, "cluster_time_seconds": NOW, **fields})


def done(age_seconds: float, kind: ActionKind = SLEEP, **fields: Any) -> Execution:
    """Return an execution of so many seconds ago."""
    default = {
        "cycle": 5,
        "decision_id": "d",
        "execution_id": "e",
        "phase": ExecutionPhase.FINISHED,
        "mode": Mode.ACTIVE,
        "action": make_action(kind=kind, target=fields.pop("target", "node-0")),
        "score": 0.5,
        "operations": (),
        "direction": "off",
        "namespaces": (),
        "workloads": (),
        "time_seconds": NOW - age_seconds,
        "succeeded": True,
    }
    return Execution(**{**default, **fields})


def question(
    *executions: Execution,
    of: Due | None = None,
    plan: Planned | None = None,
    policy: ExecutorSettings | None = None,
    seen: Seen | None = None,
    **state: Any,
) -> Question:
    """Return a question about a sleep unless told otherwise, in a cluster of 100 nodes."""
    asked = of or due()
    newest = seen or Seen(cycle=10, nodes=100, nodes_available=100)
    ledger = Ledger(**{"seen": newest, "due": (asked,), "executions": executions, **state})
    planned = plan or Planned(operations=(), text="", direction="off")
    return Question(asked, ledger, policy or ExecutorSettings(), NOW, planned)


def failed(asked: Question) -> list[Reason | None]:
    """Return the reasons of the guards that fail."""
    return [one.reason for one in ask(GUARDS, asked) if not one.passed]


def test_nothing_stands_in_the_way_of_a_first_action() -> None:
    """With an empty history every guard passes."""
    assert failed(question()) == []


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"killed": True}, Reason.KILL_SWITCH),
        ({"paused": True}, Reason.PAUSED),
        ({"replayed": True}, Reason.REPLAYED_LOG),
    ],
)
def test_switches_stop_execution(state: dict[str, Any], reason: Reason) -> None:
    """Kill, pause and a replayed log each refuse with their own reason."""
    assert failed(question(**state)) == [reason]


def test_a_replay_is_executed_only_when_told() -> None:
    """The setting for a twin started for a replay lets it pass."""
    assert failed(question(replayed=True, policy=ExecutorSettings(execute_replays=True))) == []


@pytest.mark.parametrize(("cycle", "stale"), [(8, False), (7, True)])
def test_a_decision_older_than_two_cycles_is_stale(cycle: int, stale: bool) -> None:
    """Two cycles old is fresh enough, three is not."""
    assert failed(question(of=due(cycle=cycle))) == [Reason.STALE_DECISION] * stale


def test_only_the_newest_waiting_decision_is_executed() -> None:
    """After an outage an older decision is refused although it is within the limit."""
    older, newer = due(cycle=9), due(cycle=10)
    assert failed(question(of=older, due=(older, newer))) == [Reason.STALE_DECISION]
    assert failed(question(of=newer, due=(older, newer))) == []


@pytest.mark.parametrize(("age", "cooling"), [(119.0, True), (120.0, False)])
def test_cool_down_holds_for_its_seconds(age: float, cooling: bool) -> None:
    """The same kind and direction on the same target waits exactly the cool-down."""
    asked = question(done(age))
    assert failed(asked) == [Reason.COOL_DOWN] * cooling


def test_cool_down_is_per_direction_and_target() -> None:
    """Another node, or the other direction, is not cooling down."""
    assert failed(question(done(1.0, target="node-1"))) == []
    opposite = Planned(operations=(), text="", direction="on")
    asked = question(done(1.0), of=due(score=0.9), plan=opposite)
    assert failed(asked) == []


@pytest.mark.parametrize(("age", "cooling"), [(179.0, True), (180.0, False)])
def test_a_failed_target_rests_longer(age: float, cooling: bool) -> None:
    """After a failure any kind waits on that target."""
    asked = question(done(age, kind=ActionKind.DVFS, succeeded=False, direction="limit"))
    assert failed(asked) == [Reason.COOL_DOWN_AFTER_FAILURE] * cooling


@pytest.mark.parametrize(("count", "full"), [(2, False), (3, True)])
def test_cap_per_node(count: int, full: bool) -> None:
    """The fourth execution on one node within the window is refused."""
    history = [done(300.0 + one, kind=ActionKind.DVFS, direction="limit") for one in range(count)]
    assert failed(question(*history)) == [Reason.CAP_PER_NODE] * full


@pytest.mark.parametrize(("count", "full"), [(9, False), (10, True)])
def test_cap_per_namespace(count: int, full: bool) -> None:
    """The eleventh execution in one namespace within the window is refused."""
    history = [
        done(300.0, kind=ActionKind.REPLICATE, target=f"n{one}", namespaces=("a",), direction="up")
        for one in range(count)
    ]
    operation = Operation(verb=Verb.SCALE, resource="deployments", namespace="a", name="w", text="")
    plan = Planned(operations=(operation,), text="", direction="up")
    asked = question(*history, of=due(ActionKind.REPLICATE), plan=plan)
    assert failed(asked) == [Reason.CAP_PER_NAMESPACE] * full


@pytest.mark.parametrize(("count", "full"), [(2, False), (3, True)])
def test_cap_per_workload(count: int, full: bool) -> None:
    """The fourth execution on one workload within the window is refused."""
    history = [
        done(300.0, kind=ActionKind.REPLICATE, target=f"n{one}", workloads=("w",), direction="up")
        for one in range(count)
    ]
    plan = Planned(operations=(), text="", direction="up", workloads=("w",))
    asked = question(*history, of=due(ActionKind.REPLICATE), plan=plan)
    assert failed(asked) == [Reason.CAP_PER_WORKLOAD] * full


@pytest.mark.parametrize(("count", "full"), [(9, False), (10, True)])
def test_budget_of_nodes(count: int, full: bool) -> None:
    """Ten percent of 100 nodes are ten; the eleventh is refused, one of the ten is not."""
    history = [done(300.0, target=f"n{one}") for one in range(count)]
    assert failed(question(*history)) == [Reason.BUDGET_EXHAUSTED] * full
    assert failed(question(*history, of=due(target="n0"))) == []


def test_budget_rounds_up_and_takes_counts() -> None:
    """A share of a small cluster is at least one node; a count is a count."""
    assert (Budget(nodes="10%").limit(3), Budget(nodes="10%").limit(21)) == (1, 3)
    assert (Budget(nodes="4").limit(3), Budget(nodes="0%").limit(100)) == (4, 0)


def test_budget_schedule_covers_its_hours_also_over_midnight() -> None:
    """Begin is inside, end is outside."""
    hour = 3600.0
    assert applies("01:00-02:00", hour)
    assert not applies("01:00-02:00", 2 * hour)
    assert applies("22:00-02:00", 23 * hour)
    assert not applies("22:00-02:00", 2 * hour)


@pytest.mark.parametrize(("score", "refused"), [(0.5, True), (0.51, False)])
def test_ping_pong_needs_a_higher_score(score: float, refused: bool) -> None:
    """Undoing a recent action is refused unless severity has risen."""
    plan = Planned(operations=(), text="", direction="on")
    asked = question(done(899.0), of=due(score=score), plan=plan)
    assert failed(asked) == [Reason.PING_PONG] * refused
    assert failed(question(done(900.0), of=due(score=score), plan=plan)) == []


@pytest.mark.parametrize(("available", "refused"), [(51, False), (50, True)])
def test_enough_ready_nodes_stay(available: int, refused: bool) -> None:
    """Half of the nodes must stay available after one more sleeps."""
    seen = Seen(cycle=10, nodes=100, nodes_available=available)
    assert failed(question(seen=seen)) == [Reason.LAST_READY_NODES] * refused


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 19), st.floats(1.0, 200.0)), max_size=60))
def test_budgets_hold_over_any_sequence(steps: list[tuple[int, float]]) -> None:
    """Whatever is decided, no window ever holds more disrupted nodes than the budget allows."""
    budget = ExecutorSettings().budgets[0]
    history: tuple[Execution, ...] = ()
    at = NOW
    for number, (node, pause) in enumerate(steps):
        at += pause
        asked = due(target=f"n{node}", cycle=number)
        seen = Seen(cycle=number, nodes=20, nodes_available=20)
        state = Ledger(seen=seen, due=(asked,), executions=history)
        plan = Planned(operations=(), text="", direction="off")
        answers = ask(GUARDS, Question(asked, state, ExecutorSettings(), at, plan))
        if all(one.passed for one in answers):
            history = (*history, done(0.0, target=f"n{node}", time_seconds=at, cycle=number))
        window = [one for one in history if at - one.time_seconds < budget.window_seconds]
        assert len({one.action.target.name for one in window}) <= budget.limit(20)
