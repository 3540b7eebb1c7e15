"""What waits for the cluster itself: the brake on unready nodes, the settling time, and whose pods are moved at all."""

from __future__ import annotations

import pytest

from schemas.actions import ActionKind
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from services.executor.facts import Facts, NodeFacts, PodFacts
from services.executor.guards import Question, settling, unready_nodes
from services.executor.ledger import ClusterSummary, Ledger, PendingDecision
from services.executor.ledger.handler import evolve
from services.executor.plans import migrate
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.settings import BUDGETS_BY_KIND, DisruptionBudget, ExecutorSettings
from tests.builders import cycle_time, make_action, make_observation, stamp_event

REAL = ExecutorSettings(namespaces=("shop",))
SIMULATED = ExecutorSettings()


def ask(
    guard: object, seen: ClusterSummary, settings: ExecutorSettings = REAL, direction: str = "off"
) -> GuardCheck | None:
    """Return a guard's answer about a sleep."""
    due = PendingDecision(
        cycle=1,
        decision_id="d",
        observation_id="o",
        action=make_action(kind=ActionKind.POWER_STATE, target="node-0"),
        score=0.5,
        cluster_time_seconds=seen.cluster_time_seconds,
    )
    planned = OperationPlan(operations=(), text="", direction=direction)
    now = seen.cluster_time_seconds
    answer: GuardCheck | None = guard.check(  # type: ignore[attr-defined]
        Question(due, Ledger(seen=seen), settings, now, planned)
    )
    return answer


@pytest.mark.parametrize(
    ("nodes", "unready", "passes"), [(20, 11, False), (20, 10, True), (3, 2, True), (3, 3, False)]
)
def test_the_brake_stands_from_a_share_and_three_nodes_on(
    nodes: int, unready: int, passes: bool
) -> None:
    """55 %, as in Kubernetes' node controller; two nodes are no outage, however small the cluster."""
    answer = ask(unready_nodes, ClusterSummary(nodes=nodes, nodes_unready=unready))
    assert answer is not None
    assert answer.passed is passes
    assert answer.reason is (None if passes else Reason.UNREADY_NODES)


def test_the_brake_holds_nothing_that_gives_back() -> None:
    """A node is woken also while the others are away; the embedded cluster has no brake, since its nodes sleep."""
    dark = ClusterSummary(nodes=20, nodes_unready=20)
    assert ask(unready_nodes, dark, direction="on") is None
    assert ask(unready_nodes, dark, SIMULATED) is None


@pytest.mark.parametrize(("since", "passes"), [(None, False), (941.0, False), (940.0, True)])
def test_nothing_is_begun_before_the_cluster_was_seen_whole_for_a_minute(
    since: float | None, passes: bool
) -> None:
    """60 s by default on a real cluster, none on the embedded one."""
    seen = ClusterSummary(cluster_time_seconds=1_000.0, steady_since_seconds=since)
    answer = ask(settling, seen)
    assert answer is not None
    assert answer.passed is passes
    assert answer.reason is (None if passes else Reason.SETTLING)
    assert ask(settling, seen, SIMULATED) is None
    assert ask(settling, seen, direction="on") is None


def test_the_time_counts_from_the_end_of_an_outage() -> None:
    """A missing signal ends it, a gap begins it anew, and usual observations carry it on."""
    state = Ledger()
    states = []
    missing = {
        "pods": {"status": SignalStatus.MISSING, "observed_time_seconds": None, "age_seconds": None}
    }
    for cycle, signals in ((1, None), (2, None), (3, missing), (4, None), (5, None), (30, None)):
        state = evolve(state, stamp_event(make_observation(3, cycle=cycle, signals=signals)))
        states.append(state.seen.steady_since_seconds)
    first, again, late = cycle_time(1), cycle_time(4), cycle_time(30)
    assert states == [first, first, None, again, again, late]


@pytest.mark.parametrize(
    ("settings", "moved"),
    [
        (SIMULATED, True),
        (REAL, False),
        (ExecutorSettings(namespaces=("shop",), move_job_pods=True), True),
        (ExecutorSettings(move_job_pods=False), False),
    ],
)
def test_pods_of_jobs_move_only_where_that_is_allowed(
    settings: ExecutorSettings, moved: bool
) -> None:
    """A Job would begin its work anew, so on a real cluster they stay unless the setting says so."""
    pod = PodFacts(
        namespace="shop", name="job-1", uid="u", workload="shop/Job/job", cpu_request_cores=1.0
    )
    facts = Facts(
        time_seconds=1.0,
        node=NodeFacts(
            name="node-0", uid="n", resource_version="1", ready=True, unschedulable=False
        ),
        pods=(pod,),
    )
    plan = migrate.plan(make_action(kind=ActionKind.MIGRATE, target="node-0"), facts, settings)
    assert isinstance(plan, OperationPlan) is moved
    if isinstance(plan, PlanRefusal):
        assert plan.reason is Reason.NO_MOVABLE_POD
        assert "belongs to a Job" in plan.text


def test_on_a_real_cluster_each_kind_has_a_budget_of_its_own() -> None:
    """Nodes put to sleep do not use up the budget for moving pods off failing ones; a budget that is given counts
    as it is.
    """
    assert SIMULATED.budgets_in_force == (DisruptionBudget(),)
    assert REAL.budgets_in_force == BUDGETS_BY_KIND
    assert [one.reasons for one in BUDGETS_BY_KIND] == [
        (ActionKind.POWER_STATE,), (ActionKind.MIGRATE,), (ActionKind.RESOURCE_CAP,),
    ]  # fmt: skip
    given = (DisruptionBudget(nodes="1"),)
    assert ExecutorSettings(namespaces=("shop",), budgets=given).budgets_in_force == given
