"""Make the pictures of screens in docs/: `python -m docs.make_screens`.

Two recordings are played on virtual time from examples/incidents; `explain.svg` and `timeline.svg` are
what the terminal shows of them, `timeline.png` is the page (only where there is a Chromium). A test
makes the SVG pictures anew and compares.
"""

from __future__ import annotations

import asyncio
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console, RenderableType
from rich.terminal_theme import MONOKAI

from foresail.explain import read_record
from foresail.explanation import screen
from foresail.html_page import write_page
from foresail.log_source import RecordingSource
from foresail.settings import StackSettings, resolve
from foresail.stack.virtual import run_virtual_stack
from foresail.timeline import read_history
from foresail.timeline.html import page_of
from foresail.timeline.terminal import incident_view
from projections.incidents.chain import incidents
from projections.incidents.incident import Incident

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples" / "incidents"
COLUMNS = 100
EXPLAINED, TOLD = "node-failure", "hpa-lag"
"""Which incident is explained, and which is told as a timeline."""
CYCLE_SECONDS = 10.0
RUNS: Mapping[str, tuple[float, str]] = {
    "hpa-lag": (860.0, "shadow"),
    "node-failure": (780.0, "active"),
    "unschedulable-burst": (640.0, "active"),
}
"""Seconds played of each incident, and the executor's mode."""
WIDTH, HEIGHT = 1280, 900


def explain_screen(recording: Path) -> str:
    """Return the picture of `foresail explain` on the decision that answered the node's failure."""

    async def answer() -> RenderableType:
        source = RecordingSource(recording)
        history = await read_history(source, None)
        down = incidents(history)[-1].damage_seconds
        first = next(
            event for event in history.executions if event.data.cluster_time_seconds >= down
        )
        return screen(await read_record(source, first.cycle), recording="node-failure.fslog")

    return picture(asyncio.run(answer()), "foresail explain")


def newest_incident(recording: Path) -> Incident:
    """Return the newest incident of a recording."""
    return incidents(asyncio.run(read_history(RecordingSource(recording), None)))[-1]


def timeline_screen(recording: Path) -> str:
    """Return the picture of `foresail timeline`."""
    return picture(incident_view(newest_incident(recording)), "foresail timeline")


def picture(what: RenderableType, title: str) -> str:
    """Return what a terminal shows as SVG that loads nothing from elsewhere."""
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(what)
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id="screen")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def photograph(page: Path, out: Path) -> None:
    """Write a picture of the page; nothing without a Chromium."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write("no chromium on PATH: timeline.png stays as it is\n")
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only in the dev extra

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=chromium,
            headless=True,
            args=["--no-sandbox", "--disable-gpu", "--no-first-run"],
            viewport={"width": WIDTH, "height": HEIGHT},
            color_scheme="light",
        )
        tab = context.new_page()
        tab.goto(page.resolve().as_uri())
        tab.locator("figure").wait_for()
        tab.screenshot(path=out, full_page=True)
        context.close()


def settings_of(name: str, recording: Path) -> StackSettings:
    """Return how an incident is played; without shadow models, whose numbers change with them."""
    seconds, mode = RUNS[name]
    given = {
        "run.virtual_time": True,
        "agents.profile": "baseline-rules",
        "run.for_seconds": seconds,
        "run.interval_seconds": CYCLE_SECONDS,
        "run.speed": 1.0,
        "run.mode": mode,
        "run.workload": str(EXAMPLES / f"{name}.csv"),
        "run.weather": "off",  # an incident is told by its script alone
        "run.scenario": str(EXAMPLES / f"{name}.yaml"),
        "run.record": str(recording),
        "inference.shadow_models": (),
    }
    return resolve(None, {}, given)


def play(name: str, folder: Path) -> Path:
    """Play one incident and return its recording."""
    path = folder / f"{name}.fslog"
    run_virtual_stack(settings_of(name, path), quiet=True)
    return path


def main() -> int:
    """Write every picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (DOCS / "explain.svg").write_text(explain_screen(play(EXPLAINED, folder)), encoding="utf-8")
        recording = play(TOLD, folder)
        (DOCS / "timeline.svg").write_text(timeline_screen(recording), encoding="utf-8")
        write_page(folder / "page.html", page_of(newest_incident(recording)))
        photograph(folder / "page.html", DOCS / "timeline.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
