"""Which processes the stack kills for being frozen, and what it does with them afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bus.clock import ManualClock, SystemClock
from bus.failure_detector import LivenessReport
from bus.health import HealthState, health_server
from bus.metrics import ProcessMetrics
from bus.nats_server import NatsServer, free_port
from foresail.stack.frozen import ask_health, heard, read_health, replacing_frozen
from foresail.stack.processes import ProcessSpec
from foresail.stack.supervisor import Supervisor
from foresail.stack.watched import WatchedLog

WELL = LivenessReport(0.0, ready=True)
FIRST_BACKOFF = 7.5


@dataclass
class Scripted:
    """A process that answers as told; `None` and errors are silence. Its pid changes when killed."""

    answer: Callable[[int], LivenessReport | None]
    name: str = "p"
    pid: int = 100
    asked: int = 0
    whys: list[str] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    rounds: int = 60

    async def sign(self) -> LivenessReport | None:
        """Answer the next question."""
        self.asked += 1
        if self.asked >= self.rounds:
            self.done.set()
        return self.answer(self.asked)

    def kill(self, why: str) -> bool:
        """Take note, and be another process."""
        self.whys.append(why)
        self.pid += 1
        return True


async def watch_until(scripted: Scripted, clock: ManualClock, patience: float = 8.0) -> list[str]:
    """Watch until it was asked often enough; return what was told."""
    told: list[str] = []
    async with (
        asyncio.timeout(20),
        replacing_frozen(
            [scripted], clock, patience, lambda name, why: told.append(f"{name} {why}")
        ),
    ):
        await scripted.done.wait()
    return told


async def test_silence_is_answered_once_and_said() -> None:
    """A process falls silent for good: it is killed once, with the reason; its successor is another
    process, which has not been heard yet and is left alone.
    """
    one = Scripted(lambda asked: WELL if asked < 10 else None)

    assert ["p frozen: no sign of life for 8.0 s; killed"] == await watch_until(one, ManualClock())
    assert 1 == len(one.whys)


async def test_a_refused_question_is_silence() -> None:
    """A process whose port answers no more is as silent as one that says nothing."""

    def answer(asked: int) -> LivenessReport | None:
        if asked < 10:
            return WELL
        raise ConnectionRefusedError

    assert 1 == len(await watch_until(Scripted(answer), ManualClock()))


async def test_patience_of_zero_is_for_ever() -> None:
    """Nobody is asked, so nobody is killed."""
    one = Scripted(lambda asked: WELL if asked < 2 else None)
    async with replacing_frozen([one], ManualClock(), 0.0, lambda *_: None):
        for _ in range(100):
            await asyncio.sleep(0)

    assert 0 == one.asked


async def test_when_the_machine_slept_nobody_is_killed() -> None:
    """Every sleep of the supervisor takes an hour, and every process looks as old afterwards."""

    class Slept(ManualClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds + 3_600.0)

    one = Scripted(lambda asked: WELL if asked < 2 else LivenessReport(3_600.0, ready=True))

    assert [] == await watch_until(one, Slept())


async def test_only_the_process_itself_answers_for_itself() -> None:
    """Another process on the same port, and what is no answer of ours, are no sign of life."""
    port = free_port()
    environment = {"FORESAIL_HEALTH_PORT": str(port)}
    async with health_server(
        environment, SystemClock(), ProcessMetrics("p", "c", "i1"), lambda: HealthState(True, {})
    ):
        own, other = await ask_health(port, os.getpid()), await ask_health(port, 1)

    assert own is not None
    assert own.ready
    assert own.loop_age_seconds < 5.0
    assert other is None
    for body in (b"", b"[]", b'{"pid": 7}', b'{"pid": 7, "loop_age_seconds": "x"}', b"[" * 90_000):
        assert read_health(body, 7) is None


@pytest.mark.nats
async def test_a_stopped_server_greets_nobody(tmp_path: Path) -> None:
    """A stopped nats-server still takes connections, since the kernel does; that is no sign of
    life.
    """
    server = NatsServer(tmp_path)
    await server.start()
    one = WatchedLog(server)
    try:
        before = await heard(one)
        os.kill(server.pid, signal.SIGSTOP)
        async with asyncio.timeout(30):
            while (stopped := await heard(one)) is not None:
                await asyncio.sleep(0.05)  # a signal takes a moment to reach every thread
        killed = one.kill("frozen")
        code = await server.wait()
    finally:
        await server.stop()

    assert before == LivenessReport(0.0, ready=True)
    assert stopped is None
    assert (True, -signal.SIGKILL) == (killed, code)
    assert not one.kill("again")


SLEEPER = "import time\nwhile True: time.sleep(60)"


@dataclass
class Kept:
    """A supervisor of one process and what it told."""

    supervisor: Supervisor
    clock: ManualClock
    told: list[str]

    async def heard(self, times: int, word: str) -> None:
        """Wait until a word was told so often."""
        async with asyncio.timeout(30):
            while sum(word in line for line in self.told) < times:
                await asyncio.sleep(0.02)


@asynccontextmanager
async def keeping(folder: Path, program: str) -> AsyncIterator[Kept]:
    """Keep one process that runs `program`."""
    clock, told = ManualClock(), list[str]()
    supervisor = Supervisor(
        folder,
        clock,
        first_backoff_seconds=FIRST_BACKOFF,
        on_change=lambda name, what: told.append(f"{name} {what}"),
    )
    supervisor.start([ProcessSpec("p", (sys.executable, "-c", program), {}, 0)])
    try:
        yield Kept(supervisor, clock, told)
    finally:
        await supervisor.stop()


async def test_a_frozen_process_is_started_again_at_once(tmp_path: Path) -> None:
    """A stopped process ends by SIGKILL and comes back without the pause that a crash has; its
    reason stays; when it freezes again right away, it has to wait.
    """
    async with keeping(tmp_path, SLEEPER) as kept:
        await kept.heard(1, "started")
        first = kept.supervisor.pids["p"]
        os.kill(first, signal.SIGSTOP)
        assert kept.supervisor.kill("p", "frozen: no sign")
        await kept.heard(1, "started again")
        assert kept.supervisor.pids["p"] not in {0, first}
        assert kept.supervisor.last_ends["p"].startswith("signal SIGKILL: frozen: no sign at ")
        kept.supervisor.kill("p", "frozen: no sign")
        await kept.heard(2, "started again")

    ends = [line for line in kept.told if "ended" in line]
    assert [
        "p ended with signal SIGKILL: frozen: no sign; starting again in 0 s",
        f"p ended with signal SIGKILL: frozen: no sign; starting again in {FIRST_BACKOFF:g} s",
    ] == ends


async def test_a_process_that_ended_its_own_hang_is_started_again_at_once(tmp_path: Path) -> None:
    """The exit code of a hang is a freeze that the process has seen itself."""
    once = tmp_path / "once"
    program = f"import os, pathlib, time\np = pathlib.Path({str(once)!r})\nif not p.exists():\n"
    program += "    p.touch(); os._exit(71)\ntime.sleep(60)"
    async with keeping(tmp_path, program) as kept:
        await kept.heard(1, "started again")

    assert (
        "p ended with exit code 71: its event loop hung, its log shows where; starting again in 0 s"
        in kept.told
    )


async def test_what_is_being_stopped_is_not_killed(tmp_path: Path) -> None:
    """A process on its way out is silent, too."""
    async with keeping(tmp_path, SLEEPER) as kept:
        await kept.heard(1, "started")
        await kept.supervisor.stop()
        assert not kept.supervisor.kill("p", "frozen")


def test_the_sign_of_a_process_is_what_health_says() -> None:
    """Age, readiness and process id come from /healthz."""
    body = json.dumps({"pid": 7, "loop_age_seconds": 3.25, "ready": False}).encode()

    assert read_health(body, 7) == LivenessReport(3.25, ready=False)
