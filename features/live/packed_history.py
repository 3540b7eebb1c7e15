"""A followed history as text, for a checkpoint: what was observed since the newest block of each chunk.

The rest is in the log as `HistoryFilled` and `HistoryBlock`, which are read again at a start.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from typing import Any

import numpy as np

from features.live.compressed_text import inflate
from features.live.followed_history import FollowedHistory
from features.live.history_blocks import Written, array_of, text_of
from features.workload_history.grid import CHUNK_STEPS, MISSING, OBSERVED, Chunk
from features.workload_history.history import WorkloadHistory, merge
from features.workload_history.sums import OpenSteps

VERSION = 1


def encode_followed(followed: FollowedHistory | None) -> str | None:
    """Return as text what no block in the log holds; None for none."""
    if followed is None:
        return None
    history, steps = followed.history, followed.steps
    content = {
        "version": VERSION,
        "next_step": history.next_step,
        "left_out": history.left_out,
        "totals": {str(step): totals for step, totals in steps.totals.items()},
        "rates": sorted(steps.rates),
        "requests": dict(followed.requests),
        "seen_seconds": followed.seen_seconds,
        "written": {str(number): block for number, block in followed.written.items()},
        "unwritten": [
            part
            for chunk in history.chunks
            if (part := _unwritten(history, chunk, followed.written.get(chunk.number))) is not None
        ],
    }
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def decode_followed(text: str | None) -> FollowedHistory | None:
    """Return what `encode_followed` made a text of.

    Raises:
        ValueError: it is no such text, or of another version.
    """
    if text is None:
        return None
    try:
        content = json.loads(inflate(text))
        if content["version"] != VERSION:
            raise ValueError("a history of another version")
        history = WorkloadHistory(next_step=content["next_step"], left_out=content["left_out"])
        for first_step, ids, values, sources in content["unwritten"]:
            shape = (len(ids), CHUNK_STEPS)
            marks = array_of(sources, "u1", shape)
            known = array_of(values, "<f4", shape).astype(np.float64)
            history = merge(
                history, ids, first_step, np.where(marks == MISSING, math.nan, known), marks
            )
        totals = {
            int(step): {name: (total, weight) for name, (total, weight) in one.items()}
            for step, one in content["totals"].items()
        }
        written = {int(number): Written(*block) for number, block in content["written"].items()}
        return FollowedHistory(
            history=history,
            steps=OpenSteps(totals, frozenset(content["rates"])),
            requests=content["requests"],
            seen_seconds=content["seen_seconds"],
            written=written,
        )
    except (LookupError, TypeError, ArithmeticError, RecursionError, AttributeError) as error:
        raise ValueError(f"no history: {error}") from error


def _unwritten(history: WorkloadHistory, chunk: Chunk, block: Written | None) -> list[Any] | None:
    """Return first step, series, values and sources of what was observed after a chunk's newest block."""
    first = 0 if block is None else max(0, block.until_step - chunk.first_step)
    steps = np.arange(CHUNK_STEPS) >= first
    new = (chunk.sources == OBSERVED) & steps
    rows = np.flatnonzero(new.any(axis=1))
    if not rows.size:
        return None
    values = np.where(new, chunk.values, np.float32(math.nan))[rows].astype("<f4")
    sources = np.where(new, chunk.sources, np.uint8(MISSING))[rows]
    ids = [history.ids[row] for row in rows.tolist()]
    return [chunk.first_step, ids, text_of(values), text_of(sources)]
