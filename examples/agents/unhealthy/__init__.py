"""Agent D, unhealthy: throttles the node with the most unhealthy pods. An example to copy.

    cp -r examples/agents/unhealthy services/agents/

is the whole installation (docs/add-an-agent.md).
"""

from __future__ import annotations

from services.agents.unhealthy.policy import judge
from services.agents.unhealthy.reward import reward_terms
from services.agents.unhealthy.thresholds import UnhealthyThresholds

from agent_registry.registration import AgentRegistration

AGENT = AgentRegistration(
    name="unhealthy",
    letter="D",
    order=4,
    purpose="relieves nodes with unhealthy pods (throttle)",
    colour="#8a5a12",
    dark_colour="#e0a868",
    signals=("pods",),
    prediction=None,
    thresholds=UnhealthyThresholds,
    judge=judge,
    reward=reward_terms,
    reward_weight=0.5,
    protects=frozenset(("throttle",)),
)
