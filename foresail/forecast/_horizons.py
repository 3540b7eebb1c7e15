"""Horizons as people give them: `15m`, several of them, or `all`."""

from __future__ import annotations

import argparse

from bus.errors import InputError
from foresail.flags import seconds

SECONDS_PER_MINUTE = 60


def horizons_of(given: list[str] | None, own: int) -> tuple[int, ...]:
    """Return minutes, the main horizon first.

    Raises:
        InputError: a duration is not a whole number of minutes.
    """
    if not given:
        return (own,)
    if "all" in given:
        return (own, *(one for one in (5, 15, 30, 45, 60) if one != own))
    found = []
    for text in given:
        try:
            duration = seconds(text)
        except (argparse.ArgumentTypeError, ValueError) as error:
            raise InputError("--horizon", text, "give a duration such as 15m, or all") from error
        if duration <= 0 or duration % SECONDS_PER_MINUTE:
            raise InputError("--horizon", text, "give whole minutes, such as 15m")
        found.append(int(duration // SECONDS_PER_MINUTE))
    return tuple(dict.fromkeys(found))
