"""Requests by Service: unlike those of its pods they do not fall when a pod goes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from twin.engine import Engine
from twin.exporters.family import EngineFamilies, Family, Row
from twin.serving.backends import BUCKET_PLACES
from twin.serving.latency import PROMETHEUS_BUCKETS

REQUESTS_TOTAL = "foresail_service_requests_total"
DURATIONS = "foresail_service_request_duration_seconds"
UNSERVED_TOTAL = "foresail_requests_unserved_total"
_SERVICE = ("namespace", "service")
_BOUNDS = tuple(f"{bound:g}" for bound in PROMETHEUS_BUCKETS)
_TWIN = (("job", "foresail-twin"),)
FAMILIES = (
    Family(REQUESTS_TOTAL, "counter", "Requests of a Service by what became of them.",
           (*_SERVICE, "outcome"), _TWIN),
    Family(DURATIONS, "histogram",
           "From arrival to answer, of requests of a Service that were served.", _SERVICE, _TWIN),
    Family(UNSERVED_TOTAL, "counter",
           "Requests of a Service that nobody served, as people count them.",
           (*_SERVICE, "reason"), _TWIN),
)  # fmt: skip


def _rows(engine: Engine) -> Iterator[Row]:
    for key, account in list(engine.serving.accounts().items()):
        namespace, service = key.split("/", 1)
        labels = (namespace, service)
        failed = account.timed_out + account.refused
        for outcome, value in (
            ("served", account.served),
            ("failed", failed),
            ("lost", account.lost),
        ):
            yield REQUESTS_TOTAL, (*labels, outcome), value
        for reason, value in (
            ("timed out", account.timed_out),
            ("refused", account.refused),
            ("lost", account.lost),
        ):
            yield UNSERVED_TOTAL, (*labels, reason), value
        within = np.cumsum(account.latencies)[BUCKET_PLACES].tolist()
        for bound, count in zip(_BOUNDS, within, strict=True):
            yield f"{DURATIONS}_bucket", (*labels, bound), count
        yield f"{DURATIONS}_bucket", (*labels, "+Inf"), account.served
        yield f"{DURATIONS}_sum", labels, account.latency_seconds
        yield f"{DURATIONS}_count", labels, account.served


SERVICES = EngineFamilies(FAMILIES, _rows)
