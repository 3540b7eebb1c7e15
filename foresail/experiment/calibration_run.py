"""One world, played under a profile and branched at some of its actions."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import structlog

from foresail.experiment.branch_run import measure
from foresail.experiment.branching import BranchRecorder
from foresail.experiment.world_run import settings_of
from foresail.stack.virtual import run_virtual_stack
from lab.calibration.draw import draw_branched_world
from lab.calibration.samples import WorldSamples
from lab.experiments.code_version import code_version
from lab.random_worlds.draw import HOUR

OWN_MODULES = (
    "foresail.experiment.branch_run",
    "foresail.experiment.branching",
    "foresail.experiment.calibration_run",
    "foresail.experiment.world_run",
    "lab.calibration.continuation",
    "lab.calibration.draw",
    "lab.calibration.samples",
    "lab.random_worlds.draw",
)
"""What can change a sample beside all that can change a trial."""


def played_code() -> str:
    """Return the digest that tells the code which plays samples from any other."""
    return code_version(OWN_MODULES)


@dataclass(frozen=True, slots=True)
class CalibrationTask:
    """A world to be played."""

    seed: int
    profile: str
    kinds: tuple[str, ...] = ()
    """Kinds of expectations that are sampled; none: all."""
    seconds: float = HOUR
    """Cluster time that is played; branches go on beyond it."""


def sample_world(task: CalibrationTask) -> WorldSamples:
    """Play a world to its end and then every branch; nothing of the machine's surroundings counts.

    Raises:
        ConfigError: there is no such profile.
    """
    recorder = record_points(task)
    settings = recorder.settings
    assert settings is not None
    began = recorder.began_seconds
    return WorldSamples(
        seed=task.seed,
        profile=task.profile,
        code=played_code(),
        kinds=task.kinds,
        executed=dict(sorted(recorder.executed.items())),
        samples=tuple(measure(point, settings, began) for point in recorder.points),
    )


def record_points(task: CalibrationTask) -> BranchRecorder:
    """Play a world to its end and return where it branches.

    Raises:
        ConfigError: there is no such profile.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    recorder = BranchRecorder(task.seed, task.kinds)
    world = draw_branched_world(task.seed)
    with settings_of(world, task.seed, task.seconds, task.profile) as settings:
        run_virtual_stack(settings, quiet=True, branching=recorder)
    return recorder
