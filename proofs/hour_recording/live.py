"""One live stack that is recorded while services of it are killed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bus.recording import open_recording
from proofs.faults.live_stack import LiveStack

BACK_SECONDS = 60.0
"""How long a killed service may take to come back."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A service that is killed (SIGKILL), and when: seconds after the first decisions."""

    process: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Run:
    """What runs, for how long, and what goes wrong in it."""

    seconds: float
    nodes: int
    interval_seconds: float
    seed: int
    kills: tuple[Kill, ...]
    extra: Sequence[str] = ()
    """More flags of `foresail up`."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """Outcome of a run."""

    path: Path
    killed: tuple[Kill, ...]
    """Those that were running, were killed, and came back."""
    sealed: bool


async def record(folder: Path, run: Run) -> RecordedRun:
    """Run the stack in `folder`, carry out the kills, stop it, return its recording.

    Raises:
        NotReady: the stack did not come up.
    """
    path = folder / "run.fslog"
    stack = LiveStack(
        folder,
        seed=run.seed,
        interval_seconds=run.interval_seconds,
        nodes=run.nodes,
        extra=("--record", path.name, *run.extra),
        untouched=True,
    )
    killed: list[Kill] = []
    await stack.start()
    try:
        began = time.monotonic()
        for kill in sorted(run.kills, key=lambda kill: kill.seconds):
            await asyncio.sleep(max(0.0, kill.seconds - (time.monotonic() - began)))
            before = stack.processes().get(kill.process)
            if stack.signal(kill.process) and before is not None:
                killed.extend(
                    [kill] if await _wait_for_restart(stack, kill.process, before.pid) else []
                )
        await asyncio.sleep(max(0.0, run.seconds - (time.monotonic() - began)))
    finally:
        await stack.stop()
    recording = open_recording(path)
    for _ in recording:
        pass
    return RecordedRun(path, tuple(killed), recording.sealed)


async def _wait_for_restart(stack: LiveStack, name: str, pid: int) -> bool:
    """Wait until a service runs as another process."""
    until = time.monotonic() + BACK_SECONDS
    while time.monotonic() < until:
        process = stack.processes().get(name)
        if process is not None and process.pid != pid:
            return True
        await asyncio.sleep(0.2)
    return False
