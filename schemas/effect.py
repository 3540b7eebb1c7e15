"""Expected effect of an action on the outcome score: one unit for every agent, so that all can be weighed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from schemas.model import DataModel
from schemas.numbers import Rounded, Seconds


class Effect(DataModel):
    """Money that an action is expected to gain within a horizon, and what that estimate rests on."""

    horizon_seconds: Annotated[Seconds, Field(gt=0)]
    """Cluster time after the decision that is looked at."""
    terms: dict[str, Rounded]
    """By component of the outcome score, over the horizon; what costs is negative."""
    net: Rounded
    """Sum of the terms."""
    low: Rounded
    """The net that is undercut with a chance of one in ten."""
    high: Rounded
    """The net that is exceeded with a chance of one in ten."""
    per_hour: Rounded
    """`net` for an hour: what the referee compares, since horizons differ."""
    currency: str
    """Of all amounts here, e.g. `USD`."""
