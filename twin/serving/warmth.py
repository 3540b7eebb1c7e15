"""Pods that have just started: requests cost them more CPU until they are warm.

A Service may say over which time its pods warm up (`foresail.dev/warm-up-seconds`); they then begin at
`ServingConfig.cold_speed`. Otherwise the weather says it, by image: `usage["warm_seconds"]`, and
`HealthConfig.warm_cpu_ratio` times the CPU at the start (docs/twin/health.md). Both fall evenly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twin.behaviour.usage_table import UsageTable
from twin.config import TwinConfig

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def cold_share(warm_seconds: Floats | float, begin_age: Floats, seconds: float) -> Floats:
    """Return how cold a pod is: 1 at its start, 0 from the age of `warm_seconds` on, evenly falling in
    between; the mean over the `seconds` that follow `begin_age`, or that moment's for 0 seconds.
    """
    warm = np.maximum(warm_seconds, 1e-9)
    first = np.minimum(np.maximum(begin_age, 0.0), warm)
    if seconds <= 0.0:
        return np.asarray(1.0 - first / warm)
    last = np.minimum(np.maximum(begin_age + seconds, 0.0), warm)
    return np.asarray((last - first) * (1.0 - (first + last) / (2.0 * warm)) / seconds)


def request_cost(
    usage: UsageTable,
    rows: Ints,
    config: TwinConfig,
    warm_up_seconds: float | None,
    span: tuple[float, float],
) -> Floats:
    """Return the CPU that a request costs each pod over a span of unix times, over what it costs a warm
    one: at least 1. `warm_up_seconds` is what the Service says; None: as the weather has it.
    """
    begin, end = span
    ages = begin - usage["started_at"][rows]
    warm_seconds = usage["warm_seconds"][rows] if warm_up_seconds is None else warm_up_seconds
    if not (ages < warm_seconds).any():  # as nearly always
        return np.ones(len(rows))
    cold = cold_share(warm_seconds, ages, end - begin)
    if warm_up_seconds is None:
        return np.asarray(1.0 + (config.health.warm_cpu_ratio - 1.0) * cold)
    return np.asarray(1.0 / (1.0 - (1.0 - config.serving.cold_speed) * cold))
