"""Counters of requests and of Jobs' CPU time, as a metrics endpoint shows them in Prometheus' text format.

The Kubernetes API itself counts neither. The embedded cluster serves these families at its /metrics; they
are summed by Service there, so that they do not fall when a pod goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from schemas.work import LATENCY_BOUNDS, MOST_SERVICES, ServiceCounters

REQUESTS = "foresail_service_requests_total"
DURATIONS = "foresail_service_request_duration_seconds"
JOB_CPU = "foresail_job_cpu_seconds_total"
PATH = "/metrics"
QUERY = {"families": f"{REQUESTS},{DURATIONS},{JOB_CPU}"}
MOST_BYTES = 4 * 1024**2
_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_OUTCOMES = ("served", "failed", "lost")


@dataclass(frozen=True, slots=True)
class WorkMetrics:
    """What the endpoint counts since its cluster began."""

    job_cpu_seconds_done: float
    job_cpu_seconds_lost: float
    services: tuple[ServiceCounters, ...]


def read_work_metrics(text: bytes) -> WorkMetrics:
    """Read an answer of the endpoint; the first `MOST_SERVICES` Services by name.

    Raises:
        ValueError: it is too long, or a value is no number of zero or more.
    """
    if len(text) > MOST_BYTES:
        raise ValueError(f"{len(text)} bytes of metrics are more than {MOST_BYTES}")
    outcomes: dict[str, dict[str, float]] = {}
    within: dict[str, dict[float, float]] = {}
    job_cpu: dict[str, float] = {}
    for name, labels, value in _samples(text.decode()):
        service = f"{labels.get('namespace', '')}/{labels.get('service', '')}"
        if name == REQUESTS:
            outcomes.setdefault(service, {})[labels.get("outcome", "")] = value
        elif name == f"{DURATIONS}_bucket":
            within.setdefault(service, {})[float(labels.get("le", "nan"))] = value
        elif name == JOB_CPU:
            job_cpu[labels.get("outcome", "")] = value
    return WorkMetrics(
        job_cpu_seconds_done=job_cpu.get("in time", 0.0) + job_cpu.get("late", 0.0),
        job_cpu_seconds_lost=job_cpu.get("lost", 0.0),
        services=tuple(
            _service(name, outcomes[name], within.get(name, {}))
            for name in sorted(outcomes)[:MOST_SERVICES]
        ),
    )


def _service(
    name: str, outcomes: Mapping[str, float], within: Mapping[float, float]
) -> ServiceCounters:
    served, failed, lost = (outcomes.get(outcome, 0.0) for outcome in _OUTCOMES)
    return ServiceCounters(
        service=name,
        served=served,
        failed=failed,
        lost=lost,
        served_within=tuple(within.get(bound, 0.0) for bound in LATENCY_BOUNDS) if within else (),
    )


def _samples(text: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    for name, labels, value in _SAMPLE.findall(text):
        number = float(value)
        if not 0.0 <= number < float("inf"):
            raise ValueError(f"{name} is {value}")
        yield name, _labels(labels), number


@lru_cache(maxsize=4_096)  # the same at each look; read, never changed
def _labels(text: str) -> Mapping[str, str]:
    return dict(_LABEL.findall(text))
