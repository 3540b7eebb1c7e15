"""What the models of health cost a world in which nothing goes wrong by itself: beside the same world without them.

Two engines play the same hours side by side, in slices whose turn changes: one with the weather off, one of which no
model of health is part (nothing of `twin/health/` is wired to it, nobody is cold after a start). In both: Services
with requests and an HPA each, Jobs that come and go with their KubeEvents. The two have to end in one state hash, over
all that both have. A third plays the same hours in mild weather.

    python -m benchmarks.twin_health [--hours 6] [--nodes 300]

CPU seconds are those of the process; a ratio is the median over the slices, with the 10th and the 90th percentile.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.machine import parser, percentile, progress, report
from benchmarks.twin_engine import TASKS_PER_NODE_AND_DAY, arrivals
from benchmarks.twin_serving import REQUESTS_PER_SECOND, SERVICES, add_service
from twin.__main__ import RARE_COLLECTIONS
from twin.encoding import state_lines
from twin.port.engine import Engine
from twin.port.settings import HealthConfig, TwinConfig, Weather
from twin.port.workloads import plain_nodes

MODELS = ("MachineHealth", "ProgramHealth", "ProbeHealth")
"""Parts that an engine without health does not have."""
SLICE_SECONDS = 600.0
REQUEST_COST = "twin.serving.serving.request_cost"


class EngineWithoutHealth(Engine):
    """An engine of which no model of health is part."""

    def _build_health(self) -> None:
        vars(self.contention)["_coldness"] = _ones

    def stand_ins(self) -> AbstractContextManager[object]:
        """Return a context in which requests cost what they cost warm pods."""
        return patch(REQUEST_COST, _cost_of_warm)


def _ones(rows: Any, *_: object) -> Any:
    return np.ones(len(rows))


def main() -> int:
    """Measure, print; return 1 when the two worlds differ."""
    flags = parser(__doc__)
    flags.add_argument("--hours", type=float, default=6.0, help="simulated hours")
    flags.add_argument("--nodes", type=int, default=300)
    options = flags.parse_args()
    gc.freeze()
    gc.set_threshold(*RARE_COLLECTIONS)  # as the twin's own process does
    with progress(quiet=options.json) as shown:
        task = shown.add_task("slices", total=round(options.hours * 3_600.0 / SLICE_SECONDS))
        engines = [
            world(options, Engine, "off"),
            world(options, EngineWithoutHealth, "off"),
            world(options, Engine, "mild"),
        ]
        slices = []
        for number in range(round(options.hours * 3_600.0 / SLICE_SECONDS)):
            slices.append(play_slice(engines, number))
            shown.advance(task)
    hashes = [shared_hash(engine) for engine in engines[:2]]
    report("health models that are off", options, list(rows(engines, slices, hashes)))
    return int(hashes[0] != hashes[1])


def world(options: argparse.Namespace, kind: type[Engine], weather: Weather) -> Engine:
    """Return a cluster at its start."""
    engine = kind(TwinConfig(health=HealthConfig(weather=weather)), seed=options.seed)
    engine.add_nodes(plain_nodes(options.nodes))
    for number in range(SERVICES):
        add_service(engine, f"s{number}", REQUESTS_PER_SECOND / SERVICES)
    count = round(options.nodes * options.hours * TASKS_PER_NODE_AND_DAY / 24.0)
    engine.load(arrivals(count, options.hours * 3_600.0, options.seed))
    return engine


def play_slice(engines: list[Engine], number: int) -> list[float]:
    """Let each play the next slice, each time another first; return the CPU seconds that each took."""
    took = [0.0] * len(engines)
    for turn in range(len(engines)):
        place = (number + turn) % len(engines)
        engine = engines[place]
        with engine.stand_ins() if isinstance(engine, EngineWithoutHealth) else nullcontext():
            began = time.process_time()
            engine.advance(engine.now + SLICE_SECONDS)
            took[place] = time.process_time() - began
    return took


def _cost_of_warm(_: object, rows: Any, *__: object) -> Any:
    return _ones(rows)


def shared_hash(engine: Engine) -> str:
    """Return the state hash over all parts but the models of health; raises AssertionError if these keep anything."""
    for name in MODELS:
        kept = engine.parts[name].kept() if name in engine.parts else {}
        assert not any(kept.values()), f"{name} keeps {kept}"
    shared = sorted(
        set(engine.parts) - set(MODELS)
    )  # they are found in another order without the models
    parts = {name: engine.parts[name] for name in shared}
    return engine.hash_of(state_lines(engine.seed, engine.config, parts))


def rows(
    engines: list[Engine], slices: list[list[float]], hashes: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield what was measured."""
    names = ("weather off", "without the models", "weather mild")
    for name, engine, took in zip(names, engines, zip(*slices, strict=True), strict=True):
        yield {"what": name, "unit": "CPU s", "value": round(sum(took), 2)}
        yield {"what": name, "unit": "events", "value": engine.clock.handled}
    for name, place in (("off", 0), ("mild", 2)):
        ratios = [took[place] / took[1] for took in slices]
        what = f"weather {name} over without the models"
        yield {"what": what, "unit": "median of CPU ratios", "value": round(median(ratios), 3)}
        for share in (0.1, 0.9):
            value = round(percentile(ratios, share), 3)
            yield {"what": what, "unit": f"{share:.0%} of CPU ratios", "value": value}
    same = "one" if hashes[0] == hashes[1] else "two"
    yield {"what": "state hashes, off and without", "unit": same, "value": hashes[0][:16]}


if __name__ == "__main__":
    raise SystemExit(main())
