"""The answer to a question about one object, as data: one sentence, the facts behind it, and what
happened to it in order.
"""

from __future__ import annotations

from schemas.model import DataModel


class Entry(DataModel):
    """One thing that happened, or was done."""

    time_seconds: float
    """Cluster time."""
    who: str
    """`snapshot`, `kubernetes`, `foresail`."""
    text: str
    seq: int
    """Position of the event in the log."""
    cycle: int


class ObjectAnswer(DataModel):
    """A log's statements about one object."""

    kind: str
    name: str
    question: str
    answer: str
    facts: tuple[str, ...]
    entries: tuple[Entry, ...]
    """In order of time."""
    decisions: tuple[int, ...]
    """Cycles whose decisions acted on it; `foresail explain CYCLE` explains each."""
    last_seconds: float
    """The newest cluster time in the log."""
    unreadable: int
    """Messages that this version cannot read and that are not in here."""
