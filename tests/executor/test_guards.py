"""Guard rails, each at both sides of its limit; over sequences they are in test_guards_over_time."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind, ReplicateAction, Target, TargetKind
from schemas.outcome import ExecutionPhase, Mode, Operation, Verb
from schemas.reasons import Reason
from services.executor.guards import Needs, Question, ask_guards
from services.executor.guards.budget import schedule_applies
from services.executor.ledger import ClusterSummary, Execution, Ledger, PendingDecision
from services.executor.plans.planned import OperationPlan
from services.executor.settings import DisruptionBudget, ExecutorSettings
from tests.builders import make_action

NOW = 10_000.0
SLEEP = ActionKind.POWER_STATE
WITH_A_PLAN = (Needs.LOG, Needs.PLAN)


def due(kind: ActionKind = SLEEP, target: str = "node-0", **fields: Any) -> PendingDecision:
    """Return a decision of the newest cycle."""
    default = {"cycle": 10, "decision_id": "d", "observation_id": "o", "score": 0.5}
    action = make_action(kind=kind, target=target)
    return PendingDecision(**{**default, "action": action, "cluster_time_seconds": NOW, **fields})


def execution_before(age_seconds: float, kind: ActionKind = SLEEP, **fields: Any) -> Execution:
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
    of: PendingDecision | None = None,
    plan: OperationPlan | None = None,
    policy: ExecutorSettings | None = None,
    seen: ClusterSummary | None = None,
    **state: Any,
) -> Question:
    """Return a question about a sleep unless told otherwise, in a cluster of 100 nodes."""
    asked = of or due()
    newest = seen or ClusterSummary(cycle=10, nodes=100, nodes_available=100)
    ledger = Ledger(**{"seen": newest, "due": (asked,), "executions": executions, **state})
    planned = plan or OperationPlan(operations=(), text="", direction="off")
    return Question(asked, ledger, policy or ExecutorSettings(), NOW, planned)


def failed_reasons(asked: Question) -> list[Reason | None]:
    """Return the reasons of the guards that fail."""
    return [
        check.reason
        for stage in WITH_A_PLAN
        for check in ask_guards(stage, asked)
        if not check.passed
    ]


def test_nothing_stands_in_the_way_of_a_first_action() -> None:
    """With an empty history every guard passes."""
    assert failed_reasons(question()) == []


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
    assert failed_reasons(question(**state)) == [reason]


def test_a_replay_is_executed_only_when_told() -> None:
    """The setting for a twin started for a replay lets it pass."""
    assert (
        failed_reasons(question(replayed=True, policy=ExecutorSettings(execute_replays=True))) == []
    )


@pytest.mark.parametrize(("cycle", "stale"), [(8, False), (7, True)])
def test_a_decision_older_than_two_cycles_is_stale(cycle: int, stale: bool) -> None:
    """Two cycles old is fresh enough, three is not."""
    assert failed_reasons(question(of=due(cycle=cycle))) == [Reason.STALE_DECISION] * stale


def test_only_the_newest_waiting_decision_is_executed() -> None:
    """After an outage an older decision is refused although it is within the limit."""
    older, newer = due(cycle=9), due(cycle=10)
    assert failed_reasons(question(of=older, due=(older, newer))) == [Reason.STALE_DECISION]
    assert failed_reasons(question(of=newer, due=(older, newer))) == []


@pytest.mark.parametrize(("age", "cooling"), [(119.0, True), (120.0, False)])
def test_cool_down_holds_for_its_seconds(age: float, cooling: bool) -> None:
    """The same kind and direction on the same target waits exactly the cool-down."""
    guard_question = question(execution_before(age))
    assert failed_reasons(guard_question) == [Reason.COOL_DOWN] * cooling


def test_cool_down_is_per_direction_and_target() -> None:
    """Another node, or the other direction, is not cooling down."""
    assert failed_reasons(question(execution_before(1.0, target="node-1"))) == []
    opposite = OperationPlan(operations=(), text="", direction="on")
    guard_question = question(execution_before(1.0), of=due(score=0.9), plan=opposite)
    assert failed_reasons(guard_question) == []


@pytest.mark.parametrize(("age", "cooling"), [(179.0, True), (180.0, False)])
def test_a_failed_target_rests_longer(age: float, cooling: bool) -> None:
    """After a failure any kind waits on that target."""
    guard_question = question(
        execution_before(age, kind=ActionKind.DVFS, succeeded=False, direction="limit")
    )
    assert failed_reasons(guard_question) == [Reason.COOL_DOWN_AFTER_FAILURE] * cooling


@pytest.mark.parametrize(("count", "full"), [(2, False), (3, True)])
def test_cap_per_node(count: int, full: bool) -> None:
    """The fourth execution on one node within the window is refused."""
    history = [
        execution_before(300.0 + one, kind=ActionKind.DVFS, direction="limit")
        for one in range(count)
    ]
    assert failed_reasons(question(*history)) == [Reason.CAP_PER_NODE] * full


@pytest.mark.parametrize(("count", "full"), [(9, False), (10, True)])
def test_cap_per_namespace(count: int, full: bool) -> None:
    """The eleventh execution in one namespace within the window is refused."""
    history = [
        execution_before(
            300.0, kind=ActionKind.REPLICATE, target=f"n{one}", namespaces=("a",), direction="up"
        )
        for one in range(count)
    ]
    operation = Operation(verb=Verb.SCALE, resource="deployments", namespace="a", name="w", text="")
    plan = OperationPlan(operations=(operation,), text="", direction="up")
    guard_question = question(*history, of=due(ActionKind.REPLICATE), plan=plan)
    assert failed_reasons(guard_question) == [Reason.CAP_PER_NAMESPACE] * full


def test_replicas_of_workloads_leave_the_namespace_its_share() -> None:
    """They have caps of their own: ten of them refuse no eviction, and ten evictions none of them."""
    raised = ReplicateAction(target=Target(kind=TargetKind.WORKLOAD, name="w"), replicas=7)
    one = execution_before(300.0, action=raised, namespaces=("a",), direction="up")
    move = execution_before(300.0, ActionKind.MIGRATE, namespaces=("a",), direction="move")
    operation = Operation(verb=Verb.EVICT, resource="pods", namespace="a", name="p", text="")
    plan = OperationPlan(operations=(operation,), text="", direction="move")

    assert failed_reasons(question(*[one] * 10, of=due(ActionKind.MIGRATE), plan=plan)) == []
    assert failed_reasons(question(*[move] * 10, of=due(action=raised), plan=plan)) == []


@pytest.mark.parametrize("harmless", ["on", "mark"])
def test_waking_or_marking_a_machine_takes_nothing_from_the_budget(harmless: str) -> None:
    """Ten machines that were woken or marked leave room for one that sleeps; a wake or mark needs none of it."""
    woken, asleep = (
        [execution_before(300.0, target=f"n{one}", direction=way) for one in range(10)]
        for way in (harmless, "off")
    )
    wake = OperationPlan(operations=(), text="", direction=harmless)
    assert failed_reasons(question(*woken)) == []
    assert failed_reasons(question(*asleep)) == [Reason.BUDGET_EXHAUSTED]
    assert failed_reasons(question(*asleep, plan=wake)) == []


@pytest.mark.parametrize(("count", "full"), [(2, False), (3, True)])
def test_cap_per_workload(count: int, full: bool) -> None:
    """The fourth execution on one workload within the window is refused."""
    history = [
        execution_before(
            300.0, kind=ActionKind.REPLICATE, target=f"n{one}", workloads=("w",), direction="up"
        )
        for one in range(count)
    ]
    plan = OperationPlan(operations=(), text="", direction="up", workloads=("w",))
    guard_question = question(*history, of=due(ActionKind.REPLICATE), plan=plan)
    assert failed_reasons(guard_question) == [Reason.CAP_PER_WORKLOAD] * full


@pytest.mark.parametrize(("count", "full"), [(9, False), (10, True)])
def test_budget_of_nodes(count: int, full: bool) -> None:
    """Ten percent of 100 nodes are ten; the eleventh is refused, one of the ten is not."""
    history = [execution_before(300.0, target=f"n{one}") for one in range(count)]
    assert failed_reasons(question(*history)) == [Reason.BUDGET_EXHAUSTED] * full
    assert failed_reasons(question(*history, of=due(target="n0"))) == []


def test_a_refusal_states_what_was_measured_against_which_limit() -> None:
    """Guard, number, limit, unit and sentence: the event is all that a reader has."""
    history = [execution_before(300.0, target=f"n{one}") for one in range(10)]
    asked = question(*history)
    [refused] = [check for check in ask_guards(Needs.PLAN, asked) if not check.passed]

    assert (refused.guard, refused.measured, refused.limit, refused.unit) == (
        "budget",
        10,
        10,
        "nodes",
    )
    seconds = asked.settings.budgets_in_force[0].window_seconds
    assert refused.text == f"10 nodes disrupted in {seconds:g} s; the budget is 10% (10)"


def test_budget_rounds_up_and_takes_counts() -> None:
    """A share of a small cluster is at least one node; a count is a count."""
    assert (DisruptionBudget(nodes="10%").limit(3), DisruptionBudget(nodes="10%").limit(21)) == (
        1,
        3,
    )
    assert (DisruptionBudget(nodes="4").limit(3), DisruptionBudget(nodes="0%").limit(100)) == (4, 0)


def test_budget_schedule_covers_its_hours_also_over_midnight() -> None:
    """Begin is inside, end is outside."""
    hour = 3600.0
    assert schedule_applies("01:00-02:00", hour)
    assert not schedule_applies("01:00-02:00", 2 * hour)
    assert schedule_applies("22:00-02:00", 23 * hour)
    assert schedule_applies("22:00-02:00", 22 * hour)
    assert not schedule_applies("22:00-02:00", 2 * hour)


@pytest.mark.parametrize(("score", "refused"), [(0.5, True), (0.51, False)])
def test_ping_pong_needs_a_higher_score(score: float, refused: bool) -> None:
    """Undoing a recent action is refused unless severity has risen."""
    plan = OperationPlan(operations=(), text="", direction="on")
    guard_question = question(execution_before(899.0), of=due(score=score), plan=plan)
    assert failed_reasons(guard_question) == [Reason.PING_PONG] * refused
    assert failed_reasons(question(execution_before(900.0), of=due(score=score), plan=plan)) == []


@pytest.mark.parametrize(("available", "refused"), [(51, False), (50, True)])
def test_enough_ready_nodes_stay(available: int, refused: bool) -> None:
    """Half of the nodes must stay available after one more sleeps."""
    summary = ClusterSummary(cycle=10, nodes=100, nodes_available=available)
    assert failed_reasons(question(seen=summary)) == [Reason.LAST_READY_NODES] * refused


def number(asked: Question, guard: str) -> float | None:
    """Return what one guard measured."""
    return next(
        check.measured
        for stage in WITH_A_PLAN
        for check in ask_guards(stage, asked)
        if check.guard == guard
    )


def test_another_kind_on_the_same_target_is_not_cooling_down() -> None:
    """A limit set a second ago does not keep a node from being limited in another way."""
    plan = OperationPlan(operations=(), text="", direction="limit")
    throttled = execution_before(1.0, kind=ActionKind.THROTTLE, direction="limit")

    assert failed_reasons(question(throttled, of=due(ActionKind.DVFS), plan=plan)) == []
    again = question(throttled, of=due(ActionKind.THROTTLE), plan=plan)
    assert failed_reasons(again) == [Reason.COOL_DOWN]


def test_cool_down_states_the_age_of_the_newest() -> None:
    """Of several executions that still count the newest decides how long is left to wait."""
    guard_question = question(execution_before(110.0), execution_before(30.0))

    assert failed_reasons(guard_question) == [Reason.COOL_DOWN]
    assert number(guard_question, "cool_down") == 30.0


def test_failed_executions_count_for_budget_and_caps() -> None:
    """A failed execution may have disrupted its node: it frees nothing."""
    history = [execution_before(300.0, target=f"n{one}", succeeded=False) for one in range(10)]

    guard_question = question(*history)

    assert failed_reasons(guard_question) == [Reason.BUDGET_EXHAUSTED]
    assert number(guard_question, "budget") == 10
    on_node = [execution_before(300.0 + one, direction="on", succeeded=False) for one in range(3)]
    assert Reason.CAP_PER_NODE in failed_reasons(question(*on_node))


def test_an_execution_that_was_taken_back_frees_its_budget() -> None:
    """The node is as it was, so another one may be disrupted."""
    history = [execution_before(300.0, target=f"n{one}", rolled_back=one == 0) for one in range(10)]

    guard_question = question(*history)

    assert failed_reasons(guard_question) == []
    assert number(guard_question, "budget") == 9


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_budgets_the_strictest_counts(order: int) -> None:
    """One budget that is used up refuses, wherever it stands."""
    budgets = (DisruptionBudget(nodes="50%"), DisruptionBudget(nodes="1"))[::order]
    history = (execution_before(300.0, target="n1"),)

    guard_question = question(*history, policy=ExecutorSettings(budgets=budgets))

    assert failed_reasons(guard_question) == [Reason.BUDGET_EXHAUSTED]


def test_a_budget_covers_its_kinds_and_hours_only() -> None:
    """Neither another kind nor another hour is refused by it."""
    nobody = DisruptionBudget(nodes="0", reasons=(ActionKind.MIGRATE,))
    at_night = DisruptionBudget(nodes="0", schedule="22:00-23:00")  # NOW is 02:46 UTC

    assert failed_reasons(question(policy=ExecutorSettings(budgets=(nobody, at_night)))) == []
    limited = question(policy=ExecutorSettings(budgets=(DisruptionBudget(nodes="0"),)))
    assert failed_reasons(limited) == [Reason.BUDGET_EXHAUSTED]
    used = execution_before(300.0, target="n1", kind=ActionKind.MIGRATE, direction="move")
    mine = DisruptionBudget(nodes="1", reasons=(SLEEP,))
    assert failed_reasons(question(used, policy=ExecutorSettings(budgets=(mine,)))) == []


def test_of_several_namespaces_the_fullest_counts() -> None:
    """A plan that touches a full namespace is refused, in whatever order it names them."""
    history = [
        execution_before(300.0, kind=ActionKind.REPLICATE, target=f"n{one}", namespaces=("full",))
        for one in range(10)
    ]
    operations = tuple(
        Operation(verb=Verb.SCALE, resource="deployments", namespace=name, name="w", text="")
        for name in ("another", "full", "zoo")
    )
    plan = OperationPlan(operations=operations, text="", direction="up")

    guard_question = question(*history, of=due(ActionKind.REPLICATE), plan=plan)

    assert failed_reasons(guard_question) == [Reason.CAP_PER_NAMESPACE]
    assert number(guard_question, "cap_per_namespace") == 10


def test_waking_a_node_needs_no_ready_nodes() -> None:
    """The fewer are ready, the more a node is wanted back."""
    few = ClusterSummary(cycle=10, nodes=100, nodes_available=1)
    plan = OperationPlan(operations=(), text="", direction="on")

    assert failed_reasons(question(plan=plan, seen=few)) == []


@pytest.mark.parametrize(
    ("nodes", "ratio", "available", "refused"),
    [(5, 0.5, 4, False), (5, 0.5, 3, True), (2, 0.0, 2, False), (2, 0.0, 1, True)],
)
def test_what_must_stay_ready_is_rounded_up_and_never_none(
    nodes: int, ratio: float, available: int, *, refused: bool
) -> None:
    """Half of five is three; and one node stays even where none would be demanded."""
    summary = ClusterSummary(cycle=10, nodes=nodes, nodes_available=available)
    policy = ExecutorSettings(least_ready_ratio=ratio)

    assert (
        failed_reasons(question(seen=summary, policy=policy)) == [Reason.LAST_READY_NODES] * refused
    )
