"""What a pod does once it runs: its mean usage, its work, and how it ends.

Workload arrivals write this as annotations on the pod, so that it is visible and travels through
Deployments and Jobs. Where a pod has none, its command says how long it runs if that can be read
(`commands.py`); otherwise it gets the defaults of the settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from inputs.quantities import parse_millicores, parse_whole
from twin.behaviour.commands import course_of
from twin.config import TwinConfig
from twin.records import PodRecord
from twin.workloads.arrival import UsageWindow, windows_from_text

CPU_USAGE_RATIO = "foresail.dev/cpu-usage-ratio"
MEMORY_USAGE_RATIO = "foresail.dev/memory-usage-ratio"
WORK_SECONDS = "foresail.dev/work-seconds"
OUTCOME = "foresail.dev/outcome"
DEADLINE_SECONDS = "foresail.dev/deadline-seconds"
"""After it was asked for, a Job or a bare pod; what ends later is late."""
EXIT_CODES = {"fail": 1, "give up": 3}
"""By outcome; after `give up` a Job with attempts does not try again."""
USAGE_WINDOWS = "foresail.dev/usage-windows"
ENDLESS_SECONDS = 1e12
"""Work that outlasts every run."""
USAGE_REQUESTS = "foresail.dev/usage-requests"
"""`cpu=1,memory=2Gi`: the requests that the ratios are of, for a pod that was made with others."""
_BEST_EFFORT_CPU_MILLICORES = 50.0
_BEST_EFFORT_MEMORY_BYTES = 64.0 * 2**20


@dataclass(frozen=True, slots=True)
class PodWork:
    """Mean usage, and seconds of work at full speed (inf: endless).

    With windows the means are those of the first; `usage_windows.py` turns to the next ones.
    """

    cpu_mean_millicores: float
    memory_mean_bytes: float
    work_seconds: float
    window_seconds: float = math.inf
    """Work until the first window ends; inf: the means stay."""


def is_local(pod: PodRecord, config: TwinConfig) -> bool:
    """Whether the containers of a pod are processes of this machine."""
    image = config.kubelet.local_image
    return bool(image) and set(pod.shape.images) == {image}


def read_work(pod: PodRecord, config: TwinConfig) -> PodWork:
    """Return what `pod` will do."""
    notes, shape = pod.annotations, pod.shape
    cpu_request, memory_request = _usage_requests(pod)
    first = math.inf
    cpu_ratio = _number(notes, CPU_USAGE_RATIO, config.cpu_usage_ratio)
    memory_ratio = _number(notes, MEMORY_USAGE_RATIO, config.memory_usage_ratio)
    cpu = cpu_request * cpu_ratio or _BEST_EFFORT_CPU_MILLICORES
    memory = memory_request * memory_ratio or _BEST_EFFORT_MEMORY_BYTES
    if USAGE_WINDOWS in notes and (windows := read_windows(pod)):
        first = windows[0].seconds
        cpu, memory = mean_usage(pod, windows[0])
    if is_local(pod, config):
        return PodWork(cpu, memory, math.inf)
    course = course_of(shape, pod)
    if course is not None:
        lasts = course.seconds
    else:
        lasts = math.inf if shape.restart_policy == "Always" else config.task_seconds
    return PodWork(
        cpu_mean_millicores=cpu,
        memory_mean_bytes=memory,
        work_seconds=_number(notes, WORK_SECONDS, lasts),
        window_seconds=first,
    )


def exit_code_of(pod: PodRecord) -> int:
    """Return the code with which the work of `pod` ends."""
    outcome = pod.annotations.get(OUTCOME)
    if outcome is not None or WORK_SECONDS in pod.annotations:
        return EXIT_CODES.get(outcome or "", 0)
    course = course_of(pod.shape, pod)
    return 0 if course is None else course.code


def read_windows(pod: PodRecord) -> tuple[UsageWindow, ...]:
    """Return the usage windows of a pod; none for a text that cannot be read."""
    try:
        return windows_from_text(pod.annotations.get(USAGE_WINDOWS, ""))
    except ValueError:
        return ()


def mean_usage(pod: PodRecord, window: UsageWindow) -> tuple[float, float]:
    """Return mean millicores and bytes within a window; its ratios are of the request."""
    cpu_request, memory_request = _usage_requests(pod)
    cpu = cpu_request or _BEST_EFFORT_CPU_MILLICORES
    memory = memory_request or _BEST_EFFORT_MEMORY_BYTES
    return cpu * window.cpu_ratio, memory * window.memory_ratio


def _usage_requests(pod: PodRecord) -> tuple[int, int]:
    """Return the millicores and bytes that usage ratios are of: what the pod's author asked for. A
    program does not need less because somebody gave it less.
    """
    shape = pod.usage_shape or pod.shape
    cpu, memory = shape.cpu_request_millicores, shape.memory_request_bytes
    text = pod.annotations.get(USAGE_REQUESTS)
    if text is None:
        return cpu, memory
    try:
        amounts = dict(part.split("=", 1) for part in text.split(",") if part)
        return parse_millicores(amounts.get("cpu", "0")), parse_whole(amounts.get("memory", "0"))
    except (ValueError, ArithmeticError):
        return cpu, memory


def _number(notes: Mapping[str, str], key: str, absent: float) -> float:
    try:
        value = float(notes[key])
    except (KeyError, ValueError):
        return absent
    return value if value >= 0.0 else absent
