"""Numbers as people read them, as events' own lines write them: `schemas.figures`."""

from __future__ import annotations

from schemas.figures import (
    UNKNOWN,
    age,
    cell,
    duration,
    known_number,
    number,
    number_beside,
    percent,
    score,
    signed_score,
    signed_text,
    size,
)

__all__ = [
    "UNKNOWN",
    "age",
    "cell",
    "duration",
    "known_number",
    "number",
    "number_beside",
    "percent",
    "score",
    "signed_score",
    "signed_text",
    "size",
]
