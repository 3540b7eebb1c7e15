"""The cluster a stack watches: the twin in a process of its own, or a real one by its kubeconfig."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bus.clock import Clock
from foresail.dependent_settings import fill_dependent, mode_of
from foresail.settings import StackSettings
from foresail.stack.supervised_processes import supervised_twin
from foresail.stack.supervisor import Supervisor
from foresail.stack.twin_process import TwinProcess
from foresail.stack.workload import ChosenWorkload
from schemas.outcome import Mode

CLUSTER_SERVICES = ("collector", "executor", "exerciser")
"""Services that touch the cluster; the twin gives each an identity of its own."""


@dataclass
class ControlledCluster:
    """The cluster under control."""

    kubeconfigs: Mapping[str, str]
    """Kubeconfig of each service that touches the cluster."""
    description: str
    mode: str
    speed: float
    stack_pid: int
    twin: TwinProcess | None = None
    """The simulated cluster; None for a real one."""

    def settings_in_force(self, settings: StackSettings) -> StackSettings:
        """Return the settings with the cluster's mode and speed filled in."""
        run = settings.run.model_copy(update={"mode": self.mode, "speed": self.speed})
        return fill_dependent(settings.model_copy(update={"run": run}))


def with_start(settings: StackSettings, clock: Clock) -> StackSettings:
    """Fill in when the simulated cluster's time starts: now, to the second, unless it was given."""
    if settings.run.kubeconfig or settings.run.start_time is not None:
        return settings
    now = datetime.fromtimestamp(clock.wall_ns() // 1_000_000_000, UTC)
    return settings.model_copy(update={"run": settings.run.model_copy(update={"start_time": now})})


async def start_cluster(
    settings: StackSettings,
    workload: ChosenWorkload | None,
    folder: Path,
    supervisor: Supervisor,
) -> ControlledCluster:
    """Start the twin, which `supervisor` stops, or take the kubeconfig.

    Raises:
        InputError: the twin refuses what it was given.
    """
    run = settings.run
    if workload is None:
        mode = str(mode_of(settings, Mode.SHADOW))
        paths = dict.fromkeys(CLUSTER_SERVICES, str(run.kubeconfig))
        return ControlledCluster(paths, "of the kubeconfig", mode, run.speed or 1.0, os.getpid())
    twin = TwinProcess(settings, workload, folder)
    supervisor.add(supervised_twin(twin))
    ready = await twin.start()
    return ControlledCluster(
        kubeconfigs={name: ready[f"{name}_kubeconfig"] for name in CLUSTER_SERVICES},
        description=ready["address"],
        mode=str(mode_of(settings, Mode.ACTIVE)),
        speed=workload.speed,
        stack_pid=os.getpid(),
        twin=twin,
    )
