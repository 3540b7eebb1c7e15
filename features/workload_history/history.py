"""All chunks of a history: values come in by step, arrays of one series come out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from features.workload_history.grid import (
    CHUNK_STEPS,
    KEPT_CHUNKS,
    KEPT_STEPS,
    MISSING,
    MOST_SERIES,
    OBSERVED,
    STEP_SECONDS,
    Chunk,
    Marks,
    Values,
    empty_chunk,
    to_kept_precision,
)


class SeriesPast(NamedTuple):
    """The kept steps of one series or of several, oldest first."""

    times: NDArray[np.int64]
    """(steps,) begin of each step, seconds since the epoch of cluster time."""
    values: NDArray[np.float64]
    """(steps,) or (series, steps), NaN where unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadHistory:
    """Known facts about each series, up to the newest step that is over."""

    ids: tuple[str, ...] = ()
    """Series in the order in which they came, which says nothing; their kind is the part before the first `/`."""
    chunks: tuple[Chunk, ...] = ()
    """By number; at most `KEPT_CHUNKS`, without those of which nothing was ever known."""
    next_step: int = 0
    """The first step that is not over; 0 before any was."""
    left_out: int = 0
    """Series that found no room at once, the most so far."""

    def past(self, series: str, steps: int = KEPT_STEPS) -> SeriesPast:
        """Return the newest steps of one series; all unknown where nobody has told of it."""
        times, values = self.pasts((series,), steps)
        return SeriesPast(times, values[0])

    def pasts(self, series: Sequence[str], steps: int = KEPT_STEPS) -> SeriesPast:
        """Return the newest `steps` steps of some series, one row each, in their order."""
        rows = row_numbers(self.ids)
        places = np.array([rows.get(name, -1) for name in series], dtype=np.int64)
        first = self.next_step - steps
        values = np.full((len(series), steps), np.nan)
        for chunk in self.chunks:
            begin = max(first, chunk.first_step)
            end = min(self.next_step, chunk.first_step + CHUNK_STEPS)
            known = np.flatnonzero((places >= 0) & (places < len(chunk.values)))
            if begin < end and known.size:
                part = chunk.values[
                    places[known], begin - chunk.first_step : end - chunk.first_step
                ]
                values[known, begin - first : end - first] = part
        return SeriesPast((first + np.arange(steps, dtype=np.int64)) * STEP_SECONDS, values)

    def chunk(self, number: int) -> Chunk | None:
        """Return a chunk; None where nothing of those hours is known."""
        return next((chunk for chunk in self.chunks if chunk.number == number), None)


@lru_cache(maxsize=4)  # asked again and again for the newest
def row_numbers(ids: tuple[str, ...]) -> dict[str, int]:
    """Return the row of each series."""
    return {name: row for row, name in enumerate(ids)}


def push_step(history: WorkloadHistory, step: int, means: Mapping[str, float]) -> WorkloadHistory:
    """Return the history after a step that was observed to its end; it replaces what was filled in for it."""
    names = tuple(means)
    values = np.array([[means[name]] for name in names], dtype=np.float64).reshape(-1, 1)
    history = merge(history, names, step, values, OBSERVED)
    return advance(history, max(history.next_step, step + 1))


def advance(history: WorkloadHistory, next_step: int) -> WorkloadHistory:
    """Return the history once all steps before `next_step` are over; what is too old then is forgotten."""
    if next_step <= history.next_step:
        return history
    oldest = _oldest_chunk(next_step)
    kept = tuple(chunk for chunk in history.chunks if chunk.number >= oldest)
    after = replace(history, chunks=kept, next_step=next_step)
    return after if len(kept) == len(history.chunks) else _without_forgotten_series(after)


def merge(
    history: WorkloadHistory,
    names: Sequence[str],
    first_step: int,
    values: NDArray[np.float64],
    source: int | Marks,
) -> WorkloadHistory:
    """Return the history with what somebody says of some series; what was observed is never replaced by a filling.

    Args:
        history: what is known; steps too old for it are passed over.
        names: series, each once.
        first_step: the step of the first column.
        values: (series, steps), NaN where nothing is said.
        source: where all values came from, or each of them.
    """
    kept = to_kept_precision(values)
    marks = np.broadcast_to(np.asarray(source, dtype=np.uint8), kept.shape)
    says: list[bool] = np.asarray((~np.isnan(kept)).any(axis=1)).tolist()
    known = row_numbers(history.ids)
    new = [name for name, some in zip(names, says, strict=True) if some and name not in known]
    room = MOST_SERIES - len(history.ids)
    ids = (*history.ids, *new[:room])
    rows = row_numbers(ids)
    told = [row for row, name in enumerate(names) if says[row] and name in rows]
    places = np.array([rows[names[row]] for row in told], dtype=np.int64)
    chunks = {chunk.number: chunk for chunk in history.chunks}
    for number, part in _parts(first_step, kept.shape[1], _oldest_chunk(history.next_step)):
        if told and not np.isnan(kept[told, part]).all():
            chunk = (chunks.get(number) or empty_chunk(number, 0)).with_rows(len(ids))
            column = first_step + part.start - chunk.first_step
            _write(chunk, places, column, kept[told, part], marks[told, part])
            chunks[number] = chunk
    return replace(
        history,
        ids=ids,
        chunks=tuple(chunks[number] for number in sorted(chunks)),
        left_out=max(history.left_out, len(new) - room),
    )


def _parts(first_step: int, steps: int, oldest_chunk: int) -> Iterator[tuple[int, slice]]:
    """Yield by chunk which columns of `steps` steps belong to it."""
    last_step = first_step + steps
    for number in range(first_step // CHUNK_STEPS, -(-last_step // CHUNK_STEPS)):
        if number >= oldest_chunk:
            begin = max(first_step, number * CHUNK_STEPS)
            end = min(last_step, (number + 1) * CHUNK_STEPS)
            yield number, slice(begin - first_step, end - first_step)


def _write(
    chunk: Chunk, places: NDArray[np.int64], column: int, values: Values, marks: Marks
) -> None:
    """Write values into a chunk whose arrays nobody else holds."""
    columns = slice(column, column + values.shape[1])
    before, sources = chunk.values[places, columns], chunk.sources[places, columns]
    takes = ~np.isnan(values) & ((marks == OBSERVED) | (sources != OBSERVED))
    chunk.values[places, columns] = np.where(takes, values, before)
    chunk.sources[places, columns] = np.where(takes, marks, sources)


def _oldest_chunk(next_step: int) -> int:
    """Return the number of the oldest chunk that is kept: with the newest there are `KEPT_CHUNKS` whole ones."""
    return next_step // CHUNK_STEPS - KEPT_CHUNKS


def _without_forgotten_series(history: WorkloadHistory) -> WorkloadHistory:
    """Return the history without series of which nothing is left."""
    known = np.zeros(len(history.ids), dtype=bool)
    for chunk in history.chunks:
        known[: len(chunk.sources)] |= (chunk.sources != MISSING).any(axis=1)
    if known.all():
        return history
    rows = np.flatnonzero(known)
    return replace(
        history,
        ids=tuple(history.ids[row] for row in rows.tolist()),
        chunks=tuple(_rows_of(history.chunks, rows)),
    )


def _rows_of(chunks: Iterable[Chunk], rows: NDArray[np.int64]) -> Iterable[Chunk]:
    for chunk in chunks:
        held = rows[rows < len(chunk.values)]
        yield Chunk(chunk.number, chunk.values[held], chunk.sources[held])
