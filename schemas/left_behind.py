"""Layer 6: what an earlier stack of ours left on the cluster when it could take nothing back, as its marks show."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from schemas.actions import Action
from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Seconds
from schemas.outcome import Operation
from schemas.wording import count_text

FIRST_PART = 100
"""What is found is numbered from here on, beside the parts of the cycle's own decision (16 at most)."""
NAMED = 5
"""Things that the line for people names."""


class LeftBehindAnswer(StrEnum):
    """What is done with what an earlier stack left."""

    GIVE_BACK = "give_back"
    """It is taken back at once."""
    TAKE_OVER = "take_over"
    """It stands as if this stack had done it: `foresail undo`, its time or the end of the run takes it back."""
    LEAVE = "leave"
    """It is said, and nothing else."""


class LeftBehind(DataModel):
    """One object that still bears something of ours."""

    part: Count
    """Its number beside the cycle: `foresail undo 17.100`."""
    action: Action
    """The kind of action that leaves such a mark, on what it was aimed at as far as that shows."""
    direction: str
    """As in an execution."""
    means: str = ""
    """As in an execution."""
    operations: tuple[Operation, ...]
    """What it shows, as a write would have made it; the undo is what was before, as the marks say."""
    decision_id: str = ""
    """Which decision it was, where the mark says so."""
    text: str
    """What it is, for people."""


class OutcomeLeftBehind(EventData):
    """What was found when an executor began to act, or to watch, and what becomes of it."""

    TYPE: ClassVar[str] = "foresail.outcome.left_behind.v1"
    PRODUCER: ClassVar[str] = "executor"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "left_behind")

    cycle: Cycle
    """Newest observation when it was looked for."""
    cluster_time_seconds: Seconds
    answer: LeftBehindAnswer
    found: tuple[LeftBehind, ...] = ()
    """What may be written here, so that it can be taken back."""
    out_of_reach: tuple[str, ...] = ()
    """The rest, in words: namespaces and nodes that may not be written, and what nobody can tell from what it was."""
    more: Count = 0
    """Further ones that are looked for again once these are done."""

    @property
    def text(self) -> str:
        """One line for people."""
        parts = []
        if self.found:
            count = count_text(len(self.found) + self.more, "thing")
            names = "; ".join(one.text for one in self.found[:NAMED])
            left = len(self.found) + self.more - NAMED
            names = f"{names}; {left} more" if left > 0 else names
            parts.append(f"an earlier stack left {count} ({names}): {_ANSWERS[self.answer]}")
        if self.out_of_reach:
            names = "; ".join(self.out_of_reach[:NAMED])
            left = len(self.out_of_reach) - NAMED
            names = f"{names}; {left} more" if left > 0 else names
            parts.append(f"left by an earlier stack and out of reach here: {names}")
        return "; ".join(parts) or "no earlier stack left anything"

    def key(self) -> str:
        """Return what is done: a stack that becomes active looks again."""
        return str(self.answer)


_ANSWERS = {
    LeftBehindAnswer.GIVE_BACK: "it is taken back",
    LeftBehindAnswer.TAKE_OVER: "it stands as this stack's own, `foresail undo --list` names it",
    LeftBehindAnswer.LEAVE: "it is left as it is (`foresail up --mode active` takes it back)",
}
