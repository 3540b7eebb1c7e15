"""How long a test may take: by the processor time it uses, so that a busy machine fails nothing.

A `timeout` of 30 means 30 s of processor time of the test's own process. A test that waits, for
other processes or for nothing, uses none; for it a wall-clock limit of ten times as much holds, and
never less than five minutes.

A test that goes over its limit is interrupted again and again until it ends, and is then reported
as too slow whatever it reported itself: code under test may have caught the interruption (asyncio
stores it in whichever task was running). A process that does not even come round to being
interrupted is ended with the stacks of its threads.
"""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Generator
from types import FrameType
from typing import Any

import pytest
import pytest_timeout

WALL_FACTOR = 10.0
LEAST_WALL_SECONDS = 300.0
AGAIN_CPU_SECONDS = 1.0
AGAIN_WALL_SECONDS = 10.0
END_AFTER = 1.5
"""Times the wall limit after which the process is ended."""

_EXPIRED = pytest.StashKey[str]()


def wall_limit(seconds: float) -> float:
    """Return the wall seconds of a test that may use `seconds` of processor time."""
    return max(LEAST_WALL_SECONDS, WALL_FACTOR * seconds)


@pytest.hookimpl
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """Start both clocks; pytest-timeout asks for this before each test."""
    wall_seconds = wall_limit(settings.timeout)
    limits = {
        signal.SIGPROF: f"used more than {settings.timeout:g} s of processor time",
        signal.SIGALRM: f"took longer than {wall_seconds:g} s",
    }

    def interrupt(number: int, frame: FrameType | None) -> None:
        del frame
        if pytest_timeout.is_debugging():
            return
        if _EXPIRED not in item.stash:
            item.stash[_EXPIRED] = limits[signal.Signals(number)]
            pytest_timeout.dump_stacks(item.config.get_terminal_writer())
        pytest.fail(f"the test {item.stash[_EXPIRED]}")

    for number in limits:
        signal.signal(number, interrupt)
    signal.setitimer(signal.ITIMER_PROF, settings.timeout, AGAIN_CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, wall_seconds, AGAIN_WALL_SECONDS)
    faulthandler.dump_traceback_later(END_AFTER * wall_seconds, exit=True)
    return True


@pytest.hookimpl
def pytest_timeout_cancel_timer(item: pytest.Item) -> bool:
    """Stop both clocks."""
    del item
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Report a test over its limit as failed, and say that first."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if _EXPIRED in item.stash and report.when == "call":
        report.outcome = "failed"
        report.longrepr = f"the test {item.stash[_EXPIRED]}\n\n{report.longreprtext}"
