"""Horizons as people give them: `15m`, several of them, or `all`."""

from __future__ import annotations

import argparse

from bus.errors import InputError
from foresail.flags import seconds

SECONDS_PER_MINUTE = 60


def horizons_of(texts: list[str] | None, own: int) -> tuple[int, ...]:
    """Return minutes, the main horizon first.

    Raises:
        InputError: a duration is not a whole number of minutes.
    """
    if not texts:
        return (own,)
    if "all" in texts:
        return (own, *(horizon for horizon in (5, 15, 30, 45, 60) if horizon != own))
    minutes = []
    for text in texts:
        try:
            duration = seconds(text)
        except (argparse.ArgumentTypeError, ValueError) as error:
            raise InputError("--horizon", text, "give a duration such as 15m, or all") from error
        if duration <= 0 or duration % SECONDS_PER_MINUTE:
            raise InputError("--horizon", text, "give whole minutes, such as 15m")
        minutes.append(int(duration // SECONDS_PER_MINUTE))
    return tuple(dict.fromkeys(minutes))
