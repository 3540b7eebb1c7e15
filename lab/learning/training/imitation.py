"""A policy that begins as a rule: it is shown what the rule does on the train split, and learns from there.

Learning from nothing has to find in one go that admitting is good and whom to admit; a rule knows both. What comes
after may depart from the rule as far as it earns more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bus.errors import InputError
from lab.learning.baselines.rules import rule_of
from lab.learning.libraries import library
from lab.learning.training.environments import ADMISSION, make_environment
from lab.learning.training.plan import Plan
from lab.learning.training.recipes import MASKED, ON_POLICY

STREAMS = 40
"""Episodes of the rule that a policy is shown."""
EPOCHS = 20
BATCH = 512
LEARNING_RATE = 1e-3
FIRST_SEED = 3_000_000
"""Of the rule's episodes; the streams are the train split's, as all of training's."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a rule saw and did."""

    observations: npt.NDArray[np.float32]
    masks: npt.NDArray[np.bool_]
    actions: npt.NDArray[np.int64]


def check_imitation(plan: Plan) -> None:
    """Raise InputError where a plan's policy cannot begin as a rule."""
    if plan.environment != ADMISSION:
        raise InputError("--imitate", plan.imitates, f"rules know {ADMISSION} alone")
    if plan.recipe.algorithm not in ON_POLICY or plan.arguments.get("variant") == "continuous":
        remedy = f"take one of {', '.join(ON_POLICY)} with a choice of actions"
        raise InputError("--imitate", plan.recipe.algorithm, remedy)
    if plan.normalise:
        raise InputError("--imitate", plan.imitates, "leave --normalise out")
    rule_of(plan.imitates)


def imitate(learner: Any, plan: Plan) -> float:
    """Bring a learner's policy to what the plan's rule does; return how often it now does the same, from 0 to 1."""
    torch = library("torch")
    shown = demonstrations(plan.imitates, plan.arguments, STREAMS)
    policy, count = learner.policy, len(shown.actions)
    optimiser = torch.optim.Adam(policy.parameters(), lr=LEARNING_RATE)
    tensors = [torch.as_tensor(one) for one in (shown.observations, shown.actions, shown.masks)]
    masked = plan.recipe.algorithm in MASKED and plan.masked
    random = torch.Generator().manual_seed(plan.seed)
    for _ in range(EPOCHS):
        for part in torch.randperm(count, generator=random).split(BATCH):
            observations, actions, masks = (one[part] for one in tensors)
            more: Mapping[str, Any] = {"action_masks": masks} if masked else {}
            _, likelihood, _ = policy.evaluate_actions(observations, actions, **more)
            optimiser.zero_grad()
            (-likelihood.mean()).backward()
            optimiser.step()
    more = {"action_masks": shown.masks} if masked else {}
    chosen, _ = learner.predict(shown.observations, deterministic=True, **more)
    return float((chosen == shown.actions).mean())


def demonstrations(rule: str, arguments: Mapping[str, Any], episodes: int) -> Shown:
    """Return what a rule sees and does in an environment made with these arguments; what it cannot say is left out."""
    rows = [
        row
        for number in range(episodes)
        for row in _episode(rule, make_environment(ADMISSION, arguments), FIRST_SEED + number)
    ]
    seen, masks, actions = zip(*rows, strict=True)
    return Shown(np.array(seen), np.array(masks), np.array(actions))


def _episode(
    name: str, environment: Any, seed: int
) -> Iterator[tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_], int]]:
    rule, inside = rule_of(name, seed), environment.unwrapped
    observation, _ = environment.reset(seed=seed)
    over = False
    while not over:
        cluster, mask = inside.cluster, inside.action_masks()
        slots, wanted = cluster.slots(inside.slots), rule(cluster)
        action = slots.index(wanted) if wanted in slots else inside.slots
        if mask[action]:
            yield observation.copy(), mask, action
        else:  # it would wait, or admit whom no slot shows, and neither is an action
            action = int(np.flatnonzero(mask)[0])
        observation, _, terminated, truncated, _ = environment.step(action)
        over = terminated or truncated
