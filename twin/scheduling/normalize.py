"""Scaling raw scores to 0 to 100: pkg/scheduler/framework/plugins/helper/normalize_score.go."""

from __future__ import annotations

from twin.scheduling.node_table import Ints

MAX_SCORE = 100


def normalize_scores(raw: Ints, *, reverse: bool = False) -> Ints | None:
    """Return scores in proportion to the highest one; None when all rows would score alike."""
    most = int(raw.max(initial=0))
    if most == 0:
        return None
    scores: Ints = MAX_SCORE * raw // most
    return MAX_SCORE - scores if reverse else scores
