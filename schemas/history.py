"""History of workloads: what is filled in at a start, and what is kept of it in the log.

Models that know the shape of a day need one. The collector fills in what others have measured
(`HistoryFilled`); inference folds it with what it observes and writes the whole now and then, piece by piece,
so that it outlives the log's retention and a restart (`HistoryBlock`).
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from schemas.figures import duration
from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Seconds

MOST_VALUES_FILLED: Final = 60_000
"""Values of one `HistoryFilled`: about half of a message's limit."""
MOST_SERIES_FILLED: Final = 1_000


class FilledSeries(DataModel):
    """Values of one series, a step each."""

    id: str
    """`service/<namespace>/<name>` in requests a second, `cpu/<namespace>/<kind>/<name>` in cores,
    `memory/<namespace>/<kind>/<name>` in bytes, or `nodes/...` in cores requested.
    """
    values: tuple[float | None, ...]
    """Oldest first; None where nobody measured."""


class HistoryFilled(EventData):
    """Knowledge about some series from before the log began, from elsewhere."""

    TYPE: ClassVar[str] = "foresail.history.filled.v1"
    WRITER: ClassVar[str] = "collector"
    PATTERN: ClassVar[tuple[str, ...]] = ("history", "filled")

    cycle: Cycle
    """The newest cycle then; 0 before the first."""
    cluster_time_seconds: Seconds
    """When it was filled in; values of later steps do not count."""
    source: Literal["prometheus", "table", "recording"]
    """Who had measured it."""
    part: Count
    """Number of this piece of the filling."""
    start_time_seconds: Seconds
    """Begin of the first step, seconds since the Unix epoch."""
    step_seconds: Seconds
    """Length of a step; the only one today is 300."""
    series: tuple[FilledSeries, ...] = Field(max_length=MOST_SERIES_FILLED)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        lengths = {len(one.values) for one in self.series}
        if len(lengths) > 1:
            raise ValueError("series of one piece have the same number of steps")
        if sum(len(one.values) for one in self.series) > MOST_VALUES_FILLED:
            raise ValueError(f"a piece has at most {MOST_VALUES_FILLED} values")
        return self

    def key(self) -> str:
        """Return the source, the first step and the number of the piece."""
        return f"{self.source}/{self.start_time_seconds:.0f}/{self.part}"

    def line(self) -> str:
        """Return how much was filled in from where."""
        steps = max((len(one.values) for one in self.series), default=0)
        span = duration(steps * self.step_seconds)
        return f"{span} of {len(self.series)} series filled in from {self.source}"


class HistoryBlock(EventData):
    """Four hours of every series as inference keeps them, to be read again after a restart."""

    TYPE: ClassVar[str] = "foresail.history.block.v1"
    WRITER: ClassVar[str] = "inference"
    PATTERN: ClassVar[tuple[str, ...]] = ("history", "block")

    cycle: Cycle
    cluster_time_seconds: Seconds
    block: Count
    """Number of the four hours since the Unix epoch."""
    known_until_seconds: Seconds
    """End of the newest step that it holds."""
    ids: tuple[str, ...]
    """Series, sorted."""
    packed_values: str
    """float32 by series and step of five minutes, NaN where unknown: little-endian, the bytes of equal places
    together, compressed by zlib, in base64.
    """
    packed_sources: str
    """A byte each, in the same form: 1 observed, 2 Prometheus, 3 a table, 4 a recording; 0 where unknown."""

    def key(self) -> str:
        """Return the number of the block, and up to when it knows."""
        return f"{self.block}/{self.known_until_seconds:.0f}"

    def line(self) -> str:
        """Return which block it is and of how many series."""
        return f"block {self.block} of {len(self.ids)} series"
