"""Processes that stop without dying: frozen ones that the stack replaces, a referee frozen while a
second one takes over, and outages of one service longer than the window in which the server itself
knows repeated messages.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import psutil

from bus.exit_codes import ExitCode
from bus.nats_connection import api_call, connect_client
from proofs.faults.broken_run import RECOVERY_SECONDS, run_and_break
from proofs.faults.live_stack import REPOSITORY, LiveStack
from proofs.faults.verdict import LogVerdict
from proofs.faults.waiting import wait_until

HEARD_SECONDS = 6.0
"""Enough rounds of health checks for a running process to have answered one."""
STOPS_WITHIN_SECONDS = 900.0
"""How long a referee that resumes beside a second one may take to notice it."""
REPLACED_SECONDS = 15.0
"""How long a stopped process may remain before it is replaced."""
UNWATCHED = ("--frozen-after", "0s")
"""Leave frozen processes alone: what is frozen here wakes up again."""
How = Literal["frozen", "killed"]


async def second_referee(folder: Path, seed: int, seconds: float) -> LogVerdict:
    """Freeze the referee, let a second one decide and run on for `seconds`, wake the first: it must
    stop by itself.
    """

    async def break_it(stack: LiveStack, verdict: LogVerdict) -> None:
        first = stack.processes()["referee"]
        second = await _start_like(first, stack.folder / "second-referee.log")
        try:
            first.send_signal(signal.SIGSTOP)
            verdict.faults.append("referee frozen, a second one started")
            before = stack.watch.newest_cycle
            # What the first had sent before it was stopped may still come in.
            if not await wait_until(
                lambda: stack.watch.newest_cycle > before + 1, RECOVERY_SECONDS
            ):
                verdict.problems.append("the second referee decided nothing")
            await asyncio.sleep(seconds)
            first.send_signal(signal.SIGCONT)
            verdict.faults.append("referee woken")
            if not await wait_until(lambda: not _is_alive(first), STOPS_WITHIN_SECONDS):
                verdict.problems.append(f"both referees ran on for {STOPS_WITHIN_SECONDS:g} s")
            elif not _has_printed(stack, "referee", "another writer"):
                verdict.problems.append("the woken referee ended for another reason")
            elif not await wait_until(lambda: _has_lost_its_subject(stack), RECOVERY_SECONDS):
                verdict.problems.append(f"it ended with {stack.file.get('last_ends')}")
        finally:
            if second.returncode is None:
                second.terminate()
            await second.wait()

    repeat = f"python -m proofs faults --seed {seed}"
    return await run_and_break(LiveStack(folder, seed=seed, extra=UNWATCHED), repeat, break_it)


async def prove_replacement(
    folder: Path, seed: int, names: Sequence[str], within_seconds: float = REPLACED_SECONDS
) -> LogVerdict:
    """Stop processes (SIGSTOP) one after the other: each must be replaced, and decisions go on.

    Args:
        folder: where the stack lives.
        seed: the stack's own seed.
        names: which processes, in this order.
        within_seconds: how long a stopped process may remain before it is replaced.
    """

    async def break_it(stack: LiveStack, verdict: LogVerdict) -> None:
        for name in names:
            await _stop_one(stack, verdict, name, within_seconds)

    repeat = f"python -m proofs faults --seed {seed}"
    return await run_and_break(LiveStack(folder, seed=seed), repeat, break_it)


async def _stop_one(
    stack: LiveStack, verdict: LogVerdict, name: str, within_seconds: float
) -> None:
    if not await wait_until(lambda: name in stack.processes(), RECOVERY_SECONDS):
        verdict.problems.append(f"{name} does not run")
        return
    # A process that was never ready is given two minutes: stop one that has answered.
    await stack.watch.wait_for_decisions(1, RECOVERY_SECONDS)
    await stack.watch.wait_for_execution(RECOVERY_SECONDS)
    await asyncio.sleep(HEARD_SECONDS)
    frozen, before, began = stack.processes()[name], stack.watch.newest_cycle, time.monotonic()
    frozen.send_signal(signal.SIGSTOP)

    def is_replaced() -> bool:
        now = stack.processes().get(name)
        return now is not None and now.pid != frozen.pid

    came = await wait_until(is_replaced, max(within_seconds, RECOVERY_SECONDS))
    took = time.monotonic() - began
    if not came or took > within_seconds:
        verdict.problems.append(f"{name} was not replaced within {within_seconds:g} s")
    if not await stack.watch.wait_for_decisions(1, RECOVERY_SECONDS):
        verdict.problems.append(f"no complete cycle after {name} was replaced")
    again = time.monotonic() - began
    lost = stack.watch.lost_cycles(before)
    verdict.faults.append(
        f"{name} replaced after {took:.1f} s, a complete cycle after {again:.1f} s, {lost} cycles lost"
    )


async def prove_outages(
    folder: Path,
    seed: int,
    outages: Sequence[tuple[str, How]],
    seconds: float,
    *,
    window_seconds: float | None = None,
) -> LogVerdict:
    """Take services away for `seconds`, one after the other.

    Args:
        folder: where the stack lives.
        seed: the stack's own seed.
        outages: which processes, and how: frozen (it goes on where it was) or killed at every start
            (it begins with the log).
        seconds: how long each is away.
        window_seconds: set the server's window for repeated messages to this; None: leave it.
    """

    async def break_it(stack: LiveStack, verdict: LogVerdict) -> None:
        if window_seconds is not None:
            await _set_window(stack, window_seconds)
        for name, how in outages:
            verdict.faults.append(f"{name} {how} for {seconds:g} s")
            await (_freeze if how == "frozen" else _keep_killed)(stack, name, seconds)
            if not await stack.watch.wait_for_decisions(1, RECOVERY_SECONDS):
                verdict.problems.append(f"no complete cycle after {name} was back")

    repeat = f"python -m proofs faults --seed {seed}"
    return await run_and_break(LiveStack(folder, seed=seed, extra=UNWATCHED), repeat, break_it)


async def _freeze(stack: LiveStack, name: str, seconds: float) -> None:
    process = stack.processes()[name]
    process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(seconds)
    process.send_signal(signal.SIGCONT)


async def _keep_killed(stack: LiveStack, name: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        stack.signal(name)
        await asyncio.sleep(stack.interval_seconds / 2)


async def _start_like(process: psutil.Process, log: Path) -> asyncio.subprocess.Process:
    """Start the same process once more, with the same settings and connections."""
    environment = {**process.environ(), "FORESAIL_PARENT": str(os.getpid())}
    with log.open("wb") as out:
        return await asyncio.create_subprocess_exec(
            *process.cmdline(), env=environment, cwd=REPOSITORY, stdout=out, stderr=out
        )


async def _set_window(stack: LiveStack, seconds: float) -> None:
    """Shorten the time for which the server knows repeated messages by their ids."""
    file = stack.file
    client = await connect_client(
        file["nats_url"], name="proof", login=stack.login("bootstrap"), retry=False
    )
    try:
        info = await api_call(client, f"STREAM.INFO.{file['stream']}", {})
        config = {**info["config"], "duplicate_window": round(seconds * 1e9)}
        answer = await api_call(client, f"STREAM.UPDATE.{file['stream']}", config)
        if "error" in answer:
            raise RuntimeError(f"the window was not set: {answer['error']}")
    finally:
        await client.close()


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _has_lost_its_subject(stack: LiveStack) -> bool:
    """Say whether the stack has seen its referee end with the code for that."""
    ends: dict[str, str] = stack.file.get("last_ends", {})
    return ends.get("referee", "").startswith(f"exit code {ExitCode.ANOTHER_WRITER:d}")


def _has_printed(stack: LiveStack, name: str, words: str) -> bool:
    folder = stack.folder / "state" / "incarnations" / stack.file["incarnation"] / "logs"
    return words in (folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
