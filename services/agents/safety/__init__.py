"""Agent A, safety: acts on the node with the highest failure risk."""

from __future__ import annotations

from agent_registry.registration import AgentRegistration
from services.agents.safety.policy import choices, judge
from services.agents.safety.reward import reward_terms
from services.agents.safety.thresholds import SafetyThresholds
from services.agents.safety.value import appraise

AGENT = AgentRegistration(
    name="safety",
    letter="A",
    order=1,
    purpose="keeps workloads alive (replicate, migrate, throttle)",
    colour="#a4497f",
    dark_colour="#d884b8",
    signals=("node_requests", "pods"),
    prediction="risk",
    thresholds=SafetyThresholds,
    judge=judge,
    appraise=appraise,
    choices=choices,
    reward=reward_terms,
    reward_weight=1.0,
    preempts=frozenset(("migrate", "replicate", "throttle")),
    must_see=True,
)
