"""A learned policy as a rule: it sees a cluster as its environment shows it, and says whom to admit now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bus.errors import InputError
from lab.learning.backend import Backend
from lab.learning.evaluation.episodes import Mask, Policy
from lab.learning.observation import (
    SLOTS,
    action_mask,
    hidden_places,
    skrueue_observation,
    wide_observation,
)
from services.learned_policy.choice import Choice, LearnedPolicy
from services.learned_policy.file import read_policy

ENVIRONMENT = "Foresail/KueueAdmission-v1"


@dataclass(frozen=True, slots=True)
class View:
    """What a policy was trained to see."""

    variant: str = "skrueue"
    slots: int = SLOTS
    hidden: tuple[int, ...] = ()
    """Places that are always 0."""
    work_conserving: bool = False
    """Whether it may not wait while somebody fits."""

    @staticmethod
    def of(arguments: Mapping[str, Any]) -> View:
        """Return the view of an environment made with these arguments."""
        return View(
            str(arguments.get("variant", "skrueue")),
            int(arguments.get("slots", SLOTS)),
            tuple(hidden_places(arguments)),
            bool(arguments.get("work_conserving", False)),
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
        return action_mask(cluster, self.slots, self.work_conserving)


class LearnedRule:
    """The best of a policy's actions, as a rule; see `admitted` for what is not left to it."""

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
        return admitted(action, jobs, mask, cluster, priorities=self._priorities)


def admitted(
    action: Any, jobs: Sequence[int], mask: Mask, cluster: Backend, *, priorities: bool
) -> int | None:
    """Return whom an action admits now: the job that it names, if that fits; None: it waits.

    One thing is not left to a policy: where nothing runs and nothing will arrive, waiting can change nothing, so the
    oldest that fits is admitted; else a policy that has learnt to wait would never end.

    Args:
        action: number of a slot, or beyond them to wait; with `priorities` a number for each slot, below 0 for nobody.
        jobs: in the slots.
        mask: which of them fit.
        cluster: that they wait in.
        priorities: what an action is.
    """
    chosen = _best_fitting(action, mask) if priorities else int(action)
    if chosen is not None and chosen < len(jobs) and mask[chosen]:
        return jobs[chosen]
    if mask[:-1].any() and not cluster.running and cluster.next_event_seconds() == inf:
        return jobs[int(np.flatnonzero(mask)[0])]
    return None


def _best_fitting(priorities: Any, mask: Mask) -> int | None:
    fits = [int(slot) for slot in np.flatnonzero(mask[:-1]) if priorities[slot] >= 0.0]
    return min(fits, key=lambda slot: (-float(priorities[slot]), slot), default=None)


@dataclass(frozen=True, slots=True)
class Considered:
    """What an exported policy saw of a queue, what it chose, and whom that admits."""

    jobs: tuple[int, ...]
    """In the slots, in Kueue's order."""
    choice: Choice
    admits: int | None


class ExportedRule:
    """An exported policy as a rule, computed by numpy alone."""

    def __init__(self, policy: LearnedPolicy) -> None:
        """Take a policy.

        Raises:
            InputError: it was trained for something other than Kueue's admission, or sees what is not shown here.
        """
        card = policy.card
        if card.environment != ENVIRONMENT:
            remedy = f"trained in {card.environment}; give one of {ENVIRONMENT}"
            raise InputError("policy", card.name, remedy)
        self._view = View.of(card.arguments)
        if card.observation != self._view.name:
            remedy = f"this version shows {self._view.name}; train and export it anew"
            raise InputError("policy", card.observation, remedy)
        self.policy = policy

    def __call__(self, cluster: Backend) -> int | None:
        """Return the job to admit now; None: wait."""
        return self.consider(cluster).admits

    def consider(self, cluster: Backend) -> Considered:
        """Return what the policy sees and chooses now."""
        policy, mask = self.policy, self._view.mask(cluster)
        jobs = cluster.slots(self._view.slots)
        priorities = policy.card.kind == "priorities"
        choice = policy.choose(self._view.observe(cluster), None if priorities else mask)
        action = choice.scores if priorities else choice.action
        admits = admitted(action, jobs, mask, cluster, priorities=priorities)
        return Considered(tuple(jobs), choice, admits)


def read_rule(path: Path) -> ExportedRule:
    """Return the rule of a policy's file; raises InputError where it is none that admits jobs."""
    return ExportedRule(read_policy(path))
