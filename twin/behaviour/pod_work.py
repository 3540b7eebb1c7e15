"""What a pod does once it runs: its mean usage, its work, and how it ends.

Workload arrivals write this as annotations on the pod, so that it is visible and travels through
Deployments and Jobs; a pod without them gets the defaults of the settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from twin.config import TwinConfig
from twin.records import PodRecord

CPU_USAGE_RATIO = "foresail.dev/cpu-usage-ratio"
MEMORY_USAGE_RATIO = "foresail.dev/memory-usage-ratio"
WORK_SECONDS = "foresail.dev/work-seconds"
OUTCOME = "foresail.dev/outcome"
USAGE_WINDOWS = "foresail.dev/usage-windows"
_BEST_EFFORT_CPU_MILLICORES = 50.0
_BEST_EFFORT_MEMORY_BYTES = 64.0 * 2**20


@dataclass(frozen=True, slots=True)
class PodWork:
    """Mean usage, seconds of work at full speed (inf: endless) and the exit code at its end."""

    cpu_mean_millicores: float
    memory_mean_bytes: float
    work_seconds: float
    exit_code: int


def work_of(pod: PodRecord, config: TwinConfig) -> PodWork:
    """Return what `pod` will do."""
    notes, shape = pod.annotations, pod.shape
    cpu = shape.cpu_request_millicores * _number(notes, CPU_USAGE_RATIO, config.cpu_usage_ratio)
    memory = shape.memory_request_bytes * _number(
        notes, MEMORY_USAGE_RATIO, config.memory_usage_ratio
    )
    ends = shape.restart_policy != "Always"
    return PodWork(
        cpu_mean_millicores=cpu or _BEST_EFFORT_CPU_MILLICORES,
        memory_mean_bytes=memory or _BEST_EFFORT_MEMORY_BYTES,
        work_seconds=_number(notes, WORK_SECONDS, config.task_seconds if ends else math.inf),
        exit_code=1 if notes.get(OUTCOME) == "fail" else 0,
    )


def _number(notes: Mapping[str, str], key: str, absent: float) -> float:
    try:
        value = float(notes[key])
    except (KeyError, ValueError):
        return absent
    return value if value >= 0.0 else absent
