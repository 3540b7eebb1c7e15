"""The dashboard in a real Chromium: first paint, jumps, scrolling, live updates, memory; and many clients at once.

A recorded run is opened as people open it. `jumps` goes to moments all over it, `scroll` wheels through its log,
`grid` steps through the cycles of 5,000 nodes,
`live` replays it at 1,000 events a second and measures frames and the time from the log to the picture, `clients`
lets 100 readers follow at 200 events a second and checks that each sees every event or is told what it missed,
`hour` does so with a tab beside them, and watches the memory of both; the recording is played on end, again and again.

    python -m benchmarks.page --recording day.fslog [--parts jumps,scroll,grid,live,clients,hour] [--seconds 20]
    python -m benchmarks.page --recording day.fslog --parts hour --seconds 3600

A day of 100 nodes: `foresail up --virtual-time --for 24h --nodes 100 --workload openb --seed 7 --record day.fslog`.
"""

from __future__ import annotations

import argparse
import gzip
import math
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from benchmarks.machine import Row, parser, percentile, report
from benchmarks.page_clients import TAB_MEGABYTES, clients, hour
from benchmarks.page_scene import (
    START_SECONDS,
    opened,
    position,
    record,
    replay_words,
    row,
    served,
)
from services.dashboard.app import STATIC

JUMPS = 40
LARGE_NODES = 5_000
STEP_MILLISECONDS = 200
LIVE_EVENTS_PER_SECOND = 1_000.0
PACE_RATIO = 1.05
"""Of that rate: who plays at exactly the rate that is asked for always measures a little less."""
BUNDLE_KILOBYTES = 150.0
FIRST_PAINT_MILLISECONDS = 1_000.0
JUMP_MILLISECONDS = 300.0
FRAMES_PER_SECOND = 50.0
PIXEL_MILLISECONDS = 250.0
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
        record(file, LARGE_NODES, "100s", options.seed)
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
    words = replay_words(options.recording, PACE_RATIO * LIVE_EVENTS_PER_SECOND)
    with (
        tempfile.TemporaryDirectory() as state,
        served(*words, "--state", state) as (url, _),
        opened(url) as page,
    ):
        page.evaluate(WATCH)
        before = position(url)
        at = page.evaluate(FRAMES, options.seconds)
        rate = (position(url) - before) / options.seconds
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


PARTS: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "jumps": jumps,
    "scroll": scroll,
    "grid": grid,
    "live": live,
    "clients": clients,
    "hour": hour,
}


def main() -> None:
    """Print a row for each figure."""
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit("stopped")
    )  # by way of what stops the children
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
        record(options.recording, 100, "1h", options.seed)
    return options


if __name__ == "__main__":
    main()
