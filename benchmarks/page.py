"""The dashboard in a real Chromium: first paint, jumps, scrolling, live updates, memory; and many clients at once.

A recorded run is opened as people open it. `jumps` goes to moments all over it, `scroll` wheels through its log,
`grid` steps through the cycles of 5,000 nodes,
`live` replays it at 1,000 events a second and measures frames and the time from the log to the picture, `clients`
lets 100 readers follow at 200 events a second and checks that each sees every event or is told what it missed.

    python -m benchmarks.page --recording day.fslog [--parts jumps,scroll,grid,live,clients] [--seconds 20]

A day of 100 nodes: `foresail up --virtual-time --for 24h --nodes 100 --workload openb --seed 7 --record day.fslog`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import math
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.machine import Row, parser, percentile, report
from services.dashboard.app import STATIC

JUMPS = 40
LARGE_NODES = 5_000
STEP_MILLISECONDS = 200
CLIENTS = 100
LIVE_EVENTS_PER_SECOND = 1_000.0
CLIENT_EVENTS_PER_SECOND = 200.0
START_SECONDS = 300.0
BUNDLE_KILOBYTES = 150.0
FIRST_PAINT_MILLISECONDS = 1_000.0
JUMP_MILLISECONDS = 300.0
FRAMES_PER_SECOND = 50.0
PIXEL_MILLISECONDS = 250.0
TAB_MEGABYTES = 300.0
FRAMES = """seconds => new Promise(done => {
  const begin = performance.now(), at = [];
  const frame = now => { at.push(now); now - begin < 1000 * seconds ? requestAnimationFrame(frame) : done(at); };
  requestAnimationFrame(frame);
})"""
"""When each frame was drawn during some seconds."""
WATCH = """() => {
  window.seen = [];
  const shown = document.querySelector("[data-testid=moment]");
  new MutationObserver(() => {
    const seq = Number(/event ([\\d,]+)/.exec(shown.textContent)[1].replaceAll(",", ""));
    requestAnimationFrame(() => window.seen.push([seq, Date.now()]));
  }).observe(shown, { childList: true, characterData: true, subtree: true });
}"""
"""Note when the position that the page shows was drawn."""


@contextlib.contextmanager
def served(*words: str) -> Iterator[tuple[str, psutil.Process]]:
    """Run a verb that serves the page; yield its address and process once it has read everything."""
    command = [sys.executable, "-m", "foresail", *words]
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(command, stdout=told, stderr=told, stdin=subprocess.DEVNULL)
        try:
            yield _address(told, process), psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGINT)
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


def row(what: str, figure: float, unit: str, bar: float, *, at_least: bool = False) -> Row:
    """Return one row of the table."""
    good = figure >= bar if at_least else figure <= bar
    wanted = "none" if math.isinf(bar) else f"{'>=' if at_least else '<='} {bar:g}"
    return {"what": what, "figure": round(figure, 2), "unit": unit, "bar": wanted, "met": good}


def frame_row(what: str, at: list[float]) -> Row:
    """Return frames a second, as the slowest second of those that were watched has them."""
    seconds = int((at[-1] - at[0]) / 1000)
    counts = [sum(1 for one in at if s <= (one - at[0]) / 1000 < s + 1) for s in range(seconds)]
    return row(what, min(counts), "frames/s", FRAMES_PER_SECOND, at_least=True)


def jumps(options: argparse.Namespace) -> list[Row]:
    """Open the recording, and jump to moments all over it."""
    size = sum(len(gzip.compress(one.read_bytes())) for one in STATIC.iterdir()) / 1000
    rows = [row("page, packed", size, "kB", BUNDLE_KILOBYTES)]
    with served("dashboard", str(options.recording)) as (url, server), opened(url) as page:
        paint = page.evaluate(
            "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
        )
        rows.append(row("first paint", paint, "ms", FIRST_PAINT_MILLISECONDS))
        outline = httpx.get(f"{url}/api/outline", timeout=START_SECONDS).json()
        draw = random.Random(options.seed)
        took = []
        for _ in range(JUMPS):
            seq = draw.randint(outline["first_seq"], outline["last_seq"])
            begin = time.perf_counter()
            page.evaluate(
                "seq => { history.pushState(null, '', `/?at=${seq}`);"
                " dispatchEvent(new PopStateEvent('popstate')); }",
                seq,
            )
            page.wait_for_function(
                "seq => (document.querySelector('[data-testid=moment]')?.textContent ?? '')"
                ".replaceAll(',', '').endsWith(`event ${seq}`)",
                arg=seq,
                polling="raf",
            )
            took.append(1000 * (time.perf_counter() - begin))
        events = outline["last_seq"] - outline["first_seq"] + 1
        rows.append(
            row(
                f"jump, median of {JUMPS} in {events:,} events",
                percentile(took, 0.5),
                "ms",
                JUMP_MILLISECONDS,
            )
        )
        rows.append(row("jump, worst", max(took), "ms", JUMP_MILLISECONDS))
        rows.append(row("server, resident", server.memory_info().rss / 1e6, "MB", math.inf))
    return rows


def scroll(options: argparse.Namespace) -> list[Row]:
    """Wheel through the whole log."""
    with served("dashboard", str(options.recording)) as (url, _), opened(f"{url}/log") as page:
        page.get_by_test_id("rows").hover()
        page.evaluate(f"window.frames_ = ({FRAMES})({options.seconds})")
        begin = time.monotonic()
        while time.monotonic() - begin < options.seconds:
            page.mouse.wheel(0, 2_000)
        return [
            frame_row("scroll through the log, slowest second", page.evaluate("window.frames_"))
        ]


def grid(options: argparse.Namespace) -> list[Row]:
    """Step back and forth through the cycles of 5,000 nodes, with the mouse over the grid."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.fslog"
        _record(file, LARGE_NODES, "100s", options.seed)
        with served("dashboard", str(file)) as (url, _), opened(f"{url}/nodes") as page:
            page.evaluate(f"window.frames_ = ({FRAMES})({options.seconds})")
            begin = time.monotonic()
            steps = 0
            while time.monotonic() - begin < options.seconds:
                page.keyboard.press("]" if steps % 12 > 5 else "[")
                page.mouse.move(60 + 7 * steps % 400, 120 + 3 * steps % 160)
                steps += 1
                page.wait_for_timeout(STEP_MILLISECONDS)
            return [
                frame_row(
                    f"grid of {LARGE_NODES:,} nodes, {steps / options.seconds:.1f} steps a second",
                    page.evaluate("window.frames_"),
                )
            ]


