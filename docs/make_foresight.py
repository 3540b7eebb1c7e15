"""Draw a foreseen rise, docs/foresight.svg: `python -m docs.make_foresight [RECORDING]`.

Without a recording it plays what `make run` plays, 24 minutes of it on virtual time, and draws that. The same recording
gives the same bytes; what agents and models do changes with them, so the picture is made by hand.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import aclosing
from pathlib import Path

from bus.events import read_events
from foresail.foresight_plot import foresight_svg
from foresail.log_source import RecordingSource
from foresail.plots import svg_file
from foresail.settings import StackSettings, resolve
from foresail.stack.virtual import run_virtual_stack
from projections.foresight.log import READS, ForesightLog

PICTURE = Path(__file__).with_name("foresight.svg")
ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "examples" / "first-run.toml"
WORLD = ROOT / "examples" / "opening" / "world.jsonl"
PLAYED_SECONDS = 96.0
"""Wall time of the first run, at fifteen seconds of its cluster in each."""


def settings_of(recording: Path, *, untouched: str = "on") -> StackSettings:
    """Return how the first run is played on virtual time; without shadow models, which take time and drive nothing."""
    given = {
        "run.virtual_time": True,
        "run.for_seconds": PLAYED_SECONDS,
        "run.workload": str(WORLD),
        "run.untouched": untouched,
        "run.record": str(recording),
        "inference.shadow_models": (),
    }
    return resolve(CONFIG, {}, given)


async def read_log(recording: Path) -> ForesightLog:
    """Return what a recording says of foresight."""
    log = ForesightLog()
    async with aclosing(read_events(RecordingSource(recording).messages(READS))) as entries:
        async for entry in entries:
            log = log if entry.event is None else log.after(entry.event)
    return log


def picture_of(recording: Path) -> str | None:
    """Return the picture as the text of an SVG file; None where nothing in the recording was foreseen."""
    svg = foresight_svg(asyncio.run(read_log(recording)))
    return None if svg is None else svg_file(svg)


def main() -> int:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        given = sys.argv[1:]
        recording = Path(given[0]) if given else Path(folder) / "first-run.fslog"
        if not given:
            run_virtual_stack(settings_of(recording), quiet=True)
        picture = picture_of(recording)
    if picture is None:
        sys.stderr.write(
            f"{recording.name}: nothing in it was foreseen and acted on; picture stays as it is\n"
        )
        return 1
    PICTURE.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
