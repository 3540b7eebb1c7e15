"""Positions of the log, and other numbers, in an address."""

from __future__ import annotations

from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request

NUMBER_DIGITS = 18
"""Digits of a position, cycle or time in an address; more fit no counter of the log."""
Newest = Callable[[], int]
"""Returns the newest position that the page shows."""


def number_of(text: str) -> int:
    """Return a position, cycle or time from an address; raises 404 for what is none."""
    if not (text.isascii() and text.isdecimal() and len(text) <= NUMBER_DIGITS):
        raise HTTPException(404, "no such number")
    return int(text)


def number_in(request: Request, name: str) -> int | None:
    """Return a number from a query; None where it is not given. Raises 404 for what is none."""
    text = request.query_params.get(name)
    return number_of(text) if text else None
