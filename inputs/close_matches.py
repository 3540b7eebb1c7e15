"""Suggestions for a name that does not exist: "did you mean X?", or the known names."""

from __future__ import annotations

import difflib
from collections.abc import Collection

MOST_LISTED = 12
"""Names that are listed when none is near."""
LEAST_LIKE = 0.6
"""Similarity from which a name counts as near: one typing error in a name of four letters."""
TIE = 0.1
"""Names nearly as near as the nearest are named beside it."""


def remedy_for(word: str, known: Collection[str]) -> str:
    """Return the remedy of an error about `word`: the near names, or else the first known ones."""
    by_lower_case = {name.lower(): name for name in sorted(known)}
    near = difflib.get_close_matches(word.lower(), by_lower_case, n=3, cutoff=LEAST_LIKE)
    if near:
        likeness = [difflib.SequenceMatcher(None, word.lower(), name).ratio() for name in near]
        best = [
            name for name, like in zip(near, likeness, strict=True) if max(likeness) - like < TIE
        ]
        return f"did you mean {', '.join(by_lower_case[name] for name in best)}?"
    listed = sorted(known)[:MOST_LISTED]
    more = len(known) - len(listed)
    tail = f" and {more} more" if more else ""
    return f"known: {', '.join(listed)}{tail}" if listed else "there is none"
