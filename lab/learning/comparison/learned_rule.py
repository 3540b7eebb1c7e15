"""A learned policy as a rule: it sees a cluster as its environment shows it, and says whom to admit now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from bus.errors import InputError
from lab.learning.backend import Backend
from lab.learning.evaluation.episodes import Mask, Observation, Policy
from lab.learning.observation import (
    SLOTS,
    action_mask,
    skrueue_observation,
    wide_observation,
)
from services.learned_policy.choice import LearnedPolicy


@dataclass(frozen=True, slots=True)
class View:
    """What a policy was trained to see."""

    variant: str = "skrueue"
    slots: int = SLOTS
    hidden: tuple[int, ...] = ()
    """Places that are always 0."""

    @staticmethod
    def of(arguments: Mapping[str, Any]) -> View:
        """Return the view of an environment made with these arguments."""
        return View(
            str(arguments.get("variant", "skrueue")),
            int(arguments.get("slots", SLOTS)),
            tuple(arguments.get("hidden", ())),
        )

    @property
    def name(self) -> str:
        """Name and version of what is seen; a change of the numbers is a new version."""
        return f"{'skrueue' if self.variant == 'skrueue' else 'wide'}-{self.slots}.v1"

    def observe(self, cluster: Backend) -> npt.NDArray[np.float32]:
        """Return the numbers."""
        wide = self.variant != "skrueue"
        seen = wide_observation(cluster, self.slots) if wide else skrueue_observation(cluster)
        seen[list(self.hidden)] = 0.0
        return seen

    def mask(self, cluster: Backend) -> Mask:
        """Return which actions may be taken; the last is to wait."""
        return action_mask(cluster, self.slots)


class LearnedRule:
    """The best of a policy's actions, as a rule.

    One thing is not left to it: where nothing runs and nothing will arrive, waiting can change nothing, so the oldest
    that fits is admitted; else a policy that has learnt to wait would never end.
    """

    def __init__(self, policy: Policy, view: View, *, masked: bool, priorities: bool) -> None:
        """Take a policy and what it sees; `priorities`: it gives each slot a number instead of naming one."""
        self._policy, self._view = policy, view
        self._masked, self._priorities = masked, priorities

    def __call__(self, cluster: Backend) -> int | None:
        """Return the job to admit now; None: wait."""
        jobs, mask = cluster.slots(self._view.slots), self._view.mask(cluster)
        if not mask[:-1].any():
            return None
        action = self._policy.choose(self._view.observe(cluster), mask if self._masked else None)
        chosen = self._by_priority(action, mask) if self._priorities else int(action)
        if chosen is not None and chosen < len(jobs) and mask[chosen]:
            return jobs[chosen]
        if not cluster.running and cluster.next_event_seconds() == inf:
            return jobs[int(np.flatnonzero(mask)[0])]
        return None

    @staticmethod
    def _by_priority(priorities: Any, mask: Mask) -> int | None:
        fits = [int(slot) for slot in np.flatnonzero(mask[:-1]) if priorities[slot] >= 0.0]
        return min(fits, key=lambda slot: (-float(priorities[slot]), slot), default=None)


def exported_rule(policy: LearnedPolicy) -> LearnedRule:
    """Return the rule of an exported policy, computed by numpy alone.

    Raises:
        InputError: it was trained for something other than Kueue's admission, or sees what is not shown here.
    """
    card = policy.card
    view = View.of(card.arguments)
    if card.observation != view.name:
        remedy = f"this version shows {view.name}; train and export it anew"
        raise InputError("policy", card.observation, remedy)
    return LearnedRule(
        _Exported(policy), view, masked=card.masked, priorities=card.kind == "priorities"
    )


class _Exported:
    """An exported policy's action."""

    def __init__(self, policy: LearnedPolicy) -> None:
        self._policy = policy

    def choose(self, observation: Observation, mask: Mask | None) -> Any:
        """Return the action, or the priorities."""
        choice = self._policy.choose(observation, mask)
        return choice.action if self._policy.card.kind == "choice" else choice.scores