def live(options: argparse.Namespace) -> list[Row]:
    """Follow a replay, and see how late and how smoothly it is drawn."""
    words = replay_words(options, LIVE_EVENTS_PER_SECOND)
    with (
        tempfile.TemporaryDirectory() as state,
        served(*words, "--state", state) as (url, _),
        opened(url) as page,
    ):
        page.evaluate(WATCH)
        before = _position(url)
        at = page.evaluate(FRAMES, options.seconds)
        rate = (_position(url) - before) / options.seconds
        seen = page.evaluate("window.seen")
        used = page.evaluate("performance.memory?.usedJSHeapSize ?? NaN") / 1e6
        late = sorted(_lateness(url, seen))
    return [
        row("live events", rate, "events/s", LIVE_EVENTS_PER_SECOND, at_least=True),
        frame_row("frames while they come, slowest second", at),
        row(
            f"log to picture, median of {len(late)}",
            percentile(late, 0.5),
            "ms",
            PIXEL_MILLISECONDS,
        ),
        row("log to picture, 99th percentile", percentile(late, 0.99), "ms", PIXEL_MILLISECONDS),
        row(f"tab's heap after {options.seconds:g} s", used, "MB", TAB_MEGABYTES),
    ]


def _lateness(url: str, seen: list[list[float]]) -> Iterator[float]:
    """Yield the milliseconds from the time that the log gave an event to the time that it was drawn."""
    with httpx.Client(base_url=url, timeout=START_SECONDS) as http:
        for seq, drawn_ms in seen:
            stored = http.get(f"/api/events/{int(seq)}").json()
            yield drawn_ms - stored["recorded_ns"] / 1e6


def _position(url: str) -> int:
    return int(httpx.get(f"{url}/healthz", timeout=START_SECONDS).json()["seq"])


def replay_words(options: argparse.Namespace, events_per_second: float) -> list[str]:
    """Return the verb that plays the recording at a rate."""
    from bus.recording import open_recording  # noqa: PLC0415

    times = [message.time_ns for message in open_recording(options.recording)]
    pace = len(times) / ((times[-1] - times[0]) / 1e9)
    return ["replay", str(options.recording), "--speed", f"{events_per_second / pace:.6f}"]


