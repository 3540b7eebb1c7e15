"""A load held through all layers at 80 % of what they can carry: every pushed cycle is decided, once.

The load itself is `benchmarks.held_load`, run as a process of its own, as a user runs it; here its
figures become rows. A first run measures the capacity, a second one holds 80 % of it. A row holds
when nothing was lost or doubled and the pace was kept; the row's detail gives speed and memory
growth beside their targets.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proofs.row import ProofRow, ProofSize

PART = "load"
REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 300.0
"""What the benchmark may take beyond the time it holds the load."""
CAPACITY_SECONDS = 60.0
"""How long the capacity is measured, at most."""
SHARE = 0.8
"""Part of the capacity that is held."""
KEPT = 0.95
"""Least part of the asked pace that counts as kept."""
OVERLOAD_SECONDS = 5.0
HELD, ABOVE = 0, 1
"""Where the benchmark puts its two phases among its rows."""

Figures = Sequence[Mapping[str, Any]]


class NotMeasured(Exception):
    """The benchmark failed; the text is its last line of output."""


def prove(scale: ProofSize) -> Iterator[ProofRow]:
    """Measure the capacity, hold 80 % of it for `scale.seconds`, then push as fast as possible."""
    try:
        short = min(CAPACITY_SECONDS, scale.seconds)
        capacity = _measure(scale.seed, short)[HELD]["cycles/s"]
        measured = _measure(scale.seed, scale.seconds, rate=SHARE * capacity)
    except NotMeasured as error:
        yield ProofRow(PART, f"held load, {scale.seconds:g} s", 1, 0, str(error)[:300])
        return
    yield from rows_of(measured, scale.seconds, capacity)


def _measure(seed: int, seconds: float, rate: float | None = None) -> Figures:
    """Run the benchmark and return its rows.

    Raises:
        NotMeasured: it ended with an error.
    """
    pace = () if rate is None else ("--rate", f"{rate:.3f}")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.held_load", "--json", "--seed", str(seed)),
            *("--seconds", f"{seconds:g}", "--overload-seconds", f"{OVERLOAD_SECONDS:g}", *pace),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + OVERLOAD_SECONDS + START_SECONDS,
    )
    if done.returncode != 0:
        raise NotMeasured((done.stderr.strip().splitlines() or ["it gave no reason"])[-1])
    # The benchmark's own bus logs come before its one line of JSON.
    rows: Figures = json.loads(done.stdout.strip().splitlines()[-1])["rows"]
    return rows


def rows_of(measured: Figures, seconds: float, capacity: float) -> Iterator[ProofRow]:
    """Turn the benchmark's first two rows (held, above) into rows of the table.

    Args:
        measured: rows with cycles/s, events/s, undecided, doubled, superseded and RSS growth.
        seconds: how long the load was held.
        capacity: cycles a second that were carried without a limit.
    """
    pace = measured[HELD]["cycles/s"]
    yield ProofRow(
        PART,
        f"pace of {SHARE:.0%} of the measured capacity kept",
        1,
        int(pace >= KEPT * SHARE * capacity),
        f"{pace} of {capacity} cycles/s for {seconds:g} s",
    )
    for phase, length in ((HELD, seconds), (ABOVE, OVERLOAD_SECONDS)):
        row = measured[phase]
        tried = round(row["cycles/s"] * length)
        held = max(0, tried - row["undecided"] - row["doubled"])
        detail = (
            f"{row['events/s']} events/s (target 2000), {row['superseded']:.1%} superseded, "
            f"{row['undecided']} undecided, {row['doubled']} doubled, "
            f"memory grew to {row['RSS growth']:.3f} (target below 1.05)"
        )
        yield ProofRow(
            PART, f"cycles decided once: {row['what']}, {length:g} s", tried, held, detail
        )
