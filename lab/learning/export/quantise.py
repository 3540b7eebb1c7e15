"""A learner's network in whole numbers of 2^-20."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bus.errors import InputError
from services.learned_policy.network import (
    ONE,
    STEP_BITS,
    TANH_POINTS,
    Activation,
    Floats,
    Integers,
    Layer,
    Network,
    check,
)

EPSILON = 1e-8
"""What Stable-Baselines3 adds to a variance."""


def network_of(algorithm: str, learner: Any, statistics: Any = None) -> Network:
    """Return the network that chooses a learner's actions.

    Args:
        algorithm: which one.
        learner: of Stable-Baselines3 or sb3-contrib.
        statistics: its VecNormalize, if observations went through one.

    Raises:
        InputError: the network has a layer that is not read here, or numbers too large for whole ones.
    """
    tanh = tanh_table()
    extractor: Any = getattr(learner.policy, "mlp_extractor", None)
    by_slot = hasattr(extractor, "waiting")
    layers = layers_of(extractor.slots if by_slot else list(_modules(algorithm, learner.policy)))
    waiting = layers_of(extractor.waiting) if by_slot else ()
    slots = extractor.latent_dim_pi - 1 if by_slot else 0
    try:
        check(layers, tanh)
    except ValueError as error:
        raise InputError(
            "model", algorithm, f"it cannot be written in whole numbers: {error}"
        ) from error
    network = Network(layers, tanh, slots=slots, waiting=waiting)
    if statistics is None or not statistics.norm_obs:
        return network
    seen = statistics.obs_rms
    per_deviation = 1.0 / np.sqrt(seen.var.astype(np.float64) + EPSILON)
    centre, cut = seen.mean.astype(np.float64), float(statistics.clip_obs)
    return replace(network, centre=centre, per_deviation=per_deviation, cut=cut)


def tanh_table() -> Integers:
    """Return tanh at each point of the table."""
    points = [math.tanh(place / (1 << STEP_BITS)) for place in range(TANH_POINTS)]
    table: Integers = np.rint(np.array(points) * ONE).astype(np.int64)
    return table


def _modules(algorithm: str, policy: Any) -> Iterator[Any]:
    """Yield the modules from observation to scores, in their order; `None` stands for a last tanh."""
    if algorithm == "DQN":
        yield from policy.q_net.q_net
    elif algorithm == "SAC":
        yield from (*policy.actor.latent_pi, policy.actor.mu, None)
    elif algorithm == "TD3":
        yield from policy.actor.mu
    else:
        yield from (*policy.mlp_extractor.policy_net, policy.action_net)


def layers_of(modules: Any) -> tuple[Layer, ...]:
    """Return torch's modules as layers of whole numbers; `None` stands for a last tanh.

    Raises:
        InputError: a layer is not read here, or a number is too large.
    """
    layers: list[Layer] = []
    activations: dict[str, Activation] = {"NoneType": "tanh", "ReLU": "relu", "Tanh": "tanh"}
    for module in modules:
        kind = type(module).__name__
        if kind == "Linear":
            weights = whole(module.weight.detach().numpy())
            layers.append(Layer(weights, whole(module.bias.detach().numpy()), "none"))
        elif kind in activations and layers and layers[-1].activation == "none":
            last = layers[-1]
            layers[-1] = Layer(last.weights, last.bias, activations[kind])
        else:
            raise InputError("model", kind, "only linear layers with ReLU or tanh are exported")
    return tuple(layers)


def whole(numbers: Floats) -> Integers:
    """Return numbers in 2^-20; raises InputError where one is none, or too large."""
    scaled = np.rint(numbers.astype(np.float64) * ONE)
    if not (np.abs(scaled) < 2**31).all():
        raise InputError("model", "weights", "one is no number, or 2048 or more; train anew")
    counted: Integers = scaled.astype(np.int64)
    return counted
