"""Agent D by expected value: limiting what hogs a node's CPU lets some of its unhealthy pods become ready.

An unhealthy pod costs what a waiting one does, since neither serves anybody.
"""

from __future__ import annotations

from schemas.actions import ThrottleAction
from schemas.reasons import Reason
from services.agents.appraisal import Appraisal, Candidate, PolicyInput
from services.agents.effects import HOUR, effect_of
from services.agents.evidence import measure
from services.agents.policy import node

CPU_CAP_RATIO = 0.85
"""Share of the node's CPU that throttle leaves."""
CURED_RATIO = 0.3
"""Share of a node's unhealthy pods that become ready within the horizon by it: our own guess."""


def appraise(situation: PolicyInput) -> Appraisal:
    """Return a throttle of each node with unhealthy pods, and what it would be worth."""
    view, settings = situation.view, situation.settings
    if not view.nodes.ids:
        return Appraisal((), "the observation holds no node", Reason.NO_NODES)
    horizon = settings.horizon_seconds
    candidates: list[Candidate] = []
    for name, count in zip(view.nodes.ids, view.nodes.unhealthy_pods, strict=True):
        step = measure(view, "unhealthy_pods", count, "pods", name).compare(">", 0)
        if step.holds:
            gained = CURED_RATIO * count * settings.waiting_pod_hour * horizon / HOUR
            candidates.append(
                Candidate(
                    ThrottleAction(target=node(name), cpu_cap_ratio=CPU_CAP_RATIO),
                    effect_of({"waiting": gained}, horizon, settings, spread=gained),
                    (step,),
                    f"{step.numbers} on {name}",
                )
            )
    return Appraisal(tuple(candidates), f"{len(candidates)} nodes have unhealthy pods")
