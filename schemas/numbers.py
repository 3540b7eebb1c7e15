"""Numbers as they may travel: finite, and rounded once to six decimals when they enter an event.

The next layer reads the rounded value, so a decision can be computed again from the recording to
the last bit.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

from pydantic import AfterValidator, Field

DECIMALS = 6
_SCALE = 10.0**DECIMALS
_EXACT = 2.0**51
"""Below, a product is off by an eighth at most."""
_SURE = 0.375
"""Nearer than that to a whole number, with an eighth of error, it is the nearest."""


def rounded(value: float) -> float:
    """Round to six decimals; refuse NaN and infinity; never return minus zero.

    The same as `round`, which writes digits and reads them again and so takes twice as long, where the nearest
    number of millionths is certain: the quotient of two whole numbers is rounded once, too.

    Raises:
        ValueError: the value is not finite.
    """
    scaled = value * _SCALE
    if -_EXACT < scaled < _EXACT:
        whole = round(scaled)
        if -_SURE < scaled - whole < _SURE:
            return whole / _SCALE
    number = round(value, DECIMALS) + 0.0  # of an int, too, a float
    if not math.isfinite(number):
        raise ValueError("a number in an event must be finite")
    return number


def json_values(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse what JSON cannot hold anywhere inside: NaN and infinity.

    Raises:
        ValueError: a number is not finite.
    """
    json.dumps(value, allow_nan=False, default=str)  # a walk in Python takes ten times as long
    return value


JsonObject = Annotated[dict[str, Any], AfterValidator(json_values)]
"""A JSON object of any form."""

Rounded = Annotated[float, AfterValidator(rounded)]
"""A finite float with six decimals."""

Ratio = Annotated[float, Field(ge=0.0), AfterValidator(rounded)]
"""A share of a whole (1.0 = all of it); usage may exceed 1.0."""

Seconds = Annotated[float, AfterValidator(rounded)]
"""Seconds; a duration or, in fields named `*_time_seconds`, seconds since the Unix epoch (UTC)."""

Count = Annotated[int, Field(ge=0)]
"""How many; never negative."""

Cycle = Annotated[int, Field(ge=0)]
"""Number of one pass from observation to outcome; 0 stands for events outside any cycle."""
