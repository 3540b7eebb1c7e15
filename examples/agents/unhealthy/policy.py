"""Agent D: throttle the node with the most unhealthy pods; ties go to the first node by name."""

from __future__ import annotations

from services.agents.unhealthy.thresholds import UnhealthyThresholds

from schemas.actions import ThrottleAction
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agents.evidence import measure
from services.agents.policy import Judgement, NodePrediction, node, noop


def judge(
    view: ObservationView, prediction: NodePrediction, thresholds: UnhealthyThresholds
) -> Judgement:
    """Return the judgement; every comparison made goes into `evidence`, in order."""
    del prediction
    if not view.nodes.ids:
        return noop(Reason.NO_NODES, "the observation holds no node")
    count, name = min(
        zip(view.nodes.unhealthy_pods, view.nodes.ids, strict=True),
        key=lambda row: (-row[0], row[1]),
    )
    step = measure(view, "unhealthy_pods", count, "pods", name).compare(
        ">=", thresholds.unhealthy_pods
    )
    if not step.holds:
        return noop(Reason.NOTHING_TO_DO, "all nodes are healthy enough", evidence=(step,))
    return Judgement(
        action=ThrottleAction(target=node(name), cpu_cap_ratio=thresholds.cpu_cap_ratio),
        score=1.0,
        evidence=(step,),
        decisive=(step,),
        text=f"{step.numbers} on {name}",
    )
