"""An agent's registration: everything that the rest of the system needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal

from agent_registry.appraisal import Appraise
from agent_registry.policy import Choices, Judge, T
from agent_registry.reward import RewardTerms


@dataclass(frozen=True, slots=True)
class AgentRegistration(Generic[T]):
    """One agent."""

    name: str
    """Lowercase; its folder, the last token of `proposal.<name>`, and its table under `[agents]`."""
    letter: str
    """One capital letter, shown to people."""
    order: int
    """Its place in the referee's fixed order; 1 is tried first. Proposals carry it as `priority`."""
    purpose: str
    """What it is for, as the end of a sentence: `keeps workloads alive`."""
    colour: str
    """Its colour on a light page, `#rrggbb`."""
    dark_colour: str
    """Its colour on a dark page."""
    signals: tuple[str, ...]
    """Signals without which it does not judge."""
    prediction: Literal["risk", "demand"] | None
    """The prediction it waits for; None when it judges the observation alone."""
    thresholds: type[T]
    """Its thresholds; their defaults are the profile `baseline-rules`."""
    judge: Judge[T]
    """Its policy."""
    reward: RewardTerms
    """What a decision is worth to it."""
    reward_weight: float = 1.0
    """Default weight of its reward in the total."""
    preempts: frozenset[str] = frozenset()
    """Kinds of action (`Action.full_kind`) with which it wins over everything, whatever the scores."""
    protects: frozenset[str] = frozenset()
    """Kinds of action with which it wins over actions that only save."""
    choices: Choices[T] | None = None
    """What it may want; the profile `random` draws from it. Without, that profile wants nothing."""
    appraise: Appraise | None = None
    """Its policy by expected value; without, the profile `foresail` wants nothing of it."""
    must_see: bool = False
    """Whether nothing is done, rather than merely admitted, in a cycle that it could not judge."""


AnyAgent = AgentRegistration[Any]
"""A registration whose thresholds do not matter."""
