"""Layer 6: mismatches, where two things that belong together do not fit: warnings for people, not for agents."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final, Literal

from pydantic import Field

from schemas.model import DataModel, EventData, Retention
from schemas.numbers import Count, Cycle, Rounded, Seconds


class MismatchKind(StrEnum):
    """What does not fit."""

    STAGE_WITHOUT_SAMPLES = "stage_without_samples"
    """A stage says that it is complete, and nothing of what it reads or makes is in the log."""
    STIMULUS_WITHOUT_EFFECT = "stimulus_without_effect"
    """The exerciser's load is on, and the number that it is to move (queue, requested CPU) is flat."""
    RAW_AND_INTERPRETED = "raw_and_interpreted"
    """The snapshot shows one cluster, observation or prediction another one."""
    REWARD_WITHOUT_DECISION = "reward_without_decision"
    """The reward moves from cycle to cycle, the decision stays the same."""
    REPEAT_WITHOUT_EFFECT = "repeat_without_effect"
    """One decision is made again and again, and nothing of it was seen to take effect."""


class Mismatch(DataModel):
    """One mismatch that stands now; of each kind at most one does."""

    kind: MismatchKind
    about: str
    """The stage, phase, signal or action that it is about."""
    since_cycle: Cycle
    since_seconds: Seconds
    """Cluster time at which it began."""
    measured: Rounded | None = None
    limit: Rounded | None = None
    """The value that `measured` would have reached, or not passed, if all fitted."""
    unit: str = ""
    """Of `measured` and `limit`, such as `pods` or `cycles`."""
    text: str
    """One sentence with the numbers."""
    remedy: str
    """Where to look, or what to do."""


MOST_STANDING: Final = len(MismatchKind)


class OutcomeMismatch(EventData):
    """A mismatch has begun or has ended."""

    TYPE: ClassVar[str] = "foresail.outcome.mismatch.v1"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "mismatch")
    RETENTION: ClassVar[Retention] = Retention.STANDING

    cycle: Cycle
    """The newest cycle when it was noticed."""
    cluster_time_seconds: Seconds
    number: Count
    """Running number of these events in this run."""
    kind: MismatchKind
    state: Literal["begun", "ended"]
    text: str
    standing: tuple[Mismatch, ...] = Field(default=(), max_length=MOST_STANDING)
    """Every mismatch that stands now, by kind."""

    def key(self) -> str:
        """Return the running number."""
        return str(self.number)

    def line(self) -> str:
        """Return what began or ended."""
        return f"cycle {self.cycle}: {self.text}"


def mismatch_text(mismatch: Mismatch) -> str:
    """Return a mismatch as a warning, with where to look."""
    return f"{mismatch.text}: {mismatch.remedy}"
