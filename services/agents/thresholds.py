"""The base of an agent's thresholds: numbers as data, and which of them must be in order."""

from __future__ import annotations

from typing import ClassVar

from schemas.model import DataModel


class Thresholds(DataModel):
    """Common base of all thresholds: which of them must be in order."""

    DESCENDING: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Chains of fields, each strictly greater than the next.

    Otherwise a rule could never be reached.
    """
    ASCENDING: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Chains of fields, each strictly smaller than the next."""
