"""Template of a policy.

Copy it, name it after what the agent guards, and add it to `policies/__init__.py`.

It throttles the node with the most unhealthy pods. No process runs it; a test keeps it working.
"""

from __future__ import annotations

from typing import ClassVar

from schemas.actions import ActionKind, Agent, Parameters
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agents.evidence import measure
from services.agents.policy import Judgement, Policy, Prediction, node, noop
from services.agents.thresholds import Thresholds


class ExampleThresholds(Thresholds):
    """One number per rule, with its unit in the name."""

    DESCENDING: ClassVar[tuple[tuple[str, ...], ...]] = ()

    unhealthy_pods: int = 3
    """Unhealthy pods from which the node is throttled."""


def judge(
    view: ObservationView, prediction: Prediction, thresholds: ExampleThresholds
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
        kind=ActionKind.THROTTLE,
        target=node(name),
        parameters=Parameters(cpu_cap_ratio=0.85),
        score=1.0,
        evidence=(step,),
        decisive=(step,),
        text=f"{step.numbers} on {name}",
    )


POLICY = Policy(agent=Agent.SAFETY, priority=1, signals=("pods",), prediction=None, judge=judge)
