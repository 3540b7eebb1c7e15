"""The process that `benchmarks.page` watches for an hour: `foresail replay` of a recording that is played on end.

python -m benchmarks.page_player FILE EVENTS_PER_SECOND STATE_FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.longer_recording import played_on_end
from benchmarks.machine import quiet
from benchmarks.page_scene import speed_of
from bus.clock import SystemClock
from foresail import stopping
from foresail.replay.player import Player
from foresail.replay.stage import ReplayTarget, open_stage


async def play(file: Path, events_per_second: float, state: Path) -> None:
    """Serve the page over a replay of its own, and play until cancelled."""
    clock = SystemClock()
    place = ReplayTarget(state, "hour", "", dashboard_port=0)
    async with open_stage(place, clock) as stage:
        print(f"dashboard: {stage.stack.dashboard_url}", flush=True)
        player = Player(stage.bus, place.cluster, clock, speed=speed_of(file, events_per_second))
        await player.play(played_on_end(file), 1)


if __name__ == "__main__":
    quiet()
    stopping.run(play(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])))
