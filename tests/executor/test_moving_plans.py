"""Plans that move pods off a node, and that give the node back: budgets, notices, and our own taint."""

from __future__ import annotations

import json
from typing import Any

from schemas.actions import ActionKind
from schemas.outcome import Verb
from schemas.reasons import Reason
from services.executor.facts import Facts
from services.executor.plans.migrate import RISK_TAINT
from tests.executor.test_plans import SETTINGS, expect_plan, expect_refusal, node, pod


def test_migrate_keeps_budgets_and_begins_with_the_tightest() -> None:
    """No more pods than a budget allows, the tightest budget first; a node that none may leave is refused."""
    tight = {"budgets": ("tight",), "disruptions_allowed": 1}
    pods = (
        pod("big", cpu_request_cores=4.0),
        pod("one", cpu_request_cores=3.0, **tight),
        pod("two", cpu_request_cores=2.0, **tight),
    )
    plan = expect_plan(ActionKind.MIGRATE, Facts(time_seconds=0.0, node=node(), pods=pods))
    assert [one.name for one in plan.operations if one.verb is Verb.EVICT] == ["one", "big"]

    shut = (pod("one", budgets=("shut",), disruptions_allowed=0),)
    facts = Facts(time_seconds=0.0, node=node(), pods=shut)
    assert expect_refusal(ActionKind.MIGRATE, facts) is Reason.PDB


def test_migrate_moves_the_pods_that_are_named_or_none() -> None:
    """A large pod that is not named stays; where one of them may not go, their room would be too small."""
    pods = (
        pod("big", cpu_request_cores=4.0),
        *(pod(f"web-{number}") for number in range(3)),
        pod("marked", protected=True),
    )
    facts = Facts(time_seconds=0.0, node=node(), pods=pods)

    plan = expect_plan(ActionKind.MIGRATE, facts, pods=("default/web-1", "default/web-2"))
    assert [one.name for one in plan.operations if one.verb is Verb.EVICT] == ["web-1", "web-2"]
    for other in ("default/marked", "default/gone"):
        named = ("default/web-1", other)
        assert expect_refusal(ActionKind.MIGRATE, facts, pods=named) is Reason.NO_MOVABLE_POD


def test_migrate_of_no_pod_only_marks_the_node() -> None:
    """New pods prefer other nodes and none is moved; a marked node and one that may not be written are refused."""

    def facts(**fields: Any) -> Facts:
        return Facts(time_seconds=0.0, node=node(**fields), pods=(pod("web"),))

    (taint,) = expect_plan(ActionKind.MIGRATE, facts(), pods=()).operations
    assert (taint.verb, taint.resource) == (Verb.TAINT, "nodes")
    assert "foresail.dev/risk" in taint.patch
    marked = facts(taints=(RISK_TAINT,))
    assert expect_refusal(ActionKind.MIGRATE, marked, pods=()) is Reason.ALREADY_IN_STATE
    shut = facts(writable=False)
    assert expect_refusal(ActionKind.MIGRATE, shut, pods=()) is Reason.NODE_NOT_NAMED


def test_migrate_moves_every_pod_of_a_machine_that_goes() -> None:
    """A cloud's notice names the machine's end; without one as many pods move as the settings say."""
    pods = tuple(pod(f"web-{number}") for number in range(5))
    notice = ({"key": "foresail.dev/spot-interruption", "effect": "NoSchedule"},)

    def evicted(**fields: Any) -> int:
        facts = Facts(time_seconds=0.0, node=node(**fields), pods=pods)
        operations = expect_plan(ActionKind.MIGRATE, facts).operations
        return sum(one.verb is Verb.EVICT for one in operations)

    assert evicted() == SETTINGS.pods_per_migration
    assert evicted(taints=notice) == len(pods)


def test_waking_takes_our_own_taint_away_and_no_other() -> None:
    """A node that was emptied is given back whole, also where it is awake; the undo brings the taint back."""
    other = {"key": "team", "value": "a", "effect": "NoSchedule"}
    risk = {"key": "foresail.dev/risk", "value": "true", "effect": "PreferNoSchedule"}
    facts = Facts(time_seconds=0.0, node=node(taints=(other, risk)))
    *_, operation = expect_plan(ActionKind.POWER_STATE, facts, power_state="on").operations

    assert json.loads(operation.patch) == {"add": [], "remove": [risk]}
    assert json.loads(operation.undo) == {"add": [risk], "remove": []}
