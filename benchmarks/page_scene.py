"""What the parts of `benchmarks.page` share: the page served, a Chromium on it, a recording, and a row of the table."""

from __future__ import annotations

import contextlib
import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.machine import Row
from bus.recording import open_recording

START_SECONDS = 900.0


@contextlib.contextmanager
def served(*words: str, module: str = "foresail") -> Iterator[tuple[str, psutil.Process]]:
    """Run a verb that serves the page; yield its address and process once it has read everything."""
    command = [sys.executable, "-m", module, *words]
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(command, stdout=told, stderr=told, stdin=subprocess.DEVNULL)
        try:
            yield _address(told, process), psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(START_SECONDS)


def _address(told: Any, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        told.seek(0)
        found = [word for word in told.read().split() if word.startswith("http://127.")]
        if found:
            with contextlib.suppress(httpx.HTTPError):
                url = str(found[0]).rstrip(")")
                if httpx.get(f"{url}/healthz", timeout=START_SECONDS).json()["state"] == "live":
                    return url
        time.sleep(0.2)
    told.seek(0)
    raise SystemExit(f"the page was not served: {told.read()[-500:]}")


@contextlib.contextmanager
def opened(url: str) -> Iterator[Any]:
    """Open a page in Chromium at 1440 x 900."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only these parts need it

    from tests.dashboard.test_page import CHROMIUM, FLAGS, PATIENCE_MILLISECONDS  # noqa: PLC0415

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.goto(url)
        page.get_by_test_id("moment").wait_for()
        yield page
        browser.close()


def position(url: str) -> int:
    """Return the position of the newest message that the server has read."""
    return int(httpx.get(f"{url}/healthz", timeout=START_SECONDS).json()["seq"])


def row(what: str, figure: float, unit: str, bar: float, *, at_least: bool = False) -> Row:
    """Return one row of the table."""
    good = figure >= bar if at_least else figure <= bar
    wanted = "none" if math.isinf(bar) else f"{'>=' if at_least else '<='} {bar:g}"
    return {"what": what, "figure": round(figure, 2), "unit": unit, "bar": wanted, "met": good}


def replay_words(recording: Path, events_per_second: float) -> list[str]:
    """Return the verb that plays a recording at a rate."""
    return ["replay", str(recording), "--speed", f"{speed_of(recording, events_per_second):.6f}"]


def speed_of(recording: Path, events_per_second: float) -> float:
    """Return how many times faster than recorded so many events a second are."""
    count, first_ns, last_ns = 0, 0, 0
    for message in open_recording(recording):
        first_ns, last_ns, count = first_ns or message.time_ns, message.time_ns, count + 1
    return events_per_second / (count / ((last_ns - first_ns) / 1e9))


def record(file: Path, nodes: int, lasting: str, seed: int) -> None:
    """Record a run in virtual time."""
    words = ["up", "--virtual-time", "--for", lasting, "--nodes", str(nodes), "--workload", "openb"]
    words += ["--seed", str(seed), "--record", str(file), "--state", f"{file}.state"]
    command = [sys.executable, "-m", "foresail", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
