"""Whether an exported policy acts as its framework does, on states that the policy meets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.learning.evaluation.episodes import mask_of
from lab.learning.libraries import library
from lab.learning.training.recipes import CONTINUOUS, MASKED
from services.learned_policy.card import Agreement
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.network import ONE

STATES = 100_000
RANDOM_SHARE = 0.2
"""Of actions, so that states are met that the policy alone would avoid."""
MARGIN = 1e-4
"""Two scores nearer than this part of a score's usual size are a near-tie: float32 itself errs by some 1e-6."""
FIRST_SEED = 3_000_000
ROWS = 10_000
Floats = npt.NDArray[np.floating]
Masks = npt.NDArray[np.bool_]


def met_states(
    policy: LearnedPolicy, make: Callable[[], Any], count: int, seed: int
) -> tuple[Floats, Masks | None]:
    """Return states that a policy meets while a fifth of its actions is drawn: observations, and masks."""
    random = np.random.Generator(np.random.PCG64(seed))  # noqa: TID251 - made from a seed
    environment = make()
    observations, masks = [], []
    episode = FIRST_SEED + seed
    observation, _ = environment.reset(seed=episode)
    for _ in range(count):
        mask = mask_of(environment)
        observations.append(observation)
        if mask is not None:
            masks.append(mask)
        action = _action(policy, environment, observation, mask, random)
        observation, _, terminated, truncated, _ = environment.step(action)
        if terminated or truncated:
            episode += 1
            observation, _ = environment.reset(seed=episode)
    environment.close()
    return np.array(observations), np.array(masks) if masks else None


def _action(
    policy: LearnedPolicy, environment: Any, observation: Any, mask: Any, random: Any
) -> Any:
    if policy.card.kind == "priorities":
        space = environment.action_space
        if random.random() < RANDOM_SHARE:
            return (space.low + random.random(space.shape) * (space.high - space.low)).astype(
                np.float32
            )
        scores = np.array(policy.choose(observation).scores)
        return (space.low + (scores + 1.0) / 2.0 * (space.high - space.low)).astype(np.float32)
    if random.random() < RANDOM_SHARE:
        allowed = np.arange(policy.card.action_count) if mask is None else np.flatnonzero(mask)
        return int(random.choice(allowed))
    return policy.choose(observation, mask).action


def agreement(
    policy: LearnedPolicy, algorithm: str, learner: Any, states: Floats, masks: Masks | None
) -> Agreement:
    """Compare actions and scores, state by state.

    Args:
        policy: as it is exported.
        algorithm: of the learner.
        learner: the framework's.
        states: observations, before any normalisation.
        masks: of the same states; None where the environment has none.
    """
    ours = np.concatenate([policy.network.scores(states[at : at + ROWS]) for at in _starts(states)])
    seen = _normalised(policy, states)
    theirs = np.concatenate(
        [framework_scores(algorithm, learner, seen[at : at + ROWS]) for at in _starts(states)]
    )
    error = float(np.abs(ours / ONE - theirs).max())
    margin = MARGIN * max(1.0, float(np.median(np.abs(theirs))))
    if policy.card.kind == "priorities":
        apart = np.abs(ours / ONE - theirs).max(axis=1) > margin
        return Agreement(
            states=len(states), near_ties=0, differing=int(apart.sum()),
            differing_elsewhere=int(apart.sum()), margin=margin, largest_error=error,
        )  # fmt: skip
    hidden = None if masks is None or not policy.card.masked else ~masks
    if hidden is not None:
        ours = np.where(hidden, np.iinfo(np.int64).min // 2, ours)
    best_two = np.sort(ours, axis=1)[:, -2:]
    near = (best_two[:, 1] - best_two[:, 0]) < margin * ONE
    more = {"action_masks": masks} if algorithm in MASKED and hidden is not None else {}
    actions, _ = learner.predict(seen.astype(np.float32), deterministic=True, **more)
    differing = actions != ours.argmax(axis=1)
    return Agreement(
        states=len(states), near_ties=int(near.sum()), differing=int(differing.sum()),
        differing_elsewhere=int((differing & ~near).sum()), margin=margin, largest_error=error,
    )  # fmt: skip


def framework_scores(algorithm: str, learner: Any, observations: Floats) -> npt.NDArray[np.float64]:
    """Return the framework's score of each action: logits, values, or the actions themselves."""
    torch = library("torch")
    policy = learner.policy
    with torch.no_grad():
        seen = torch.as_tensor(observations.astype(np.float32))
        if algorithm == "DQN":
            scores = policy.q_net(seen)
        elif algorithm in CONTINUOUS:
            scores = policy.actor(seen, **({"deterministic": True} if algorithm == "SAC" else {}))
        else:
            scores = policy.action_net(policy.mlp_extractor.forward_actor(seen))
    array: npt.NDArray[np.float64] = scores.numpy().astype(np.float64)
    return array


def _normalised(policy: LearnedPolicy, states: Floats) -> Floats:
    network = policy.network
    if network.centre is None or network.per_deviation is None:
        return states
    normal: Floats = np.clip(
        (states - network.centre) * network.per_deviation, -network.cut, network.cut
    )
    return normal


def _starts(states: Floats) -> range:
    return range(0, len(states), ROWS)
