"""Text for when nothing that was measured is recent: agents then do nothing, and nothing else looks wrong."""

from __future__ import annotations

from collections.abc import Sequence

from projections.figures import duration
from schemas.signals import Signal, SignalStatus

PRICE = "energy_price"
"""It says nothing of the cluster, and may come from elsewhere."""


def stale_text(signals: Sequence[Signal]) -> str | None:
    """Return the warning when every dated signal of the cluster is stale; None while one is fresh, or none is dated."""
    dated = [one for one in signals if one.age_seconds is not None and one.name != PRICE]
    if not dated or any(one.status is not SignalStatus.STALE for one in dated):
        return None
    newest = min(dated, key=lambda one: one.age_seconds or 0.0)
    limit = "" if newest.limit_seconds is None else f", limit {duration(newest.limit_seconds)}"
    return (
        f"all {len(dated)} signals are stale (the newest, {newest.name}, is {duration(newest.age_seconds or 0.0)} old"
        f"{limit}), so nothing is decided: see that the cluster answers and that its clock runs as fast as ours "
        "(else start with --speed)"
    )
