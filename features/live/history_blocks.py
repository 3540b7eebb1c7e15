"""Chunks of a history as events, and when one is written.

The log forgets by age and size, and a checkpoint has no room for fourteen days. So each chunk is an event of its
own, written when it has grown by an hour, and again before the log would forget it. After a restart the events in
the log and what the checkpoint adds to them are the whole.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from features.live.compressed_text import inflate
from features.workload_history.grid import (
    CHUNK_STEPS,
    MISSING,
    SOURCES,
    STEP_SECONDS,
    Chunk,
)
from features.workload_history.history import WorkloadHistory, advance, merge
from schemas.history import HistoryBlock

HOUR_STEPS = 12
"""The newest chunk is written when so many of its steps are in no block."""
BYTES_A_CYCLE = 8_000
"""Most bytes per cycle that are spent on blocks: large ones are written less often."""
REWRITE_CYCLES = 2_400
"""Cycles after which a block is written again: 3.3 hours at 5 s, while a log keeps a day."""
_VALUE_BYTES = 3
"""About what a value takes in a block's text."""


class Written(NamedTuple):
    """The newest block of a chunk."""

    until_step: int
    """It knows what was known before this step."""
    cycle: int
    """When it was written."""


def due_chunk(history: WorkloadHistory, written: Mapping[int, Written], cycle: int) -> Chunk | None:
    """Return the chunk that is to be written in a cycle; None for none.

    Args:
        history: what is known.
        written: the newest block of each chunk that has one.
        cycle: the newest cycle.
    """
    spacing = 1 + len(history.ids) * CHUNK_STEPS * _VALUE_BYTES // BYTES_A_CYCLE
    if any(cycle - block.cycle < spacing for block in written.values()):
        return None
    due: list[tuple[bool, int, int]] = []
    for chunk in history.chunks:
        block = written.get(chunk.number, Written(chunk.first_step, cycle - REWRITE_CYCLES))
        until = chunk_end(history, chunk)
        is_over = until == chunk.first_step + CHUNK_STEPS
        grows = until - block.until_step >= (1 if is_over else HOUR_STEPS)
        if grows or cycle - block.cycle >= REWRITE_CYCLES:
            due.append((not grows, block.cycle, -chunk.number))
    return history.chunk(-min(due)[2]) if due else None


def chunk_end(history: WorkloadHistory, chunk: Chunk) -> int:
    """Return the first step that is not in a chunk yet, or not over."""
    return min(chunk.first_step + CHUNK_STEPS, history.next_step)


def block_of(
    history: WorkloadHistory, chunk: Chunk, cycle: int, time_seconds: float
) -> HistoryBlock:
    """Return a chunk as an event, without series of which it knows nothing."""
    known = np.flatnonzero((chunk.sources != MISSING).any(axis=1)).tolist()
    rows = sorted(known, key=lambda row: history.ids[row])
    return HistoryBlock(
        cycle=cycle,
        cluster_time_seconds=time_seconds,
        block=chunk.number,
        known_until_seconds=chunk_end(history, chunk) * STEP_SECONDS,
        ids=tuple(history.ids[row] for row in rows),
        packed_values=text_of(chunk.values[rows].astype("<f4")),
        packed_sources=text_of(chunk.sources[rows]),
    )


def merge_block(history: WorkloadHistory, block: HistoryBlock) -> WorkloadHistory:
    """Return the history with a block that was read from the log; one that it was made of changes nothing.

    Raises:
        ValueError: it does not hold what it says.
    """
    shape = (len(block.ids), CHUNK_STEPS)
    values = array_of(block.packed_values, "<f4", shape).astype(np.float64)
    sources = array_of(block.packed_sources, "u1", shape)
    if sources.size and int(sources.max()) >= len(SOURCES):
        raise ValueError("a block has values of an unknown source")
    if len(set(block.ids)) < len(block.ids):
        raise ValueError("a block names a series twice")
    history = advance(history, round(block.known_until_seconds / STEP_SECONDS))
    values = np.where(sources == MISSING, math.nan, values)
    return merge(history, block.ids, block.block * CHUNK_STEPS, values, sources)


def text_of(array: NDArray[Any]) -> str:
    """Return an array's bytes as compressed text, those of equal places of all numbers together."""
    octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    planes = octets.reshape(-1, array.dtype.itemsize).T
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).tobytes(), 6)).decode()


def array_of(text: str, form: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array that `text_of` made a text of.

    Raises:
        ValueError: it is no such text, or of another shape.
    """
    kind = np.dtype(form)
    raw = np.frombuffer(inflate(text), dtype=np.uint8)
    planes = np.ascontiguousarray(raw.reshape(kind.itemsize, -1).T)
    return planes.reshape(-1).view(kind).reshape(shape)
