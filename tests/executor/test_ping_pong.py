"""The guard against ping-pong: what was done a moment ago is not undone, nor done to the same workload again."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.reasons import Reason
from services.executor.plans.planned import OperationPlan
from tests.executor.test_guards import due, execution_before, failed_reasons, number, question

ON = OperationPlan(operations=(), text="", direction="on")


@pytest.mark.parametrize(
    "other", [{"rolled_back": True}, {"target": "node-1"}, {"direction": "limit"}]
)
def test_only_what_would_be_undone_is_ping_pong(other: dict[str, Any]) -> None:
    """Not what was taken back already, not another node, not another direction."""
    assert failed_reasons(question(execution_before(1.0), plan=ON)) == [Reason.PING_PONG]
    assert failed_reasons(question(execution_before(1.0, **other), plan=ON)) == []


def test_the_newest_of_what_would_be_undone_is_named() -> None:
    """Its age is what the log shows."""
    guard_question = question(execution_before(400.0), execution_before(200.0), plan=ON)

    assert number(guard_question, "ping_pong") == 200.0


@pytest.mark.parametrize(("moved", "again"), [("shop/Job/a", True), ("shop/Job/b", False)])
def test_a_workload_is_not_moved_twice(moved: str, *, again: bool) -> None:
    """Moving the same workload from another node undoes nothing yet disturbs it again; another
    workload may move.
    """
    before = execution_before(
        400.0, kind=ActionKind.MIGRATE, target="n1", direction="move", workloads=("shop/Job/a",)
    )
    plan = OperationPlan(operations=(), text="", direction="move", workloads=(moved,))

    guard_question = question(before, of=due(ActionKind.MIGRATE), plan=plan)

    assert failed_reasons(guard_question) == [Reason.PING_PONG] * again


def test_closing_and_opening_undo_each_other() -> None:
    """Both ways: what was held is not given back at once, nor the other way round."""
    for first, then in (("close", "open"), ("open", "close")):
        before = execution_before(
            400.0, kind=ActionKind.ADMISSION, target="pending", direction=first
        )
        plan = OperationPlan(operations=(), text="", direction=then)
        guard_question = question(before, of=due(ActionKind.ADMISSION, target="pending"), plan=plan)
        assert failed_reasons(guard_question) == [Reason.PING_PONG]
