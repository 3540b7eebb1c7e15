"""Printing beside the supervisor: a reader who stops reading stops nothing else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from functools import partial

import pytest

from foresail.stack.printing import BackgroundPrinter
from tests.patience import HANGS_SECONDS

FLOOD = """
import asyncio, sys
from foresail.stack.printing import BackgroundPrinter

async def flood():
    printer = BackgroundPrinter(limit=10_000)
    for number in range(5_000):
        printer.print(f"line {number} " + "x" * 90)
    await asyncio.sleep(0)
    printer.close()

asyncio.run(flood())
sys.stderr.write("went on")
"""


async def test_what_a_slow_reader_misses_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """The newest lines are kept, the oldest left out, and a line says how many those were."""
    printer = BackgroundPrinter(limit=3)
    begun, reads_again = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        reads_again.wait(60)

    printer.call(block)
    await asyncio.to_thread(begun.wait, 60)
    for number in range(5):
        printer.print(f"line {number}")
    reads_again.set()
    printer.close()

    lines = capsys.readouterr().out.splitlines()
    assert ["(2 lines were left out: nobody read them)", "line 2", "line 3", "line 4"] == lines


async def test_a_newer_screen_takes_the_place_of_older_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nobody needs to see every frame, and nothing is called left out."""
    printer = BackgroundPrinter()
    begun, reads_again = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        reads_again.wait(60)

    printer.call(block)
    await asyncio.to_thread(begun.wait, 60)
    for number in range(5):
        printer.call(partial(printer.console.print, "frame", number), newest_only=True)
    reads_again.set()
    printer.close()

    assert "frame 4\n" == capsys.readouterr().out


async def test_a_reader_who_went_away_is_noticed() -> None:
    """What printing raised is raised on the loop."""
    printer = BackgroundPrinter()

    def draw() -> None:
        raise BrokenPipeError

    printer.call(draw)
    async with asyncio.timeout(HANGS_SECONDS):
        with pytest.raises(BrokenPipeError):
            await printer.wait_broken()
    printer.close()


def test_a_full_pipe_that_nobody_reads_lets_the_process_go_on_and_end() -> None:
    """Half a megabyte does not fit into a pipe: the loop goes on, and the process ends."""
    with subprocess.Popen(
        [sys.executable, "-c", FLOOD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "went on" == process.stderr.read()
        assert 0 == process.wait(60)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("line 0 ")
