"""A load held through all layers: every pushed cycle is decided, once.

The load itself is `benchmarks.held_load`, run as a process of its own, as a user runs it; here its
figures become rows. A row holds when nothing was lost or doubled; how fast that was, and whether
memory grew, stands in the detail beside its target.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proofs.row import Row, Scale

PART = "load"
REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 300.0
"""What the benchmark may take beyond the time it holds the load."""
OVERLOAD_SECONDS = 5.0
HELD, ABOVE = 0, 1
"""Where the benchmark puts its two phases among its rows."""


def prove(scale: Scale) -> Iterator[Row]:
    """Hold a load for `scale.seconds`, then push as fast as the log acknowledges."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.held_load", "--json", "--seed", str(scale.seed)),
            *("--seconds", f"{scale.seconds:g}", "--overload-seconds", f"{OVERLOAD_SECONDS:g}"),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=scale.seconds + OVERLOAD_SECONDS + START_SECONDS,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        yield Row(PART, f"held load, {scale.seconds:g} s", 1, 0, last[:300])
        return
    # What the benchmark's own bus logs stands before its one line of JSON.
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    yield from rows_of(figures["rows"], scale.seconds)


def rows_of(measured: Sequence[Mapping[str, Any]], seconds: float) -> Iterator[Row]:
    """Turn the benchmark's first two rows (held, above) into rows of the table.

    Args:
        measured: rows with cycles/s, events/s, undecided, doubled, superseded and RSS growth.
        seconds: how long the load was held.
    """
    for phase, length in ((HELD, seconds), (ABOVE, OVERLOAD_SECONDS)):
        one = measured[phase]
        tried = round(one["cycles/s"] * length)
        held = max(0, tried - one["undecided"] - one["doubled"])
        detail = (
            f"{one['events/s']} events/s (target 2000), {one['superseded']:.1%} superseded, "
            f"{one['undecided']} undecided, {one['doubled']} doubled, "
            f"memory grew to {one['RSS growth']:.3f} (target below 1.05)"
        )
        yield Row(PART, f"cycles decided once: {one['what']}, {length:g} s", tried, held, detail)
