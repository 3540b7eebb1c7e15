"""Effect of acting while an incident went on, where an untouched world was recorded beside it."""

from __future__ import annotations

from projections.incidents.compact import Differences
from projections.incidents.incident import ActingChange
from projections.score.text import window_text
from schemas.score import verdict_of


def acting_change(
    differences: Differences, begin_seconds: float, end_seconds: float
) -> ActingChange | None:
    """Return the change from the last comparison before an incident to the first after it.

    Args:
        differences: of a whole log.
        begin_seconds: cluster time at which the incident begins.
        end_seconds: cluster time at which it is over, or the newest there is.

    Returns:
        None where the two worlds were not compared in that time.
    """
    earlier, after = differences.around(begin_seconds, end_seconds)
    if after is None:
        return None
    money = after.total_money - (0.0 if earlier is None else earlier.total_money)
    return ActingChange(
        verdict=verdict_of(money),
        money=round(money, 6),
        currency=after.currency,
        text=window_text(earlier, after),
    )
