"""How a node's CPU is shared between pods that work on at any rate and pods that serve requests.

The former want an amount and get the same part of it. A pod that serves wants what its requests need; slowed
down, its workers are busy for longer, so it takes as much as before until all of them are busy, which is its
ceiling. So the part is the largest at which everybody's take fits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twin.scheduling.node_table import node_sums

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_HALVINGS = 40


def shared_parts(
    given: Floats, asked: Floats, node: Ints, demand: Floats, ceiling: Floats, scale: Floats
) -> Floats:
    """Return by node row the part of its speed that each pod works at, at most 1.

    `given` and `asked` are millicores by node, of all and of those that do not serve; the others are by
    serving pod: its node's row, and millicores at the node's full speed. `scale` is that speed.
    """
    count = len(given)

    def taken(part: Floats) -> Floats:
        return asked * part + node_sums(
            node, np.minimum(demand, ceiling * (scale * part)[node]), count
        )

    low, high = np.zeros(count), np.ones(count)
    if bool((taken(high) <= given).all()):
        return high
    fits = taken(high) <= given
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        below = taken(middle) <= given
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(fits, 1.0, low)
