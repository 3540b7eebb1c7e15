"""Faults of what the server keeps: acknowledgements that never arrive, a store that lost its newest
part, a disk without space. The server is the proof's own; the stack gets its address.
"""

from __future__ import annotations

import asyncio
import math
import random
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from bus.nats_server import NatsServer
from bus.ports import free_port
from proofs.faults.broken_run import run_and_break
from proofs.faults.live_stack import LiveStack
from proofs.faults.lost_acks import AckLosingProxy
from proofs.faults.verdict import LogVerdict
from proofs.faults.waiting import wait_until


async def lost_acks(
    folder: Path,
    seed: int,
    seconds: float,
    processes: Collection[str],
    *,
    enough: float = math.inf,
) -> tuple[LogVerdict, int]:
    """Lose the first acknowledgement of every event of some processes for `seconds`, or until `enough`
    were lost; return how many were.
    """
    server = NatsServer(folder / "nats", port=free_port())
    await server.start()
    proxy = AckLosingProxy(_port(server.url), frozenset(processes), active=False)
    await proxy.start()

    async def break_it(_stack: LiveStack, verdict: LogVerdict) -> None:
        proxy.active = True
        await wait_until(lambda: proxy.lost >= enough, seconds)
        proxy.active = False
        verdict.faults.append(f"{proxy.lost} acknowledgements lost")
        if proxy.lost == 0:
            verdict.problems.append("no acknowledgement was lost: nothing was tried")

    try:
        stack = LiveStack(folder, seed=seed, extra=("--nats-url", proxy.url))
        repeat = f"python -m proofs faults --seed {seed}"
        verdict = await run_and_break(stack, repeat, break_it, server_url=server.url)
    finally:
        await proxy.stop()
        await server.stop()
    return verdict, proxy.lost


async def truncated_store(folder: Path, seed: int, cuts: int) -> LogVerdict:
    """Stop the server, cut its newest file at a random place, start it again; `cuts` times.

    The services keep running and know more than the log then holds. They must notice and continue
    from what is left.
    """
    rng = random.Random(seed)
    server = NatsServer(folder / "nats", port=free_port())
    await server.start()

    async def break_it(stack: LiveStack, verdict: LogVerdict) -> None:
        for number in range(cuts):
            await asyncio.sleep(rng.uniform(2.0, 6.0) * stack.interval_seconds)
            before = stack.watch.messages[-1].seq
            await server.stop()
            removed = cut_newest(folder / "nats", rng)
            await server.start()
            verdict.faults.append(f"{removed} bytes cut at position {before}")
            if number + 1 < cuts:
                await stack.watch.wait_for_decisions(1, 60.0)

    try:
        stack = LiveStack(folder, seed=seed, extra=("--nats-url", server.url))
        repeat = f"python -m proofs faults --seed {seed}"
        return await run_and_break(
            stack, repeat, break_it, server_url=server.url, log_may_shrink=True
        )
    finally:
        await server.stop()


async def full_disk(folder: Path, seed: int, megabytes: int) -> LogVerdict:
    """Let the server's disk run full, keep it so for a while, make space, start the server again."""
    rng = random.Random(seed)
    with small_disk(folder / "disk", megabytes) as disk:
        server = NatsServer(disk / "nats", port=free_port())
        await server.start()

        async def break_it(stack: LiveStack, verdict: LogVerdict) -> None:
            ballast = disk / "ballast"
            _fill(ballast)
            cycle, since = stack.watch.newest_cycle, time.monotonic()
            await asyncio.sleep(rng.uniform(6.0, 12.0))
            verdict.faults.append(
                f"disk full after cycle {cycle}, {stack.watch.newest_cycle - cycle} cycles decided in "
                f"the {time.monotonic() - since:.0f} s without space"
            )
            ballast.unlink()
            await server.stop()
            await server.start()

        try:
            stack = LiveStack(folder, seed=seed, extra=("--nats-url", server.url))
            repeat = f"python -m proofs faults --seed {seed}"
            return await run_and_break(stack, repeat, break_it, server_url=server.url)
        finally:
            await server.stop()


def cut_newest(folder: Path, rng: random.Random) -> int:
    """Cut the end off a stopped server's newest message file; return the bytes removed.

    Between 1 % and 20 % of the file is removed, so the cut is usually in the middle of a message.
    """
    newest = max(folder.glob("jetstream/*/streams/*/msgs/*.blk"), key=_block_number)
    size = newest.stat().st_size
    removed = max(1, int(size * rng.uniform(0.01, 0.2)))
    with newest.open("r+b") as block:
        block.truncate(size - removed)
    return removed


def may_mount() -> bool:
    """Say whether this process may mount a small disk."""
    probe = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True,
        check=False,
    )
    return probe.returncode == 0


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a disk of a few megabytes in memory; needs root."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder)], check=True
    )
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(ballast: Path) -> None:
    """Write until the disk is full."""
    with ballast.open("wb", buffering=0) as out:
        try:
            while out.write(b"\0" * 4096):
                pass
        except OSError:
            return


def _block_number(block: Path) -> int:
    return int(block.stem)


def _port(url: str) -> int:
    return int(url.rsplit(":", 1)[-1])


async def refused_store(folder: Path) -> LogVerdict:
    """Start a stack on a server whose store is smaller than the log requires: one line, no process."""
    server = TinyServer(folder / "nats", port=free_port())
    await server.start()
    verdict = LogVerdict("python -m proofs faults")
    try:
        stack = LiveStack(folder, extra=("--nats-url", server.url))
        stack.launch()
        ended = await wait_until(lambda: stack.returncode is not None, 60.0)
        left = await stack.kill()
    finally:
        await server.stop()
    if not ended or stack.returncode != 2 or "nats" not in stack.output.splitlines()[-1]:
        verdict.problems.append(f"exit code {stack.returncode}: {stack.output[-200:]!r}")
    if left:
        verdict.problems.append(f"still running: {', '.join(left)}")
    return verdict


class TinyServer(NatsServer):
    """A server that may keep two megabytes."""

    def _config(self) -> str:
        return super()._config().replace("16GB", "2MB")
