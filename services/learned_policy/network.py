"""A network's scores in integers: every number is a whole count of 2^-20.

A product of two such numbers counts 2^-40 and is rounded back to 2^-20, half up. `tanh` is a table with straight
lines in between, kept in the file, so that no machine's own `tanh` matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Activation = Literal["none", "relu", "tanh"]
ACTIVATIONS: tuple[Activation, ...] = ("none", "relu", "tanh")
FRACTION_BITS = 20
ONE = 1 << FRACTION_BITS
HALF = 1 << (FRACTION_BITS - 1)
LARGEST_INPUT = 256.0
"""Inputs and hidden values beyond it are cut; export refuses a policy that comes near."""
TANH_END = 8
"""tanh is 1 - 2e-7 there, and is taken to stay so."""
STEP_BITS = 10
"""The table has a point each 2^-10: straight lines err by 1e-7 at most."""
TANH_POINTS = (TANH_END << STEP_BITS) + 1
_SUM_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: weights and bias, then an activation."""

    weights: Integers
    """outputs x inputs, in 2^-20."""
    bias: Integers
    """outputs, in 2^-20."""
    activation: Activation


@dataclass(frozen=True, slots=True)
class Network:
    """Layers, what observations go through first, and the table of tanh."""

    layers: tuple[Layer, ...]
    tanh: Integers
    """tanh(i 2^-10) in 2^-20, for i from 0 to TANH_POINTS - 1."""
    centre: Floats | None = None
    """Of each observed number, subtracted first; None: observations are taken as they are."""
    per_deviation: Floats | None = None
    """1 / deviation of each; what comes of it is cut at `cut`."""
    cut: float = LARGEST_INPUT
    slots: int = 0
    """0: the layers take the whole observation. Else they score each of so many jobs, whose numbers follow the
    cluster's, and `waiting` scores the last action by the cluster's alone.
    """
    waiting: tuple[Layer, ...] = ()

    @property
    def inputs(self) -> int:
        """Numbers of an observation."""
        taken = int(self.layers[0].weights.shape[1])
        if not self.slots:
            return taken
        cluster = int(self.waiting[0].weights.shape[1])
        return cluster + self.slots * (taken - cluster)

    @property
    def outputs(self) -> int:
        """Scores."""
        return self.slots + 1 if self.slots else int(self.layers[-1].weights.shape[0])

    def scores(self, observation: npt.NDArray[np.floating]) -> Integers:
        """Return the score of each action in 2^-20; equal on every machine.

        Args:
            observation: one, or rows of them.

        Raises:
            ValueError: it has another number of numbers, or one is no number.
        """
        seen = np.asarray(observation, dtype=np.float64)
        if seen.shape[-1] != self.inputs:
            raise ValueError(f"an observation has {self.inputs} numbers, not {seen.shape[-1]}")
        if not np.isfinite(seen).all():
            raise ValueError("an observed number is no number")
        if self.centre is not None and self.per_deviation is not None:
            seen = np.clip((seen - self.centre) * self.per_deviation, -self.cut, self.cut)
        # Products by a power of two and rounding to even are exact by IEEE 754.
        values = np.rint(np.clip(seen, -LARGEST_INPUT, LARGEST_INPUT) * ONE).astype(np.int64)
        if not self.slots:
            return self._through(values, self.layers)
        cluster = values[..., : self.waiting[0].weights.shape[1]]
        jobs = values[..., cluster.shape[-1] :].reshape(*values.shape[:-1], self.slots, -1)
        beside = np.broadcast_to(cluster[..., None, :], (*jobs.shape[:-1], cluster.shape[-1]))
        of_slots = self._through(np.concatenate([beside, jobs], axis=-1), self.layers)
        of_waiting = self._through(cluster, self.waiting)
        return np.concatenate([of_slots[..., 0], of_waiting], axis=-1)

    def _through(self, values: Integers, layers: Sequence[Layer]) -> Integers:
        for layer in layers:
            values = ((values @ layer.weights.T + HALF) >> FRACTION_BITS) + layer.bias
            values = self._activated(values, layer.activation)
        return values

    def _activated(self, values: Integers, activation: Activation) -> Integers:
        if activation == "none":
            return values
        if activation == "relu":
            return np.clip(values, 0, int(LARGEST_INPUT) * ONE)
        size = np.minimum(np.abs(values), TANH_END * ONE - 1)
        shift = FRACTION_BITS - STEP_BITS
        place, rest = size >> shift, size & ((1 << shift) - 1)
        low, high = self.tanh[place], self.tanh[place + 1]
        between: Integers = np.sign(values) * (low + ((high - low) * rest >> shift))
        return between


def check(layers: Sequence[Layer], tanh: Integers) -> None:
    """Raise ValueError where layers do not fit one another, or a sum might not fit 64 bits."""
    if not layers:
        raise ValueError("it has no layer")
    if tanh.shape != (TANH_POINTS,):
        raise ValueError(f"its table of tanh has {tanh.size} points, not {TANH_POINTS}")
    inputs = layers[0].weights.shape[-1]
    for number, layer in enumerate(layers):
        if layer.weights.ndim != 2 or layer.bias.shape != layer.weights.shape[:1]:
            raise ValueError(f"layer {number} is no matrix with a bias for each row")
        if layer.weights.shape[1] != inputs:
            raise ValueError(f"layer {number} takes {layer.weights.shape[1]} numbers, not {inputs}")
        if layer.activation not in ACTIVATIONS:
            raise ValueError(f"layer {number} has the activation {layer.activation!r}")
        largest = float(np.abs(layer.weights).astype(np.float64).sum(axis=1).max(initial=0.0))
        if largest * LARGEST_INPUT * ONE + float(np.abs(layer.bias).max(initial=0)) >= _SUM_LIMIT:
            raise ValueError(f"sums of layer {number} might not fit 64 bits")
        inputs = layer.weights.shape[0]
