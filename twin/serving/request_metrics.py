"""What metrics adapters say of requests: custom.metrics.k8s.io and external.metrics.k8s.io.

Values are those of the last step of contention, as a scrape would have them: rates over the step before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from twin.serving.backends import Backends
from twin.serving.serving import Serving

_COLUMNS = {"http_requests_per_second": "rate", "http_requests_in_flight": "present"}
NAMES = tuple(_COLUMNS)
"""Metrics of pods and Services. The rate is of requests that have ended, served or not."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One value in thousandths, and when it was taken, unix seconds."""

    milli: int
    at: float
    window_seconds: float


class RequestMetrics:
    """Reads the request metrics of pods and Services."""

    def __init__(self, serving: Serving, window_seconds: float) -> None:
        self._serving = serving
        self._window_seconds = window_seconds

    def of_pod(self, uid: str, metric: str) -> Reading | None:
        """Return a pod's value, over all Services that it is behind; None when it has none."""
        column = _COLUMNS.get(metric)
        if column is None:
            return None
        found = [float(backends[column][place]) for backends, place in self._serving.places_of(uid)]
        return self._reading(found) if found else None

    def of_service(self, namespace: str, name: str, metric: str) -> Reading | None:
        """Return the sum over the pods of a Service; None when nobody plays its requests."""
        backends = self._serving.services.get(f"{namespace}/{name}")
        column = _COLUMNS.get(metric)
        if backends is None or column is None:
            return None
        return self._reading(_values(backends, column))

    def of_labels(
        self, namespace: str, metric: str, selects: Callable[[dict[str, str]], bool]
    ) -> list[tuple[dict[str, str], Reading]]:
        """Return labels and value of each Service of a namespace whose labels (`service`, `namespace`) are
        selected.
        """
        found = []
        for key in sorted(self._serving.services):
            home, name = key.split("/", 1)
            labels = {"namespace": home, "service": name}
            reading = self.of_service(home, name, metric)
            if home == namespace and reading is not None and selects(labels):
                found.append((labels, reading))
        return found

    def _reading(self, values: list[float]) -> Reading:
        at = self._serving.stepped_at
        return Reading(round(math.fsum(values) * 1_000.0), at, self._window_seconds)


def _values(backends: Backends, column: str) -> list[float]:
    found: list[float] = backends[column].tolist()
    return found
