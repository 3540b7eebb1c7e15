"""Effect of acting while an incident went on, where an untouched world was recorded beside it."""

from __future__ import annotations

from collections.abc import Sequence

from projections.incidents.incident import ActingChange
from projections.score.text import window_text
from schemas.score import OutcomeCounterfactual, verdict_of


def acting_change(
    differences: Sequence[OutcomeCounterfactual], begin_seconds: float, end_seconds: float
) -> ActingChange | None:
    """Return the change from the last comparison before an incident to the first after it.

    Args:
        differences: of a whole log, in its order.
        begin_seconds: cluster time at which the incident begins.
        end_seconds: cluster time at which it is over, or the newest there is.

    Returns:
        None where the two worlds were not compared in that time.
    """
    before = [one for one in differences if one.cluster_time_seconds <= begin_seconds]
    within = [one for one in differences if one.cluster_time_seconds > begin_seconds]
    if not within:
        return None
    after = next((one for one in within if one.cluster_time_seconds >= end_seconds), within[-1])
    earlier = before[-1] if before else None
    money = after.total_money - (0.0 if earlier is None else earlier.total_money)
    return ActingChange(
        verdict=verdict_of(money),
        money=round(money, 6),
        currency=after.currency,
        text=window_text(earlier, after),
    )
