"""Counters of requests and of Jobs' CPU time, as a metrics endpoint shows them in Prometheus' text format.

The Kubernetes API itself counts neither. The embedded cluster serves these families at its /metrics; they
are summed by Service there, so that they do not fall when a pod goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from schemas.numbers import rounded
from schemas.work import LATENCY_BOUNDS, MOST_SERVICES, ServiceCounters

REQUESTS = "foresail_service_requests_total"
DURATIONS = "foresail_service_request_duration_seconds"
UNSERVED = "foresail_requests_unserved_total"
JOB_CPU = "foresail_job_cpu_seconds_total"
PATH = "/metrics"
QUERY = {"families": f"{REQUESTS},{DURATIONS},{UNSERVED},{JOB_CPU}"}
MOST_BYTES = 4 * 1024**2
_SERIES = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})?")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_OUTCOMES = ("served", "failed", "lost")


@dataclass(frozen=True, slots=True)
class WorkMetrics:
    """Counters of the endpoint since its cluster began; None where nobody counts it."""

    job_cpu_seconds_done: float | None
    job_cpu_seconds_lost: float | None
    services: tuple[ServiceCounters, ...]


class _Sample(NamedTuple):
    """Counter of a line."""

    name: str
    service: str
    outcome: str
    """Outcome of it, or why nobody served it."""
    bound: float
    """Upper bound of a bucket, seconds."""


def read_work_metrics(text: bytes) -> WorkMetrics:
    """Read an answer of the endpoint; the first `MOST_SERVICES` Services by name.

    Raises:
        ValueError: it is too long, or a value is no number of zero or more.
    """
    if len(text) > MOST_BYTES:
        raise ValueError(f"{len(text)} bytes of metrics are more than {MOST_BYTES}")
    outcomes: dict[str, dict[str, float]] = {}
    within: dict[str, dict[float, float]] = {}
    refused: dict[str, float] = {}
    job_cpu: dict[str, float] = {}
    for sample, value in _samples(text.decode()):
        if sample.name == REQUESTS:
            outcomes.setdefault(sample.service, {})[sample.outcome] = value
        elif sample.name == f"{DURATIONS}_bucket":
            within.setdefault(sample.service, {})[sample.bound] = value
        elif sample.name == UNSERVED and sample.outcome == "refused":
            refused[sample.service] = value
        elif sample.name == JOB_CPU:
            job_cpu[sample.outcome] = value
    return WorkMetrics(
        job_cpu_seconds_done=job_cpu.get("in time", 0.0) + job_cpu.get("late", 0.0),
        job_cpu_seconds_lost=job_cpu.get("lost", 0.0),
        services=tuple(
            _service(name, outcomes[name], within.get(name, {}), refused.get(name))
            for name in sorted(outcomes)[:MOST_SERVICES]
        ),
    )


def _service(
    name: str, outcomes: Mapping[str, float], within: Mapping[float, float], refused: float | None
) -> ServiceCounters:
    served, failed, lost = (outcomes.get(outcome, 0.0) for outcome in _OUTCOMES)
    # Every number was looked at by `_samples`, and is rounded here.
    return ServiceCounters.model_construct(
        None,
        service=name,
        served=rounded(served),
        failed=rounded(failed),
        lost=rounded(lost),
        served_within=tuple([rounded(within.get(bound, 0.0)) for bound in LATENCY_BOUNDS])
        if within
        else (),
        refused=None if refused is None else rounded(refused),
    )


def _samples(text: str) -> Iterator[tuple[_Sample, float]]:
    for line in text.split("\n"):
        series, _, value = line.rpartition(" ")
        sample = _sample_of(series) if value else None  # a comment is no name with labels
        if sample is None:
            continue
        number = float(value)
        if not 0.0 <= number < float("inf"):
            raise ValueError(f"{sample.name} is {value}")
        yield sample, number


@lru_cache(maxsize=16_384)  # the same at each look
def _sample_of(series: str) -> _Sample | None:
    """Return what a sample is of; None where the text is no name with labels."""
    found = _SERIES.fullmatch(series)
    if found is None:
        return None
    labels = dict(_LABEL.findall(found[2] or ""))
    service = f"{labels.get('namespace', '')}/{labels.get('service', '')}"
    bound = float(labels.get("le", "nan")) if found[1] == f"{DURATIONS}_bucket" else 0.0
    return _Sample(found[1], service, labels.get("outcome") or labels.get("reason", ""), bound)
