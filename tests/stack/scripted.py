"""A process that starts, ends and answers as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from bus.errors import Permanent
from bus.failure_detector import LivenessReport

WELL = LivenessReport(0.0, ready=True)


@dataclass
class Scripted:
    """A process that runs already; its pid changes with each start."""

    starts: list[bool] = field(default_factory=list)
    """Whether the next start succeeds; any start does when the script is over."""
    ends: list[int] = field(default_factory=list)
    """Exit codes of the next ends; it runs until it is killed when the script is over."""
    answer: Callable[[int], LivenessReport | None] = lambda _: WELL
    """What it answers to the n-th question."""
    name: str = "p"
    stop_order: int = 0
    first_pause_seconds: float = 0.2
    own_program: bool = True
    pid: int = 100
    asked: int = 0
    rounds: int = 60
    stopped: bool = False
    done: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it was asked `rounds` times."""
    killed: asyncio.Event = field(default_factory=asyncio.Event)
    newest_pid: int = 100

    async def start(self) -> None:
        """Start as the script says."""
        if self.starts and not self.starts.pop(0):
            raise Permanent("the port is taken")
        self.newest_pid += 1
        self.pid = self.newest_pid

    async def wait(self) -> int:
        """End as the script says."""
        if self.ends:
            code = self.ends.pop(0)
        else:
            await self.killed.wait()
            self.killed.clear()
            code = -9
        self.pid = 0
        return code

    async def stop(self) -> None:
        """End for good."""
        self.stopped, self.pid = True, 0

    def kill(self) -> bool:
        """End now."""
        self.killed.set()
        return self.pid != 0

    async def sign_of_life(self) -> LivenessReport | None:
        """Answer the next question."""
        self.asked += 1
        if self.asked >= self.rounds:
            self.done.set()
        return self.answer(self.asked)

    def last_words(self) -> str:
        """Return what it wrote."""
        return "its last line"
