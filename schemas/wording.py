"""Words about numbers, for every text that people read and that is not stored in an event."""

from __future__ import annotations


def count_text(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun, such as `1 pod` or `2,000 pods`.

    Args:
        count: how many.
        one: what follows 1; may hold a verb, such as `message is lost`.
        many: what follows any other number; `one` with an `s` when it is not given.
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
