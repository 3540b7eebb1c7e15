"""Learned policies beside the agents' own rules: what one chose in a cycle, and what both were worth afterwards."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from schemas.actions import Action, AgentName
from schemas.figures import number
from schemas.model import EVERY_AGENT, DataModel, EventData
from schemas.numbers import Count, Cycle, Rounded, Seconds
from schemas.reasons import Reason


class LearnedRank(DataModel):
    """One action that a policy could choose."""

    action: str
    """Its kind in full, e.g. `admission:queue`."""
    allowed: bool
    """The mask."""
    score: Rounded


class LearnedChoice(EventData):
    """What a learned policy chose for its agent in a cycle, with everything it could choose."""

    TYPE: ClassVar[str] = "foresail.learned.choice.v1"
    WRITER: ClassVar[str] = EVERY_AGENT
    PATTERN: ClassVar[tuple[str, ...]] = ("learned", "*")

    cycle: Cycle
    cluster_time_seconds: Seconds
    agent: AgentName
    policy: str
    weights_sha256: str
    acts: bool
    """Whether its choice is what the agent proposes; else it is in shadow."""
    seen: tuple[Rounded, ...] = ()
    """The observation, number by number."""
    ranks: tuple[LearnedRank, ...] = ()
    """Actions by their number."""
    choice: Count | None = None
    """Number of its action; None: it chose nothing."""
    runner_up: Count | None = None
    """The best of the other actions that might have been taken."""
    action: Action | None = None
    """What that stands for now."""
    rules: Action | None = Field(default=None, exclude_if=lambda action: action is None)
    """What the agent's own rules wanted, where the policy acts; in shadow that is the proposal."""
    reason: Reason | None = None
    """Why it chose nothing."""

    def tokens(self) -> tuple[str, ...]:
        """Return `learned.<agent>`."""
        return ("learned", self.agent)

    def key(self) -> str:
        """Return the agent."""
        return self.agent

    def line(self) -> str:
        """Return what it wants, by how much and before what."""
        if self.choice is None:
            return f"{self.policy} chose nothing: {self.reason}"
        verb = "wants" if self.acts else "would want"
        aim = "" if self.action is None else f" {self.action.aim}".rstrip()
        margin = ""
        if self.runner_up is not None:
            second = self.ranks[self.runner_up]
            ahead = number(self.ranks[self.choice].score - second.score)
            margin = f", {ahead} ahead of {second.action}"
        return f"{self.policy} {verb} {self.ranks[self.choice].action}{aim}{margin}"


class OutcomeLearned(EventData):
    """What a policy's choice and what its agent proposed were worth, by the agent's own reward terms.

    Both are paid for the same situation: the one that was observed afterwards. So it says which of the two fits better
    to what came, and not what would have come of the other one.
    """

    TYPE: ClassVar[str] = "foresail.outcome.learned.v1"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "learned")

    cycle: Cycle
    """Of the choice."""
    cluster_time_seconds: Seconds
    """Of the observation that paid it."""
    agent: AgentName
    policy: str
    acts: bool
    same: bool
    """Whether both wanted the same kind of action."""
    policy_reward: Rounded
    rules_reward: Rounded
    """Of the agent's own rules."""
    scored: Count
    """Choices of this policy so far,"""
    agreed: Count
    """those in which both wanted the same,"""
    policy_total: Rounded
    rules_total: Rounded
    """and sums over all of them."""

    def key(self) -> str:
        """Return the agent."""
        return self.agent

    def line(self) -> str:
        """Return both sums."""
        return (
            f"{self.agent}: {self.policy} {number(self.policy_total)}, rules {number(self.rules_total)} in "
            f"{self.scored} cycles, the same in {self.agreed}"
        )
