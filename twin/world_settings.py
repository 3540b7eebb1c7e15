"""Which world the settings of a twin make, or go on with: what its journal says is part of it."""

from __future__ import annotations

from inputs.clock import Clock
from twin.api.journal import WorldKey, recorded_world
from twin.local_commands import LOCAL_IMAGE
from twin.settings import TwinSettings, kueue_of, parts_left_out, provisioning_of


def with_start(settings: TwinSettings, clock: Clock) -> TwinSettings:
    """Fill in when the cluster's time starts: as its journal says, or at the wall clock's whole
    second. What is chosen is written into the journal, so a restart has the same. A journal also says whether
    there are server objects.
    """
    settings = as_recorded(settings)
    if settings.start_time_seconds is not None:
        return settings
    start = float(clock.wall_ns() // 1_000_000_000)
    return settings.model_copy(update={"start_time_seconds": start})


def as_recorded(settings: TwinSettings) -> TwinSettings:
    """Return settings with what the journal's first line settles, if there is one; a start time that is given
    stays, so that opening the journal can say that it is another.
    """
    recorded = None if settings.journal is None else recorded_world(settings.journal)
    if recorded is None:
        return settings
    start = settings.start_time_seconds
    changes = {
        "start_time_seconds": recorded.start_seconds if start is None else start,
        "server_objects": recorded.server_objects,
    }
    return settings.model_copy(update=changes)


def start_of(settings: TwinSettings) -> float:
    """Return when the cluster's time starts, which `with_start` has filled in."""
    assert settings.start_time_seconds is not None, "see with_start"
    return settings.start_time_seconds


def world_of(settings: TwinSettings) -> WorldKey:
    """Name the world that these settings make."""
    return WorldKey.of(
        settings.seed,
        settings.nodes,
        settings.workload,
        start_of(settings),
        settings.scenario,
        provisioning_of(settings.provisioner, settings.machines),
        settings.weather,
        settings.authorization,
        LOCAL_IMAGE if settings.run_commands else "",
        kueue_of(settings.kueue),
        parts_left_out(settings.without),
        server_objects=settings.server_objects,
    )