def clients(options: argparse.Namespace) -> list[Row]:
    """Let many readers follow, and check what each was given."""
    with tempfile.TemporaryDirectory() as state:
        words = [*replay_words(options, CLIENT_EVENTS_PER_SECOND), "--state", state]
        with served(*words) as (url, server):
            return asyncio.run(_follow_all(url, options.seconds, lambda: _weight(server)))


def _weight(server: psutil.Process) -> float:
    return server.memory_info().rss / 1e6


async def _follow_all(url: str, seconds: float, weight: Callable[[], float]) -> list[Row]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=START_SECONDS, limits=limits) as http:
        followers = [Follower() for _ in range(CLIENTS)]
        tasks = [asyncio.create_task(one.follow(http)) for one in followers]
        await asyncio.sleep(seconds / 4)
        early = weight()
        await asyncio.sleep(seconds * 3 / 4)
        late = weight()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    served_ = [one for one in followers if not one.refused]
    events = sum(one.events for one in served_) / max(1, len(served_))
    return [
        row("clients that were served", len(served_), "clients", 1, at_least=True),
        row(
            "clients that were refused with a reason",
            len(followers) - len(served_),
            "clients",
            CLIENTS,
        ),
        row("events per client", events, "events", CLIENT_EVENTS_PER_SECOND, at_least=True),
        row("rows missing without a word", sum(one.gaps for one in followers), "events", 0),
        row("rows twice", sum(one.doubles for one in followers), "events", 0),
        row(
            "rows skipped, and said so",
            sum(one.skipped for one in followers),
            "events",
            math.inf,
        ),
        row("server's growth from the first quarter on", 100 * (late / early - 1), "%", 5),
    ]


class Follower:
    """One reader of the stream, who counts."""

    def __init__(self) -> None:
        self.refused = False
        self.events = self.gaps = self.doubles = self.skipped = 0
        self._last = 0

    async def follow(self, http: httpx.AsyncClient) -> None:
        """Read until cancelled."""
        async with http.stream("GET", "/api/stream") as answer:
            self.refused = answer.status_code == httpx.codes.SERVICE_UNAVAILABLE
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    self._take(json.loads(line.removeprefix("data: ")))

    def _take(self, update: dict[str, Any]) -> None:
        seqs = [one[0] for one in update["rows"]]
        if not seqs:
            return
        if self._last:
            self.doubles += sum(1 for seq in seqs if seq <= self._last)
            self.gaps += max(0, seqs[0] - self._last - 1 - update["skipped"])
        self.gaps += seqs[-1] - seqs[0] + 1 - len(seqs)
        self.skipped += update["skipped"]
        self.events += len(seqs)
        self._last = seqs[-1]


PARTS: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "jumps": jumps,
    "scroll": scroll,
    "grid": grid,
    "live": live,
    "clients": clients,
}


def main() -> None:
    """Print a row for each figure."""
    options = _options()
    rows: list[Row] = []
    for part in options.parts:
        rows += PARTS[part](options)
    report(
        "the dashboard's page",
        options,
        rows,
        f"{options.recording.name}, {options.seconds:g} s a part",
    )


def _options() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument(
        "--recording", type=Path, metavar="FILE", help="a recorded run (default: records one)"
    )
    arguments.add_argument(
        "--parts", default=",".join(PARTS), metavar="NAMES", help="which of them"
    )
    arguments.add_argument(
        "--seconds", type=float, default=20.0, metavar="S", help="of each measurement"
    )
    options = arguments.parse_args()
    options.parts = options.parts.split(",")
    if unknown := set(options.parts) - set(PARTS):
        arguments.error(f"--parts: no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if options.recording is None:
        options.recording = Path(tempfile.mkdtemp(prefix="page-")) / "hour.fslog"
        _record(options.recording, 100, "1h", options.seed)
    return options


def _record(file: Path, nodes: int, lasting: str, seed: int) -> None:
    """Record a run in virtual time."""
    words = ["up", "--virtual-time", "--for", lasting, "--nodes", str(nodes), "--workload", "openb"]
    words += ["--seed", str(seed), "--record", str(file), "--state", f"{file}.state"]
    command = [sys.executable, "-m", "foresail", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
