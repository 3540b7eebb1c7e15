"""Rare looks for garbage in cycles: a re-run makes many short-lived objects and next to no cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARE = (200_000, 50, 100)
"""Allocations between two looks, and how many looks between two deeper ones."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage less often, and never at what was there before."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*RARE)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
