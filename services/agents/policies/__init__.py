"""The policies, one module each.

`safety` (A), `efficiency` (B), `admission` (C), and `example` as the template for a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.actions import Agent
from services.agents.policies import admission, efficiency, safety
from services.agents.policy import Policy

POLICIES: Mapping[Agent, Policy[Any]] = {
    Agent.SAFETY: safety.POLICY,
    Agent.EFFICIENCY: efficiency.POLICY,
    Agent.ADMISSION: admission.POLICY,
}
"""The policy of each agent."""
