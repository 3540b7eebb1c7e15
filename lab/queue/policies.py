"""An exported policy as a rule: it sees the ten slots, chooses one or waits, by numpy alone."""

from __future__ import annotations

from pathlib import Path

from bus.errors import InputError
from lab.learning.backend import Backend
from lab.learning.baselines.rules import Rule
from lab.learning.observation import (
    SLOTS,
    action_mask,
    skrueue_observation,
    wide_observation,
)
from services.learned_policy.choice import Choice, LearnedPolicy
from services.learned_policy.file import read_policy

ENVIRONMENT = "Foresail/KueueAdmission-v1"


def choice_of(policy: LearnedPolicy, cluster: Backend) -> Choice:
    """Return what a policy chooses, with the scores of every slot and of waiting."""
    arguments = policy.card.arguments
    slots = int(arguments.get("slots", SLOTS))
    skrueue = arguments.get("variant", "skrueue") == "skrueue"
    seen = skrueue_observation(cluster) if skrueue else wide_observation(cluster, slots)
    mask = action_mask(cluster, slots) if policy.card.kind == "choice" else None
    return policy.choose(seen, mask)


def rule_of_policy(policy: LearnedPolicy) -> Rule:
    """Return the rule that a policy is: the chosen job if it fits now; else it waits."""

    def by_choice(cluster: Backend) -> int | None:
        slots = cluster.slots(policy.card.action_count - 1)
        action = choice_of(policy, cluster).action
        chosen = slots[action] if action < len(slots) else None
        return chosen if chosen is not None and cluster.fits(chosen) else None

    def by_priorities(cluster: Backend) -> int | None:
        slots = cluster.slots(policy.card.action_count)
        scores = choice_of(policy, cluster).scores
        order = sorted(range(len(slots)), key=lambda slot: (-scores[slot], slot))
        fitting = (slots[slot] for slot in order if scores[slot] >= 0)
        return next((index for index in fitting if cluster.fits(index)), None)

    return by_choice if policy.card.kind == "choice" else by_priorities


def read_admission_policy(path: Path) -> LearnedPolicy:
    """Return the policy of a file.

    Raises:
        InputError: there is none, or it was not trained to admit jobs.
    """
    policy = read_policy(path)
    if policy.card.environment != ENVIRONMENT:
        trained = policy.card.environment
        raise InputError("policy", path, f"trained in {trained}; give one of {ENVIRONMENT}")
    return policy
