"""One random world, played: the stack of `foresail up --virtual-time` beside the untouched world."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog

from foresail.settings import StackSettings, resolve
from foresail.stack.virtual import run_virtual_stack
from lab.experiments.code_version import code_version
from lab.random_worlds.draw import HOUR, RandomWorld, draw_world
from lab.random_worlds.results import WorldLog, WorldResult
from schemas.outcome import Mode

CYCLE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class WorldTask:
    """A world to be played."""

    seed: int
    profile: str
    seconds: float = HOUR
    """Cluster time that is played."""


def play_world(task: WorldTask) -> WorldResult:
    """Play a random world to its end; nothing of the machine's surroundings counts.

    Raises:
        ConfigError: there is no such profile.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    log = WorldLog()
    with settings_of(draw_world(task.seed), task.seed, task.seconds, task.profile) as settings:
        run_virtual_stack(settings, quiet=True, listener=log.take)
    return log.result(task.seed, task.profile, code_version())


@contextmanager
def settings_of(
    world: RandomWorld, seed: int, seconds: float, profile: str
) -> Iterator[StackSettings]:
    """Yield what plays a drawn world for so many seconds of cluster time; its files are there inside the block."""
    with TemporaryDirectory(prefix="foresail-world-") as folder:
        workload, scenario = Path(folder) / "world.jsonl", Path(folder) / "script.yaml"
        workload.write_text(world.workload_text(), encoding="utf-8")
        scenario.write_text(world.scenario_text(), encoding="utf-8")
        run: dict[str, Any] = {
            "workload": str(workload),
            "scenario": str(scenario) if world.faults else None,
            "seed": seed,
            "speed": 1.0,
            "interval_seconds": CYCLE_SECONDS,
            "for_seconds": seconds,
            "virtual_time": True,
            "mode": Mode.ACTIVE.value,
            "weather": "mild",
        }
        flags = {f"run.{name}": value for name, value in run.items()}
        yield resolve(None, {}, {**flags, "agents.profile": profile})
