"""What a policy sees of a cluster: SKRueue's 67 numbers, and a wider view that ends where the queue ends.

`skrueue`, by index: 0 and 1 cpu and memory free, as shares of the quota; 2 and 3 the shares in use; 4 running jobs
over 100; 5 cpu in use once more (SKRueue calls it history); 6 jobs that ended for want of memory over those that ended
within the hour; then for each of the ten slots cpu and memory over the quota, priority over 10, minutes waited over
60, estimated minutes over 120, type code. Clipped to [0, 1]; SKRueue's own values leave their Box.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inputs.errors import InputError
from lab.learning.backend import Backend
from lab.learning.jobs import utilization

Vector = NDArray[np.float32]

SLOTS = 10
CLUSTER_NUMBERS, JOB_NUMBERS = 7, 6
SKRUEUE_NUMBERS = CLUSTER_NUMBERS + SLOTS * JOB_NUMBERS
WIDE_CLUSTER_NUMBERS, WIDE_JOB_NUMBERS = 13, 9
MINUTE_SECONDS = 60.0
MOST_RUNNING, MOST_PRIORITY, MOST_WAIT_MINUTES, MOST_ESTIMATE_MINUTES = 100, 10, 60, 120
KIND_CODES = {"spark": 0.8, "realtime": 0.7, "ml": 0.6, "etl": 0.5, "batch": 0.4, "generic": 0.2}
"""By kind; what is not named is generic."""
HIDDEN, HISTORY = "hidden", "history"
"""Argument of an environment: numbers that are always 0, by their places or as one of the words for them."""
LONG_SECONDS = 1_000_000.0
"""Eleven and a half days: the upper end of the logarithmic scale of times."""
LONG_QUEUE = 1_000.0
"""Likewise of counts."""


def wide_numbers(slots: int) -> int:
    """Return the length of the wide observation."""
    return WIDE_CLUSTER_NUMBERS + slots * WIDE_JOB_NUMBERS


def skrueue_observation(cluster: Backend) -> Vector:
    """Return the 67 numbers, float32, each in [0, 1]; slots without a job are 0."""
    seen = np.zeros(SKRUEUE_NUMBERS, dtype=np.float32)
    quota, free = cluster.quota, cluster.free
    cpu_used, memory_used = utilization(quota, free)
    seen[0] = _share(free.cpu_millicores, quota.cpu_millicores)
    seen[1] = _share(free.memory_bytes, quota.memory_bytes)
    seen[2], seen[3] = cpu_used, memory_used
    seen[4] = min(len(cluster.running) / MOST_RUNNING, 1.0)
    seen[5] = cpu_used
    seen[6] = cluster.oom_ratio
    for slot, index in enumerate(cluster.slots(SLOTS)):
        job = cluster.job(index)
        at = CLUSTER_NUMBERS + slot * JOB_NUMBERS
        seen[at] = _share(job.requests.cpu_millicores, quota.cpu_millicores)
        seen[at + 1] = _share(job.requests.memory_bytes, quota.memory_bytes)
        seen[at + 2] = _unit(job.priority / MOST_PRIORITY)
        seen[at + 3] = _unit(cluster.wait_seconds(index) / MINUTE_SECONDS / MOST_WAIT_MINUTES)
        seen[at + 4] = _unit(job.estimate_seconds / MINUTE_SECONDS / MOST_ESTIMATE_MINUTES)
        seen[at + 5] = KIND_CODES.get(job.kind, KIND_CODES["generic"])
    return seen


def wide_observation(cluster: Backend, slots: int) -> Vector:
    """Return the numbers of `score`: cluster, the queue beyond the slots, then the slots; float32 in [0, 1].

    Cluster: 0 to 2 free cpu, memory, GPUs as shares; 3 running jobs; 4 the OOM share of the hour. The whole queue:
    5 its length; 6 its mean wait. Beyond the slots: 7 how many; 8 to 10 mean cpu, memory, GPUs as shares; 11 mean
    estimate; 12 the share that would fit now. Each slot: cpu, memory, GPUs as shares, priority, wait, estimate, kind,
    1 for a job that fits now, 1 for a job at all. Times and counts are on logarithmic scales.
    """
    seen = np.zeros(wide_numbers(slots), dtype=np.float32)
    quota, free, pending = cluster.quota, cluster.free, cluster.pending
    seen[0] = _share(free.cpu_millicores, quota.cpu_millicores)
    seen[1] = _share(free.memory_bytes, quota.memory_bytes)
    seen[2] = _share(free.gpus, quota.gpus)
    seen[3] = _log_unit(len(cluster.running), LONG_QUEUE)
    seen[4] = cluster.oom_ratio
    seen[5] = _log_unit(len(pending), LONG_QUEUE)
    seen[6] = _log_unit(cluster.mean_wait_seconds, LONG_SECONDS)
    seen[7:WIDE_CLUSTER_NUMBERS] = _beyond(cluster, pending[slots:])
    for slot, index in enumerate(pending[:slots]):
        job = cluster.job(index)
        at = WIDE_CLUSTER_NUMBERS + slot * WIDE_JOB_NUMBERS
        seen[at] = _share(job.requests.cpu_millicores, quota.cpu_millicores)
        seen[at + 1] = _share(job.requests.memory_bytes, quota.memory_bytes)
        seen[at + 2] = _share(job.requests.gpus, quota.gpus)
        seen[at + 3] = _unit(job.priority / MOST_PRIORITY)
        seen[at + 4] = _log_unit(cluster.wait_seconds(index), LONG_SECONDS)
        seen[at + 5] = _log_unit(job.estimate_seconds, LONG_SECONDS)
        seen[at + 6] = KIND_CODES.get(job.kind, KIND_CODES["generic"])
        seen[at + 7] = cluster.fits(index)
        seen[at + 8] = 1.0
    return seen


def _beyond(cluster: Backend, beyond: list[int]) -> list[float]:
    """Return what is told of the jobs behind the last slot: count, three mean shares, estimate, share that fits."""
    count = len(beyond)
    if not count:
        return [0.0] * 6
    jobs = [cluster.job(index) for index in beyond]
    return [
        _log_unit(count, LONG_QUEUE),
        _share(
            sum(job.requests.cpu_millicores for job in jobs), cluster.quota.cpu_millicores * count
        ),
        _share(sum(job.requests.memory_bytes for job in jobs), cluster.quota.memory_bytes * count),
        _share(sum(job.requests.gpus for job in jobs), cluster.quota.gpus * count),
        _log_unit(sum(job.estimate_seconds for job in jobs) / count, LONG_SECONDS),
        sum(cluster.fits(index) for index in beyond) / count,
    ]


def action_mask(cluster: Backend, slots: int, work_conserving: bool = False) -> NDArray[np.bool_]:
    """Return which actions would change anything: slots whose job fits now; the last, waiting, unless nobody would ever
    come or end any more while somebody fits. `work_conserving`: waiting only where nobody fits.
    """
    mask = np.zeros(slots + 1, dtype=np.bool_)
    for slot, index in enumerate(cluster.slots(slots)):
        mask[slot] = cluster.fits(index)
    something_comes = not work_conserving and cluster.next_event_seconds() != inf
    mask[slots] = something_comes or not mask.any()
    return mask


def hidden_places(arguments: Mapping[str, Any]) -> list[int]:
    """Return which numbers an environment made with these arguments does not show.

    `history` stands for all that depends on what was before: the OOM share of the hour, waits of jobs and their mean,
    and what SKRueue calls history.

    Raises:
        InputError: they are neither places nor a word for them.
    """
    hidden = arguments.get(HIDDEN, ())
    if hidden == HISTORY:
        return _history(arguments)
    if isinstance(hidden, list | tuple) and all(isinstance(place, int) for place in hidden):
        return list(hidden)
    raise InputError(HIDDEN, hidden, f"give places such as [5,6], or {HISTORY}")


def _history(arguments: Mapping[str, Any]) -> list[int]:
    slots = int(arguments.get("slots", SLOTS))
    if arguments.get("variant", "skrueue") == "skrueue":
        return [5, 6, *(CLUSTER_NUMBERS + slot * JOB_NUMBERS + 3 for slot in range(slots))]
    return [4, 6, *(WIDE_CLUSTER_NUMBERS + slot * WIDE_JOB_NUMBERS + 4 for slot in range(slots))]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))


def _log_unit(value: float, most: float) -> float:
    return min(1.0, log1p(max(0.0, value)) / log1p(most))
