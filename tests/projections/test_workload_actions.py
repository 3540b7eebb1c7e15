"""An action on a workload, wherever it is shown: with the number of replicas, and under its workload."""

from __future__ import annotations

import pytest

from foresail.explanation import action_text as explained
from lab.rerun.what_if import decision_text
from projections.objects.history import ObjectHistory
from projections.objects.names import ObjectKind
from schemas.actions import ActionKind
from schemas.outcome import ExecutionPhase
from services.dashboard.cycle_json import action_json
from tests.builders import make_action, make_decision, make_execution, stamp_event

WEB = "shop/Deployment/web"
ACTION = make_action("safety", ActionKind.REPLICATE, WEB, replicas=7)


def test_the_number_of_replicas_is_part_of_the_aim() -> None:
    """In lines of text and on the page, once each; a node's replicate names the node alone."""
    assert ACTION.wanted == "replicate shop/Deployment/web to 7"
    assert explained(ACTION) == "AgentA:replicate shop/Deployment/web to 7"
    assert decision_text(make_decision(ACTION)) == "AgentA:replicate on shop/Deployment/web to 7"
    shown = action_json(ACTION)
    assert (shown["target"], shown["parameters"]) == ("shop/Deployment/web to 7", {})
    node = make_action("safety", ActionKind.REPLICATE, "node-7")
    assert node.wanted == "replicate node-7"


@pytest.mark.parametrize(
    ("history", "listed"),
    [
        (ObjectHistory(ObjectKind.WORKLOAD, WEB), True),
        (ObjectHistory(ObjectKind.HPA, "shop/HorizontalPodAutoscaler/web", WEB), True),
        (ObjectHistory(ObjectKind.WORKLOAD, "shop/Deployment/api"), False),
        (ObjectHistory(ObjectKind.NODE, "node-7"), False),
    ],
)
def test_an_action_stands_in_the_history_of_its_workload(
    history: ObjectHistory, *, listed: bool
) -> None:
    """Of its autoscaler, too; also when it was refused, and so names no workloads that it wrote."""
    refused = make_execution(ACTION, phase=ExecutionPhase.REFUSED)
    history.add(stamp_event(refused))
    assert bool(history.executions) is listed
