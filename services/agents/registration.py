"""The code of an agent; what others know of it stands beside it in `agent.toml`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from schemas.agents import AgentManifest
from services.agent_rewards import RewardTerms
from services.agents.appraisal import Appraise
from services.agents.policy import Choices, Judge, T


@dataclass(frozen=True, slots=True)
class AgentRegistration(Generic[T]):
    """Registration that an agent's folder declares as `AGENT`."""

    signals: tuple[str, ...]
    """Signals without which it does not judge."""
    thresholds: type[T]
    """Its thresholds; their defaults are the profile `baseline-rules`."""
    judge: Judge[T]
    """Its policy by thresholds."""
    reward: RewardTerms
    """Reward of a decision for it."""
    appraise: Appraise | None = None
    """Its policy by expected value; without, the profile `foresail` wants nothing of it."""
    choices: Choices[T] | None = None
    """What it may want; the profile `random` draws from it. Without, that profile wants nothing."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent as its process runs it."""

    manifest: AgentManifest
    code: AgentRegistration[Any]

    @property
    def name(self) -> str:
        """Its folder."""
        return self.manifest.name
