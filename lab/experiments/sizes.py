"""What running pods request and use, from the twin's truth: the slack between them, and what too little costs.

Slack is 1 - used / requested, as Autopilot (Rzadca et al., EuroSys 2020) has it: requests and use are summed over time
and pods first. A pod starves in a minute in which it gets less than it wants of its machine's cores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twin.port.engine import Engine
from twin.port.objects import PodRecord

STARVED_SHARE = 0.99
"""A pod that gets less of what it wants is starved: what is missing below that is rounding."""


@dataclass(slots=True)
class PodSizes:
    """Sums since the last reset: CPU in millicore-seconds, memory in byte-seconds."""

    cpu_requested: float = 0.0
    cpu_used: float = 0.0
    memory_requested: float = 0.0
    memory_used: float = 0.0
    starved_seconds: float = 0.0
    memory_kills: int = 0

    def look(self, engine: Engine, seconds: float) -> None:
        """Add what passed since the last look, as if it had been all along as it is now."""
        usage = engine.usage
        rows = usage.rows()
        pods = [engine.world.pods[usage.uids[row]] for row in rows.tolist()]
        self.cpu_requested += seconds * sum(pod.actual.cpu_request_millicores for pod in pods)
        self.memory_requested += seconds * sum(pod.actual.memory_request_bytes for pod in pods)
        self.cpu_used += seconds * float(usage["cpu_now"][rows].sum())
        self.memory_used += seconds * float(usage["memory_now"][rows].sum())
        self.starved_seconds += seconds * int(np.sum(usage["share"][rows] < STARVED_SHARE))

    def follow(self, pod: PodRecord, before: PodRecord) -> None:
        """Count a container that has just been killed for lack of memory."""
        ended = pod.ended
        if ended is not None and ended is not before.ended and ended.reason == "OOMKilled":
            self.memory_kills += 1

    def metrics(self) -> dict[str, float]:
        """Return the metrics that apply; without requests there is no slack."""
        values = {
            "memory_kills": float(self.memory_kills),
            "starved_pod_minutes": self.starved_seconds / 60.0,
            "requested_core_hours": self.cpu_requested / 3.6e6,
            "requested_gib_hours": self.memory_requested / 3_600.0 / (1 << 30),
        }
        if self.cpu_requested > 0.0:
            values["cpu_slack_ratio"] = 1.0 - self.cpu_used / self.cpu_requested
        if self.memory_requested > 0.0:
            values["memory_slack_ratio"] = 1.0 - self.memory_used / self.memory_requested
        return values
