"""Machine shapes and arrivals: what a workload hands to the simulation engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, NamedTuple

from inputs.plain_numbers import parse_number

LONGEST_WINDOWS = 64
"""Windows of one pod at most; they travel as one annotation (about 1 kB)."""


class UsageWindow(NamedTuple):
    """What a pod uses for `seconds` of its running time, as ratios of its request."""

    seconds: float
    cpu_ratio: float
    memory_ratio: float


@dataclass(frozen=True, slots=True)
class NodeShape:
    """One machine: allocatable cpu (millicores), memory (bytes), GPUs and labels.

    `cordoned` and `annotations` (such as its power state) are for start states.
    """

    name: str
    cpu_millicores: int
    memory_bytes: int
    gpus: int
    labels: Mapping[str, str]
    cordoned: bool = False
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkloadArrival:
    """One service or task that appears at `time_seconds` after the start.

    `duration_seconds` is how long each pod runs before it comes to `outcome`: `succeed`, `fail`,
    or `run` (deleted while running then; with duration None it runs on). Usage ratios are of
    the request; `usage_windows` take their place where a pod's use changes over its life: one
    after the other from the moment it runs, and what follows the last is as the last.
    `start_nodes` are where the first replicas already run when the arrival is a start state's.
    """

    time_seconds: float
    name: str
    kind: Literal["service", "task"]
    cpu_request_millicores: int
    memory_request_bytes: int
    gpus: int
    cpu_usage_ratio: float
    memory_usage_ratio: float
    duration_seconds: float | None
    outcome: Literal["succeed", "fail", "run"]
    replicas: int = 1
    priority: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "default"
    usage_windows: tuple[UsageWindow, ...] = ()
    start_nodes: tuple[str, ...] = ()
    traffic: str = ""
    """Requests over time of a service (`twin/traffic.py`); empty: none."""
    autoscaler: str = ""
    """Of a service (`twin/workloads/autoscaler.py`); empty: nobody scales it."""
    history: str = ""
    """Name of a file beside the workload that tells of the time before it; empty: none. It changes nothing here."""
    request_cpu_seconds: float | None = None
    """Of this and the next three None is the default of `twin/request_settings.py`."""
    request_cv: float | None = None
    request_timeout_seconds: float | None = None
    request_workers: int | None = None
    ready_seconds: float | None = None
    """From a container's start until it answers its readiness probe; None: there is none, it is ready at once."""
    late_after_seconds: float | None = None
    """After a task's arrival; work that ends later is counted as late. None: nothing is late."""
    active_deadline_seconds: int | None = None
    """After which its Job is given up (activeDeadlineSeconds); None: never."""
    attempts: str = ""
    """Of a task (`twin/workloads/attempts.py`): how each pod's attempts end, in place of duration and outcome."""


def windows_text(windows: Sequence[UsageWindow]) -> str:
    """Write windows as `seconds:cpu:memory;...`, as annotations and CSV cells hold them."""
    return ";".join(":".join(f"{number:.6g}" for number in window) for window in windows)


def windows_from_text(text: str) -> tuple[UsageWindow, ...]:
    """Read what `windows_text` wrote; empty text gives no windows.

    Raises ValueError for another form, a negative number, or more than LONGEST_WINDOWS windows.
    """
    if not text:
        return ()
    parts = [[parse_number(number) for number in part.split(":")] for part in text.split(";")]
    return read_windows(parts)


def read_windows(parts: Sequence[Sequence[float]]) -> tuple[UsageWindow, ...]:
    """Make windows of [seconds, cpu, memory] rows; raises ValueError as `windows_from_text`."""
    if len(parts) > LONGEST_WINDOWS:
        raise ValueError(f"{len(parts)} windows; at most {LONGEST_WINDOWS}")
    for part in parts:
        if len(part) != len(UsageWindow._fields):
            raise ValueError("each window is seconds:cpu_ratio:memory_ratio")
        if not all(isfinite(number) and number >= 0 for number in part) or not part[0]:
            raise ValueError("seconds must be over 0 and ratios 0 or more")
    return tuple(UsageWindow(*part) for part in parts)
