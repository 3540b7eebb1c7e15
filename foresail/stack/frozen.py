"""Replaces processes of the stack that are alive but frozen: stopped (SIGSTOP), or with an event loop
that hangs.

Each process is asked on its own health port, which needs no nats-server: an outage of the log freezes
nobody. A frozen process is killed with SIGKILL, since a stopped one acts on nothing else; whoever
keeps it (`supervisor`, `keeper`) then starts it again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from bus.clock import Clock
from bus.failure_detector import FailureDetector, LivenessReport
from bus.health import LOOPBACK

ROUND_SECONDS = 1.0
"""Pause between two questions."""
ASK_SECONDS = 1.0
"""How long an answer may take."""
ANSWER_BYTES = 16_384

OnFrozen = Callable[[str, str], None]
"""Hears a process' name and why it was killed."""


class Watched(Protocol):
    """One process that is asked."""

    @property
    def name(self) -> str:
        """Its name in the stack."""
        ...

    @property
    def pid(self) -> int:
        """Its process id; 0 while it is between two starts."""
        ...

    async def sign(self) -> LivenessReport | None:
        """Ask it for a sign of life; None when what answers is somebody else or nonsense.

        Raises:
            OSError: nobody takes the question.
        """
        ...

    def kill(self, why: str) -> bool:
        """Kill it with SIGKILL and keep `why` as the reason of its end; False when it does not run,
        or ends anyway.
        """
        ...


@asynccontextmanager
async def replacing_frozen(
    watched: Sequence[Watched], clock: Clock, patience_seconds: float, on_frozen: OnFrozen
) -> AsyncIterator[None]:
    """Watch processes while the block runs; kill one that was ready once and is silent for
    `patience_seconds` (0: never).
    """
    tasks = [
        asyncio.create_task(_watch(one, clock, patience_seconds, on_frozen), name=f"ask-{one.name}")
        for one in (watched if patience_seconds else ())
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _watch(one: Watched, clock: Clock, patience_seconds: float, on_frozen: OnFrozen) -> None:
    pid, detector = 0, FailureDetector(patience_seconds)
    while True:
        if one.pid != pid:
            pid, detector = one.pid, FailureDetector(patience_seconds)
        began = clock.monotonic()
        await clock.sleep(ROUND_SECONDS)
        sign = await heard(one) if pid else None
        if not pid or one.pid != pid:
            continue
        detector.observe(ROUND_SECONDS + ASK_SECONDS, clock.monotonic() - began, sign)
        if detector.frozen:
            why = f"frozen: no sign of life for {detector.seconds:.1f} s; killed"
            if one.kill(why):
                on_frozen(one.name, why)
            pid = 0


async def heard(one: Watched) -> LivenessReport | None:
    """Return a process' sign of life; None when none came in time."""
    try:
        async with asyncio.timeout(ASK_SECONDS):
            return await one.sign()
    except (OSError, TimeoutError):
        return None


async def ask_health(port: int, pid: int) -> LivenessReport | None:
    """Ask a process of ours on its health port; None when another process answers there.

    Raises:
        OSError: nobody takes the question.
    """
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
        answer = b""
        while len(answer) < ANSWER_BYTES and (part := await reader.read(ANSWER_BYTES)):
            answer += part
    finally:
        writer.close()
    return read_health(answer.partition(b"\r\n\r\n")[2], pid)


def read_health(body: bytes, pid: int) -> LivenessReport | None:
    """Read what `/healthz` answers; None for what process `pid` would not say."""
    try:
        told: Mapping[str, Any] = json.loads(body)
        if told["pid"] != pid:
            return None
        return LivenessReport(float(told["loop_age_seconds"]), told["ready"] is True)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
