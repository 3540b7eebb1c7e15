"""A long recording of a live stack, two services killed meanwhile, verified in every environment.

The stack runs as a user runs it: separate processes over a real nats-server, recorded as it goes.
Then `foresail verify` computes the recording again, twice in each environment (hash seed, time zone,
locale) and on each interpreter, and every report must be the same and say that nothing differs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from proofs.hour_recording.live import Kill, Run, record
from proofs.hour_recording.verdicts import verdicts
from proofs.row import ProofRow, ProofSize

PART = "hour_recording"


def prove(scale: ProofSize) -> Iterator[ProofRow]:
    """Record for `scale.seconds` and verify; the hour itself is `python -m proofs.hour_recording`."""
    run = Run(
        seconds=scale.seconds,
        nodes=100,
        interval_seconds=max(0.5, min(3.0, scale.seconds / 40)),
        seed=scale.seed,
        kills=(Kill("inference", scale.seconds * 0.3), Kill("referee", scale.seconds * 0.6)),
    )
    with TemporaryDirectory(prefix="foresail-hour-", ignore_cleanup_errors=True) as folder:
        yield from prove_run(Path(folder), run)


def prove_run(folder: Path, run: Run) -> Iterator[ProofRow]:
    """Record one run into `folder` and yield a row for each environment that verified it."""
    recorded = asyncio.run(record(folder, run))
    killed = ", ".join(f"{kill.process} at {kill.seconds:g} s" for kill in recorded.killed)
    yield ProofRow(
        PART,
        f"recorded {run.seconds:g} s of {run.nodes} nodes at {run.interval_seconds:g} s cycles",
        len(run.kills) + 1,
        len(recorded.killed) + recorded.sealed,
        f"killed {killed}; {recorded.path.stat().st_size / 1e6:.1f} MB",
    )
    yield from verdicts(recorded.path, PART)
