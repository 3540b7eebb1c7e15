"""Agent A, safety: acts on the node with the highest failure risk."""

from __future__ import annotations

from services.agents.registration import AgentRegistration
from services.agents.safety.policy import choices, judge
from services.agents.safety.reward import reward_terms
from services.agents.safety.thresholds import SafetyThresholds
from services.agents.safety.value import appraise

AGENT = AgentRegistration(
    signals=("node_requests", "pods"),
    thresholds=SafetyThresholds,
    judge=judge,
    appraise=appraise,
    choices=choices,
    reward=reward_terms,
)
