"""Requests as instrumented pods count them.

In aggregate mode these are expected requests, so they may be fractions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from twin.engine import Engine
from twin.exporters.family import EngineFamilies, Family, Row
from twin.serving.latency import PROMETHEUS_BUCKETS

_POD = ("namespace", "service", "pod", "job")
FAMILIES = (
    Family("http_requests_total", "counter", "Requests that ended in a pod, by status code.",
           (*_POD, "code")),
    Family("http_requests_in_flight", "gauge", "Requests in a pod.", _POD),
    Family("http_request_duration_seconds", "histogram",
           "From arrival to answer, of requests that were served.", _POD),
)  # fmt: skip


def _served_pods(
    engine: Engine,
) -> Iterator[tuple[tuple[str, str, str, str], dict[str, float], Sequence[float]]]:
    """Yield labels, columns and cumulative buckets of each pod behind a Service with traffic."""
    for key, backends in list(engine.serving.services.items()):
        namespace, service = key.split("/", 1)
        for place, (uid, buckets) in enumerate(list(backends.pod_buckets())):
            pod = engine.world.pods.get(uid)
            if pod is not None:
                columns = {name: float(column[place]) for name, column in backends.columns.items()}
                yield (namespace, service, pod.name, service), columns, buckets


def _rows(engine: Engine) -> Iterator[Row]:
    for labels, columns, buckets in _served_pods(engine):
        yield "http_requests_total", (*labels, "200"), columns["served"]
        yield "http_requests_total", (*labels, "504"), columns["failed"]
        yield "http_requests_in_flight", labels, columns["present"]
        rising = [0.0, *buckets]
        for bound, (before, count) in zip(PROMETHEUS_BUCKETS, pairwise(rising), strict=True):
            bucket = (*labels, f"{bound:g}")
            yield "http_request_duration_seconds_bucket", bucket, max(before, count)
        served = columns["served"]
        yield "http_request_duration_seconds_bucket", (*labels, "+Inf"), served
        yield "http_request_duration_seconds_sum", labels, columns["latency_seconds"]
        yield "http_request_duration_seconds_count", labels, served


REQUESTS = EngineFamilies(FAMILIES, _rows)
