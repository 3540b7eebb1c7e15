"""A process whose event loop hangs ends by itself and shows where; one that is only busy does not."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bus.clock import SystemClock
from bus.errors import ConfigError
from bus.exit_codes import ExitCode
from bus.failure_detector import FailureDetector
from bus.hang_watch import _watch_loop, hang_seconds, hang_variables, hang_watchdog
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.processor_time import ProcessorMeter
from bus.streams import StreamDeclaration
from tests.patience import HANGS_SECONDS

DECLARATION = StreamDeclaration.of("c", "i1")
REPOSITORY = Path(__file__).parents[2]
HANGING = """
import asyncio, sys, time
from bus.process import run_process
async def deadlock():
    time.sleep(600)
async def main(context):
    context.progress("live", 0)
    await asyncio.sleep(1)
    await deadlock()
sys.exit(run_process("referee", main))
"""
BUSY = """
import asyncio, sys, threading, time
from bus.process import run_process
async def main(context):
    time.sleep(7)  # loads something large before it is ready
    context.progress("live", 0)
    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait, 9)
    for _ in range(6):
        await asyncio.sleep(0.1)
        time.sleep(1)  # slow, but the loop turns
sys.exit(run_process("referee", main))
"""


@pytest_asyncio.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """Give the address of a server with a log."""
    server = NatsServer(tmp_path / "nats")
    url = await server.start()
    await NatsBus.declare(url, DECLARATION)
    yield url
    await server.stop()


async def ran(program: str, url: str, patience_seconds: float = 2) -> tuple[int, str]:
    """Run a service that may hang for so long; return its exit code and standard error."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "FORESAIL_CLUSTER": "c",
        "FORESAIL_INCARNATION": "i1",
        "FORESAIL_STREAM": DECLARATION.name,
        "FORESAIL_NATS_URL": url,
        "FORESAIL_HANG_SECONDS": f"{patience_seconds:g}",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(HANGS_SECONDS):
            _, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, errors.decode()


@pytest.mark.nats
async def test_a_deadlocked_loop_ends_its_process_and_says_where(url: str) -> None:
    """The exit code of a hang, and the stack of the thread that hangs names the function."""
    code, errors = await ran(HANGING, url)

    assert code == ExitCode.HUNG
    assert "the event loop has not turned for" in errors
    assert "in deadlock" in errors


@pytest.mark.nats
async def test_a_slow_start_a_slow_loop_and_a_hanging_thread_are_no_hang(url: str) -> None:
    """Loading for longer than the patience before it is ready, a loop that turns every second, and an
    executor's thread that never returns end nobody.
    """
    # Three seconds of room: a busy machine may keep a loop waiting for two.
    code, errors = await ran(BUSY, url, patience_seconds=5)

    assert (0, "") == (code, errors)


class _LongStart:
    """A clock, a loop and an event to wait for: the loop stands still for 7 s and then says that it is ready."""

    def __init__(self, turns_after_ready: float) -> None:
        self.now, self._turns = 0.0, 7.0 + turns_after_ready

    def monotonic(self) -> float:
        return self.now

    @property
    def age_seconds(self) -> float:
        return self.now if self.now < self._turns else 0.0

    def ready(self) -> bool:
        return self.now >= 7.0

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.now > 30.0


@pytest.mark.parametrize(("turns_after", "ended"), [(2.0, False), (20.0, True)])
def test_a_start_is_no_hang_though_the_loop_turns_after_it_is_ready(
    turns_after: float, ended: bool
) -> None:
    """What a process loads before it is ready is not held against it when it is; a hang from then on is."""
    stage, ends = _LongStart(turns_after), list[float]()
    detector: Any = FailureDetector(5.0)
    double: Any = stage

    meter = ProcessorMeter(1, lambda _: {})
    _watch_loop(double, double, detector, stage.ready, double, ends.append, meter)

    assert bool(ends) == ended


async def test_the_thread_ends_with_the_block() -> None:
    """A loop that stands still after the block, as at the end of a process, is watched no more."""
    ends: list[float] = []
    environment = {"FORESAIL_HANG_SECONDS": "0.2"}
    async with hang_watchdog(environment, SystemClock(), lambda: True, end=ends.append):
        names = [one.name for one in threading.enumerate()]
    time.sleep(1.5)  # noqa: ASYNC251 - the loop stands still on purpose

    assert "hang-watch" in names
    assert [] == ends


async def test_patience_of_zero_is_for_ever() -> None:
    """Somebody debugs the process."""
    async with hang_watchdog({"FORESAIL_HANG_SECONDS": "0"}, SystemClock(), lambda: True):
        assert "hang-watch" not in [one.name for one in threading.enumerate()]


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_a_patience_that_cannot_be_is_bad_input(text: str) -> None:
    """A wrong number of seconds is one line."""
    with pytest.raises(ConfigError, match="FORESAIL_HANG_SECONDS"):
        hang_seconds({"FORESAIL_HANG_SECONDS": text})

    assert 10.0 == hang_seconds({})


def test_a_process_ends_its_hang_before_it_is_killed() -> None:
    """Whoever watches from outside has more patience, so that the stacks reach the log."""
    inside = hang_seconds(hang_variables(8.0))

    assert 0 < inside < 8.0
    assert 0 == hang_seconds(hang_variables(0.0))
