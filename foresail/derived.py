"""Settings that follow from the run's own: pacing, mode, namespaces and seeds, unless the user set
them directly.
"""

from __future__ import annotations

from foresail.settings import StackSettings
from schemas.outcome import Mode


def derived(settings: StackSettings) -> StackSettings:
    """Return the settings with every dependent value filled in; a value that the user gave is left
    alone.
    """
    run = settings.run
    speed = 1.0 if run.speed is None else run.speed
    wanted = {
        "collector.interval_seconds": run.interval_seconds,
        "collector.speed": speed,
        "collector.namespaces": run.namespaces,
        "agents.wall_interval_seconds": run.interval_seconds,
        "referee.wall_interval_seconds": run.interval_seconds,
        "executor.mode": run.mode,
        "executor.namespaces": run.namespaces if run.kubeconfig else None,
        "exerciser.seed": run.seed,
    }
    groups = dict(settings.groups)
    for name, value in wanted.items():
        group, field = name.split(".")
        if name not in settings.origins and value is not None:
            given = {**groups[group].model_dump(), field: value}
            groups[group] = type(groups[group]).model_validate(given)
    return StackSettings(groups, settings.origins)


def mode_of(settings: StackSettings, otherwise: Mode) -> Mode:
    """Return the mode in which the executor will run; `otherwise` where nobody chose one."""
    if "executor.mode" in settings.origins:
        return Mode(settings.groups["executor"].model_dump()["mode"])
    return otherwise if settings.run.mode is None else Mode(settings.run.mode)
