"""When one stops waiting for a child process: when it hangs, not when the machine is slow."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from bus import child_timeouts
from bus.child_process import ChildProcess
from bus.child_timeouts import IDLE_SECONDS, StartTimeout, StopTimeout
from bus.errors import NeverReady
from bus.processor_time import ProcessorMeter, ProcessorTime, Threads, read_threads
from tests.patience import HANGS_SECONDS

IDLE = ProcessorTime(used_seconds=0.005)
BUSY = ProcessorTime(used_seconds=1.0)
STARVED = ProcessorTime(used_seconds=0.01, delayed_seconds=0.99)


def first_refusal(
    patience: StartTimeout | StopTimeout, time: ProcessorTime, rounds: int
) -> tuple[int, str]:
    """Return the number of the round of a second in which the patience ends, and why; 0 when it does not."""
    for number in range(1, rounds + 1):
        if why := patience.observe(1.0, time):
            return number, why
    return 0, ""


def test_a_start_that_does_nothing_hangs() -> None:
    """After half a minute without work; the timers of an idle program are no work."""
    number, why = first_refusal(StartTimeout(), IDLE, 1_000)

    assert number == IDLE_SECONDS
    assert "did nothing for 30 s" in why


def test_a_busy_start_has_time_up_to_a_far_bound() -> None:
    """Work ends what counted as idle before; only the bound ends a start that goes on working."""
    patience = StartTimeout(100.0)
    assert first_refusal(patience, IDLE, 29) == (0, "")
    assert first_refusal(patience, BUSY, 1) == (0, "")
    assert first_refusal(patience, IDLE, 29) == (0, "")

    number, why = first_refusal(patience, BUSY, 1_000)
    assert 29 + 1 + 29 + number == 100
    assert "still busy and not ready after 100 s" in why


def test_waiting_for_a_processor_is_nobodys_fault() -> None:
    """A child that gets one in a hundred parts of the machine has a hundred times as long."""
    assert first_refusal(StartTimeout(10.0), STARVED, 900) == (0, "")
    assert first_refusal(StopTimeout(10.0), STARVED, 900) == (0, "")
    assert first_refusal(StopTimeout(10.0), IDLE, 900)[0] == 10


def test_a_round_in_which_the_waiter_was_away_counts_once() -> None:
    """The machine slept for a day while a child started, and another one ended."""
    assert not StartTimeout(10.0).observe(86_400.0, IDLE)
    assert not StopTimeout(10.0).observe(86_400.0, IDLE)


def test_a_meter_counts_from_look_to_look() -> None:
    """Use of all threads, the wait of the one that waited longest; a thread that ended counts no more."""
    looks: list[Threads] = [
        {1: (5.0, 1.0), 2: (1.0, 4.0)},
        {1: (6.0, 1.5), 2: (3.0, 4.25), 3: (0.5, 0.0)},
        {1: (6.0, 1.5)},
        {},
    ]
    meter = ProcessorMeter(7, lambda _: looks.pop(0))

    assert meter.since_last() == ProcessorTime(3.5, 0.5)
    assert meter.since_last() == ProcessorTime()
    assert meter.since_last() == ProcessorTime()


@pytest.mark.skipif(sys.platform != "linux", reason="counted by Linux alone")
def test_the_kernel_counts_this_process() -> None:
    """Its main thread has run; a process that is not there has none."""
    assert read_threads(os.getpid())[os.getpid()][0] > 0.0
    assert read_threads(1 << 30) == {}


async def test_a_child_that_is_stopped_never_gets_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noticed by its idleness, and said; the child is left to its owner."""
    monkeypatch.setattr(child_timeouts, "IDLE_SECONDS", 1.0)
    child = ChildProcess()
    await child.start((sys.executable, "-c", "import time; time.sleep(3600)"))
    os.kill(child.pid, signal.SIGSTOP)
    with pytest.raises(NeverReady, match="did nothing for 1 s"):
        async with asyncio.timeout(HANGS_SECONDS):
            await child.wait_ready(asyncio.Event().wait())
    assert child.runs
    child.kill()
    await child.wait()


async def test_a_child_that_ends_is_not_waited_for() -> None:
    """Whatever it should have done first."""
    child = ChildProcess()
    await child.start((sys.executable, "-c", ""))
    with pytest.raises(NeverReady, match="ended at once"):
        async with asyncio.timeout(HANGS_SECONDS):
            await child.wait_ready(asyncio.Event().wait())
