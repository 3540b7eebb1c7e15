"""Agent B, efficiency: saves power and memory on the node with the lowest demand."""

from __future__ import annotations

from services.agents.efficiency.policy import choices, judge
from services.agents.efficiency.reward import reward_terms
from services.agents.efficiency.thresholds import EfficiencyThresholds
from services.agents.efficiency.value import appraise
from services.agents.registration import AgentRegistration

AGENT = AgentRegistration(
    signals=("node_requests", "pods"),
    thresholds=EfficiencyThresholds,
    judge=judge,
    appraise=appraise,
    choices=choices,
    reward=reward_terms,
)
