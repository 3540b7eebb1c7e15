"""The doors through which a simulated process reaches the log, the cluster and the clock; faults
are injected there.

Each operation is a step with a seeded delay before and after it, so the seed decides who runs
before whom; at a step a process can die, pause, or get no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from random import Random

from bus.clock import LoopClock
from bus.memory_adapter import MemoryBus
from bus.port import Message, Messages
from proofs.simulation.plan import FaultPlan
from services.cluster import JSON, ApiResponse, ClusterUnavailable, Json, Method, Transport
from services.rights.reviews import REVIEWS

IN_FLIGHT_SECONDS = 3.0
"""Longest time that a dead process' last publish may still travel."""


class Crash(BaseException):
    """The process dies here. No `except Exception` may catch it, as nothing catches kill -9."""


class Steps:
    """The seeded fate of one start of one process."""

    def __init__(self, plan: FaultPlan, process: str, start: int) -> None:
        """Draw from a stream of randomness of its own."""
        self.plan = plan
        self.dead = False
        self.task: asyncio.Task[None] | None = None
        """What runs the process; set when it has started."""
        self._running = asyncio.Event()
        self._running.set()
        self._hit = process in plan.hit
        self.random = Random(f"steps/{plan.seed}/{process}/{start}")

    async def step(self) -> None:
        """Let time pass, or die."""
        self.check()
        if not self._hit:
            return
        if self.happens(self.plan.crash):
            self.dead = True
        self.check()
        delay = self.random.random() * self.plan.jitter_seconds
        if self.happens(self.plan.pause):
            delay += self.random.random() * self.plan.pause_seconds
        await asyncio.sleep(delay)
        await self._running.wait()
        self.check()

    def freeze(self) -> None:
        """Pause at the next step, as under SIGSTOP."""
        self._running.clear()

    def thaw(self) -> None:
        """Resume."""
        self._running.set()

    def die(self) -> None:
        """End now, whatever is being waited for."""
        self.dead = True
        self._running.set()
        if self.task is not None:
            self.task.cancel()

    def check(self) -> None:
        """Stop whatever a dead process still runs."""
        if self.dead:
            raise Crash

    def happens(self, probability: float) -> bool:
        """Draw; never while faults are over."""
        return self._hit and probability > 0 and self.random.random() < probability


class SteppedBus(MemoryBus):
    """A connection whose every operation is a step."""

    steps: Steps

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Publish; a process that dies in here may have sent it already."""
        try:
            await self.steps.step()
        except Crash:
            if self.steps.happens(0.5):
                delay = self.steps.random.random() * IN_FLIGHT_SECONDS
                self.leave_in_flight(messages, delay)
            raise
        stored = await super().publish(messages)
        await self.steps.step()
        return stored

    async def _read(self, patterns: tuple[str, ...], start_seq: int) -> Messages:
        async with aclosing(super()._read(patterns, start_seq)) as messages:
            async for message in messages:
                self.steps.check()
                if self.steps.happens(self.steps.plan.slow_read):
                    await asyncio.sleep(self.steps.random.random() * 2.0)
                yield message


class SteppedTransport:
    """A way to the cluster whose every request is a step."""

    def __init__(
        self, inner: Transport, steps: Steps, on_write: Callable[[str, str], None]
    ) -> None:
        """Call `on_write(method, path)` just before every real write."""
        self._inner = inner
        self._steps = steps
        self._on_write = on_write

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request; it may fail before or after it was carried out."""
        await self._steps.step()
        if self._steps.happens(self._steps.plan.cluster_fails):
            raise ClusterUnavailable("simulated: connection refused")
        # Asking for one's rights is a POST that changes nothing.
        if method != "GET" and path != REVIEWS and "dryRun" not in (query or {}):
            self._on_write(method, path)
        answer = await self._inner.request(method, path, query, body, content_type)
        if self._steps.happens(self._steps.plan.cluster_fails):
            raise ClusterUnavailable("simulated: connection reset before the answer")
        await self._steps.step()
        return answer

    async def close(self) -> None:
        """Nothing is held."""


class JumpingClock(LoopClock):
    """A process' own wall clock: wrong by a seeded amount; what never goes back is right."""

    def __init__(self, start_wall_ns: int, steps: Steps) -> None:
        """Draw this start's error."""
        jump = (2 * steps.random.random() - 1) * steps.plan.clock_jump_seconds
        super().__init__(start_wall_ns + round(jump * 1e9))
