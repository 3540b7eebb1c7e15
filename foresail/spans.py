"""Parts of a log as people name them: `40..60`, `40..`, `..60`, `40`, `90s..5m`, times of day in UTC."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

from bus.errors import InputError
from bus.nats_wire import nanoseconds
from foresail.flags import seconds

NANOSECONDS = 1_000_000_000
_NUMBER = re.compile("[0-9]{1,18}")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")
Ends = tuple[int | None, int | None]


def numbers(field: str, text: str) -> Ends:
    """Read two numbers, either or both of which may be left out; one number alone means itself.

    Raises:
        InputError: it is neither.
    """
    remedy = "write it as 40..60, 40.., ..60, .. or 40"

    def number(part: str) -> int:
        if not _NUMBER.fullmatch(part):
            raise InputError(field, text, remedy)
        return int(part)

    return _ends(field, text, number)


def times(field: str, text: str, beginning_ns: int) -> Ends:
    """Read two moments as nanoseconds since the Unix epoch; durations count from `beginning_ns`.

    Raises:
        InputError: it is neither.
    """
    return _ends(field, text, lambda part: moment(field, part, beginning_ns))


def moment(field: str, text: str, beginning_ns: int) -> int:
    """Read one moment as nanoseconds since the Unix epoch.

    Raises:
        InputError: it is none.
    """
    try:
        if _MOMENT.fullmatch(text):
            return nanoseconds(text)
        return beginning_ns + round(seconds(text) * NANOSECONDS)
    except (ValueError, argparse.ArgumentTypeError) as error:
        remedy = "write a duration such as 90s or 5m, or a moment such as 2026-01-01T10:00:00Z"
        raise InputError(field, text, remedy) from error


def _ends(field: str, text: str, read: Callable[[str], int]) -> Ends:
    first, dots, last = text.partition("..")
    if not dots:
        first_span = read(first)
        return first_span, first_span
    ends = (read(first) if first else None, read(last) if last else None)
    if None not in ends and ends[0] > ends[1]:  # type: ignore[operator]
        raise InputError(field, text, "give the earlier end first")
    return ends
