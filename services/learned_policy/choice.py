"""What a learned policy chooses: the best of the actions that may be taken, with all scores and the runner-up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from services.learned_policy.card import PolicyCard
from services.learned_policy.network import ONE, Network

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision with its reasons."""

    action: int
    """The best action; of priorities, the slot with the highest."""
    scores: tuple[float, ...]
    """One for each action, exact multiples of 2^-20."""
    allowed: tuple[bool, ...]
    """The mask."""
    runner_up: int | None
    """The best of the others that might have been taken; None: nothing else might."""

    @property
    def margin(self) -> float | None:
        """Return how much better the best score is than the runner-up's; None without one."""
        return (
            None
            if self.runner_up is None
            else self.scores[self.action] - self.scores[self.runner_up]
        )


@dataclass(frozen=True, slots=True)
class LearnedPolicy:
    """A card and the network that it describes."""

    card: PolicyCard
    network: Network

    def choose(self, observation: npt.NDArray[np.floating], mask: Mask | None = None) -> Choice:
        """Return the best allowed action; of equal scores, the first.

        Args:
            observation: as `card.observation` says.
            mask: which actions may be taken; None, or a card that is not masked: all.

        Raises:
            ValueError: observation or mask has another length, or no action may be taken.
        """
        scores = self.network.scores(observation)
        allowed = np.ones(len(scores), dtype=np.bool_)
        if mask is not None and self.card.masked:
            allowed = np.asarray(mask, dtype=np.bool_)
        if allowed.shape != scores.shape:
            raise ValueError(f"a mask has {len(scores)} entries, not {allowed.size}")
        ranked = sorted(np.flatnonzero(allowed), key=lambda action: (-scores[action], action))
        if not ranked:
            raise ValueError("no action may be taken")
        return Choice(
            int(ranked[0]), tuple((scores / ONE).tolist()), tuple(allowed.tolist()),
            int(ranked[1]) if len(ranked) > 1 else None,
        )  # fmt: skip
