"""A trial whose workload is a family: its seed's world is drawn and written, and is there as long as it is played."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bus.errors import ConfigError, InputError
from foresail.settings_sources import DATA_VARIABLE
from lab.experiments.spec import Trial
from lab.rate_worlds.draw import draw_world, from_minute
from lab.rate_worlds.families import FAMILIES
from lab.rate_worlds.files import read_history, start_seconds, write_world
from lab.rate_worlds.pieces import DAY_MINUTES, minute_of_day
from lab.rate_worlds.rate_sets import Floats


@contextmanager
def with_files(trial: Trial) -> Iterator[Trial]:
    """Yield a trial whose workload is a file, or a shipped one, inside the block.

    Raises:
        InputError: there is no such family.
        ConfigError: nobody says where the published rates are.
    """
    family = trial.workload.family
    if family is None:
        yield trial
        return
    if family not in FAMILIES:
        raise InputError(
            f"workloads.{trial.workload.name}.family", family, f"use one of {', '.join(FAMILIES)}"
        )
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        remedy = "name the folder with the published request rates"
        raise ConfigError(DATA_VARIABLE, "(unset)", remedy)
    world = draw_world(Path(folder), family, trial.seed)
    if trial.workload.begins is not None:
        first = minute_of_day(trial.workload.begins)
        late = from_minute(world, first, DAY_MINUTES - first)
        pairs = zip(late.services, world.services, strict=True)
        services = tuple(replace(one, replicas=whole.replicas) for one, whole in pairs)
        world = replace(late, services=services)
    with TemporaryDirectory(prefix="foresail-world-") as written:
        path = write_world(world, Path(written))
        start = datetime.fromtimestamp(start_seconds(world), UTC)
        changes = {"plays": str(path), "start_time": start, "family": None, "begins": None}
        yield replace(trial, workload=trial.workload.model_copy(update=changes))


def history_of(trial: Trial) -> dict[str, Floats]:
    """Return what is known of the time before a trial whose workload is a file, by Service."""
    return {} if trial.workload.plays is None else read_history(Path(trial.workload.plays).parent)
