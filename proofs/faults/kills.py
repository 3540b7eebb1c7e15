"""Kill -9 of random processes at random moments, over and over, in one running stack.

`python -m proofs.faults --seed N --kills K` repeats one session. A seed fixes which process is killed
and when, counted from the start of the session; the machine's own timing is not repeated.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from pathlib import Path

from proofs.faults.broken_run import run_and_break
from proofs.faults.live_stack import SERVICES, LiveStack
from proofs.faults.verdict import LogVerdict
from proofs.faults.waiting import wait_until

TARGETS = (*SERVICES, *("twin", "nats-server") * 2)
"""What may be killed; what all others depend on is chosen twice as often."""
PAUSE_INTERVALS = (0.2, 5.0)
"""Shortest and longest pause between two kills."""
WAIT_SECONDS = 900.0
"""How long a chosen process may be away between two starts before another is chosen."""


async def session(
    folder: Path, seed: int, kills: int, *, targets: Sequence[str] = TARGETS, brutal: bool = False
) -> LogVerdict:
    """Kill `kills` processes of one stack and judge its log.

    Args:
        folder: where the stack lives; an earlier session's folder is taken over.
        seed: fixes victims and moments, and the stack's own seed.
        kills: how many.
        targets: names of processes that may be chosen.
        brutal: end with kill -9 of `foresail up` instead of Ctrl-C.
    """

    async def break_it(stack: LiveStack, verdict: LogVerdict) -> None:
        await _kill_at_random(stack, random.Random(seed), kills, targets, verdict)

    repeat = f"python -m proofs.faults --seed {seed} --kills {kills}"
    return await run_and_break(
        LiveStack(folder, seed=seed, untouched=True), repeat, break_it, brutal=brutal
    )


async def killed_stacks(folder: Path, seed: int, count: int) -> list[LogVerdict]:
    """Kill -9 `foresail up` itself, `count` times in one folder, each time at a random moment.

    A verdict fails when a process is left after five seconds, when the next start is not clean, or
    when the log that was left behind cannot be believed.
    """
    rng = random.Random(seed)
    repeat = f"python -m proofs faults --seed {seed}"
    verdicts = []
    for number in range(count + 1):
        last = number == count

        async def break_it(stack: LiveStack, verdict: LogVerdict) -> None:
            await asyncio.sleep(rng.uniform(*PAUSE_INTERVALS) * stack.interval_seconds)
            verdict.faults.append(f"foresail up after cycle {stack.watch.newest_cycle}")

        stack = LiveStack(folder, seed=seed, untouched=True)
        verdict = await run_and_break(stack, repeat, break_it, brutal=not last, recover=last)
        verdicts.append(verdict)
    # The last stack was not killed: it shows that the start after the last kill is clean.
    *killed, end = verdicts
    killed[-1].problems += end.problems
    return killed


async def _kill_at_random(
    stack: LiveStack, rng: random.Random, kills: int, targets: Sequence[str], verdict: LogVerdict
) -> None:
    began = time.monotonic()
    tried = 0
    while tried < kills:
        await asyncio.sleep(rng.uniform(*PAUSE_INTERVALS) * stack.interval_seconds)
        name = rng.choice(targets)
        if not await wait_until(lambda name=name: name in stack.processes(), WAIT_SECONDS):  # type: ignore[misc]  # a default argument of a lambda
            verdict.problems.append(f"{name} did not come back within {WAIT_SECONDS:g} s")
            return
        if stack.signal(name):
            tried += 1
            verdict.faults.append(f"{name} at {time.monotonic() - began:.2f} s")
