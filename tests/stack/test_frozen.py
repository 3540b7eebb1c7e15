"""Which processes the stack kills for being frozen, and what it does with them afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bus.clock import ManualClock, SystemClock
from bus.failure_detector import START_SECONDS, LivenessReport
from bus.health import LOOPBACK, HealthState, health_server
from bus.metrics import ProcessMetrics
from bus.nats_server import NatsServer
from bus.ports import free_port
from bus.processor_time import ReadThreads, Threads
from foresail.stack.liveness import ask_health, read_health
from foresail.stack.processes import ProcessSpec
from foresail.stack.supervised_processes import ServiceProcess, supervised_log
from foresail.stack.supervisor import Supervisor, ask
from tests.patience import HANGS_SECONDS
from tests.stack.scripted import WELL, Scripted

FIRST_PAUSE = 7.5


def _nothing(_pid: int) -> Threads:
    """Wait for no processor, as on an idle machine."""
    return {}


async def watch_until(
    one: Scripted, clock: ManualClock, patience: float = 8.0, read: ReadThreads = _nothing
) -> list[str]:
    """Watch until it was asked often enough; return who was killed, and why."""
    kills: list[str] = []
    supervisor = Supervisor(clock, patience_seconds=patience, read=read)
    supervisor.add(one)
    supervisor.keep(lambda *_: None, lambda name, why: kills.append(f"{name} {why}"))
    async with asyncio.timeout(HANGS_SECONDS):
        await one.done.wait()
    await supervisor.stop()
    return kills


async def test_silence_is_answered_once_and_said() -> None:
    """A process falls silent for good: it is killed once, with the reason; its successor is another
    process, which has not been heard yet and is left alone.
    """
    one = Scripted(answer=lambda asked: WELL if asked < 10 else None)

    assert ["p frozen: no sign of life for 8 s; killed"] == await watch_until(one, ManualClock())
    assert 101 == one.newest_pid


async def test_a_refused_question_is_silence() -> None:
    """A process whose port answers no more is as silent as one that says nothing."""

    def answer(asked: int) -> LivenessReport | None:
        if asked < 10:
            return WELL
        raise ConnectionRefusedError

    assert 1 == len(await watch_until(Scripted(answer=answer), ManualClock()))


async def test_patience_of_zero_is_for_ever() -> None:
    """Nobody is asked, so nobody is killed."""
    one = Scripted(answer=lambda asked: WELL if asked < 2 else None)
    supervisor = Supervisor(ManualClock(), patience_seconds=0.0)
    supervisor.add(one)
    supervisor.keep(lambda *_: None, lambda *_: None)
    for _ in range(100):
        await asyncio.sleep(0)
    await supervisor.stop()

    assert 0 == one.asked


async def test_when_the_machine_slept_nobody_is_killed() -> None:
    """Every sleep of the supervisor takes an hour, and every process looks as old afterwards."""

    class Slept(ManualClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds + 3_600.0)

    one = Scripted(answer=lambda asked: WELL if asked < 2 else LivenessReport(3_600.0, ready=True))

    assert [] == await watch_until(one, Slept())


@pytest.mark.parametrize("starved", ["the process", "the supervisor"])
async def test_who_waits_for_a_processor_is_not_killed(starved: str) -> None:
    """A silent process that gets no processor is slow; so is one whose supervisor gets none."""
    clock = ManualClock()

    def read(pid: int) -> Threads:
        mine = (pid == os.getpid()) == (starved == "the supervisor")
        return {pid: (0.0, 0.95 * clock.monotonic() if mine else 0.0)}

    one = Scripted(answer=lambda asked: WELL if asked < 2 else None)

    assert [] == await watch_until(one, clock, read=read)


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


async def test_a_process_that_froze_before_it_was_heard_is_killed_after_the_start_grace() -> None:
    """A port that takes connections and never answers is a process that froze as it started; the
    grace of a start is counted, from the first such silence, and no longer.
    """
    with socket.create_server((LOOPBACK, 0)) as taken:  # the kernel connects, nobody accepts
        silence = await ask_health(taken.getsockname()[1], os.getpid())

    kills = await watch_until(Scripted(answer=lambda _: silence, rounds=1_000), ManualClock())

    assert [f"p frozen: no sign of life for {START_SECONDS:g} s; killed"] == kills


async def test_a_closed_port_is_no_frozen_process() -> None:
    """A process that has not opened its port yet may take longer: nobody knows of it that it is frozen."""

    def refuse(asked: int) -> LivenessReport | None:
        del asked
        raise ConnectionRefusedError

    assert [] == await watch_until(Scripted(answer=refuse, rounds=1_000), ManualClock())


@pytest.mark.nats
async def test_a_stopped_server_greets_nobody(tmp_path: Path) -> None:
    """A stopped nats-server still takes connections, since the kernel does; that is no sign of
    life.
    """
    server = NatsServer(tmp_path)
    await server.start()
    one = supervised_log(server)
    try:
        before = await ask(one)
        os.kill(server.pid, signal.SIGSTOP)
        async with asyncio.timeout(HANGS_SECONDS):
            while (stopped := await ask(one)) is not None:
                await asyncio.sleep(0.05)  # a signal takes a moment to reach every thread
        killed = one.kill()
        code = await server.wait()
    finally:
        await server.stop()

    assert before == LivenessReport(0.0, ready=True)
    assert stopped is None
    assert (True, -signal.SIGKILL) == (killed, code)
    assert not one.kill()


SLEEPER = "import time\nwhile True: time.sleep(60)"


@dataclass
class Kept:
    """A supervisor of one process and what it reported."""

    supervisor: Supervisor
    changes: list[str]

    async def reported(self, times: int, word: str) -> None:
        """Wait until a word was reported so often."""
        async with asyncio.timeout(HANGS_SECONDS):
            while sum(word in line for line in self.changes) < times:
                await asyncio.sleep(0.02)


@asynccontextmanager
async def keeping(folder: Path, program: str) -> AsyncIterator[Kept]:
    """Keep one process that runs `program`."""
    supervisor, changes = Supervisor(ManualClock(), patience_seconds=0.0), list[str]()
    spec = ProcessSpec("p", (sys.executable, "-c", program), {}, 0)
    supervisor.add(ServiceProcess(spec, folder, first_pause_seconds=FIRST_PAUSE))
    supervisor.keep(lambda name, what: changes.append(f"{name} {what}"), lambda *_: None)
    try:
        yield Kept(supervisor, changes)
    finally:
        await supervisor.stop()


async def test_a_frozen_process_is_started_again_at_once(tmp_path: Path) -> None:
    """A stopped process ends by SIGKILL and comes back without the pause that a crash has; its
    reason stays; when it freezes again right away, it has to wait.
    """
    async with keeping(tmp_path, SLEEPER) as kept:
        await kept.reported(1, "started")
        first = kept.supervisor.pids["p"]
        os.kill(first, signal.SIGSTOP)
        assert kept.supervisor.kill("p", "frozen: no sign")
        await kept.reported(1, "started again")
        assert kept.supervisor.pids["p"] not in {0, first}
        assert kept.supervisor.last_ends["p"].startswith("signal SIGKILL: frozen: no sign at ")
        kept.supervisor.kill("p", "frozen: no sign")
        await kept.reported(2, "started again")

    ends = [line for line in kept.changes if "ended" in line]
    assert [
        "p ended with signal SIGKILL: frozen: no sign; starting again in 0 s",
        f"p ended with signal SIGKILL: frozen: no sign; starting again in {FIRST_PAUSE:g} s",
    ] == ends


async def test_a_process_that_ended_its_own_hang_is_started_again_at_once(tmp_path: Path) -> None:
    """The exit code of a hang is a freeze that the process has seen itself."""
    once = tmp_path / "once"
    program = f"import os, pathlib, time\np = pathlib.Path({str(once)!r})\nif not p.exists():\n"
    program += "    p.touch(); os._exit(71)\ntime.sleep(60)"
    async with keeping(tmp_path, program) as kept:
        await kept.reported(1, "started again")

    assert (
        "p ended with exit code 71: its event loop hung, its log shows where; starting again in 0 s"
        in kept.changes
    )


async def test_what_is_being_stopped_is_not_killed(tmp_path: Path) -> None:
    """A process on its way out is silent, too."""
    async with keeping(tmp_path, SLEEPER) as kept:
        await kept.reported(1, "started")
        await kept.supervisor.stop()
        assert not kept.supervisor.kill("p", "frozen")


def test_the_sign_of_a_process_is_what_health_says() -> None:
    """Age, readiness and process id come from /healthz."""
    body = json.dumps({"pid": 7, "loop_age_seconds": 3.25, "ready": False}).encode()

    assert read_health(body, 7) == LivenessReport(3.25, ready=False)
