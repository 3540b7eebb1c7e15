"""An agent before any training: a network of random weights over what the variant `score` sees.

It is what a benchmark that silently loads no model would measure, so it is a row of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from lab.learning.backend import Backend
from lab.learning.observation import SLOTS, action_mask, wide_numbers, wide_observation

HIDDEN = 64


def untrained_rule(seed: int, slots: int = SLOTS) -> Callable[[Backend], int | None]:
    """Return a rule that takes the highest output of a random network among those allowed."""
    random = Random(f"{seed}/untrained")
    first = _weights(random, wide_numbers(slots), HIDDEN)
    last = _weights(random, HIDDEN, slots + 1)

    def rule(cluster: Backend) -> int | None:
        hidden = np.tanh(wide_observation(cluster, slots) @ first)
        outputs = np.where(action_mask(cluster, slots), hidden @ last, -np.inf)
        action = int(np.argmax(outputs))
        return None if action == slots else cluster.slots(slots)[action]

    return rule


def _weights(random: Random, rows: int, columns: int) -> np.ndarray:
    scale = rows**-0.5
    return np.array([[random.gauss(0.0, scale) for _ in range(columns)] for _ in range(rows)])
