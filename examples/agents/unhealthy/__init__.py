"""Agent D, unhealthy: throttles the node with the most unhealthy pods. An example to copy.

    cp -r examples/agents/unhealthy services/agents/

is the whole installation (docs/add-an-agent.md).
"""

from __future__ import annotations

from services.agents.unhealthy.policy import judge
from services.agents.unhealthy.reward import reward_terms
from services.agents.unhealthy.thresholds import UnhealthyThresholds
from services.agents.unhealthy.value import appraise

from services.agents.registration import AgentRegistration

AGENT = AgentRegistration(
    signals=("pods",),
    thresholds=UnhealthyThresholds,
    judge=judge,
    appraise=appraise,
    reward=reward_terms,
)
