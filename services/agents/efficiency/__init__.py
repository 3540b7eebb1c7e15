"""Agent B, efficiency: saves power and memory on the node with the lowest demand."""

from __future__ import annotations

from agent_registry.registration import AgentRegistration
from services.agents.efficiency.policy import choices, judge
from services.agents.efficiency.reward import reward_terms
from services.agents.efficiency.thresholds import EfficiencyThresholds
from services.agents.efficiency.value import appraise

AGENT = AgentRegistration(
    name="efficiency",
    letter="B",
    order=3,
    purpose="saves power and memory (power_state, dvfs, memory_balloon)",
    colour="#2b7a68",
    dark_colour="#5fbfa8",
    signals=("node_requests", "pods"),
    prediction="demand",
    thresholds=EfficiencyThresholds,
    judge=judge,
    appraise=appraise,
    choices=choices,
    reward=reward_terms,
    reward_weight=0.6,
)
