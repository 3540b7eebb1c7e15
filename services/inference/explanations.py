"""Reasons for a failure on a node: whether anything like what runs there has failed lately.

First failures are hardly predictable (docs/forecast/risk.md): where nothing has failed that resembles an attempt, a
model knows no more than how often attempts of that kind fail first. It then abstains, and says so: its number stays the
rate that it knows, and is no alarm. Repetition is looked for in the workload (which here is the program, image and
input alike), in its owner and on its machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.live.live_history import LIVE_SETS
from schemas.prediction import ABSTAINS
from services.inference.booster import Matrix
from services.inference.risk_inputs import Rows

SIGNS: Final = (
    ("w", "job_fails"),
    ("o", "user_fails_60m"),
    ("m", "machine_fails_60m"),
)
"""Letter of each ground and the column that tells of it, the strongest first."""
MOST_OF_ONE_OWNER: Final = 0.5
"""Share of all pods from which an owner is no group any more but the cluster itself; our own guess."""


def explanations_by_node(
    rows: Rows, matrix: Matrix, feature_set: str, owners: NDArray[np.int64]
) -> Mapping[str, str]:
    """Return the strongest ground of each node that has rows.

    Args:
        rows: workloads on nodes.
        matrix: their features, of the whole set; NaN is missing, and no ground.
        feature_set: which set that exists live.
        owners: code of each row's owner.
    """
    places = {name: place for place, name in enumerate(LIVE_SETS[feature_set].names)}
    letters = np.full(len(rows.ids), len(SIGNS), dtype=np.int64)
    for number in reversed(range(len(SIGNS))):
        letter, column = SIGNS[number]
        speaks = matrix[:, places[column]] > 0.0
        if letter == "o":
            speaks &= _is_a_group(owners, rows.pods)
        letters[speaks] = number
    if not len(letters):
        return {}
    strongest = np.minimum.reduceat(letters, rows.first_rows)
    names = (*(letter for letter, _ in SIGNS), ABSTAINS)
    return {
        node: names[number] for node, number in zip(rows.nodes, strongest.tolist(), strict=True)
    }


def _is_a_group(owners: NDArray[np.int64], pods: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say of each row whether its owner has less than most of all pods."""
    _, codes = np.unique(owners, return_inverse=True)
    shares = np.bincount(codes, weights=pods)[codes] / max(1, int(pods.sum()))
    few: NDArray[np.bool_] = shares < MOST_OF_ONE_OWNER
    return few
