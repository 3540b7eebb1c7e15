"""The Prometheus metrics of a process: its own registry, names that begin with `foresail_`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from bus.errors import (
    AnotherWriter,
    BusUnavailable,
    ForesailError,
    LogWentBack,
    MessageTooLarge,
    NotPermitted,
    StreamMissing,
)
from schemas.breaker import BreakerState

PREFIX = "foresail"
PUBLISH_BUCKETS_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)
PUBLISH_FAILURES: tuple[type[ForesailError], ...] = (
    AnotherWriter,
    BusUnavailable,
    LogWentBack,
    MessageTooLarge,
    NotPermitted,
    StreamMissing,
)
"""Why a publish is given up. Each is exported as 0 from the start: to Prometheus, a series that appears
with its first failure shows no increase."""


class ProcessMetrics:
    """The metrics of one process."""

    def __init__(self, process: str, cluster: str, incarnation: str) -> None:
        """Make an empty registry of this process' own."""
        self.registry = registry = CollectorRegistry()
        info = Info("foresail_process", "Which process this is", registry=registry)
        info.info({"process": process, "cluster": cluster, "incarnation": incarnation})
        ProcessCollector(PREFIX, registry=registry)
        self.published = Counter(
            "foresail_events_published_total", "Events stored", ["type"], registry=registry
        )
        self.events_read = Counter(
            "foresail_events_folded_total", "Events read", ["type"], registry=registry
        )
        self.publish_seconds = Histogram(
            "foresail_publish_seconds",
            "From asking to store until the log's ack",
            buckets=PUBLISH_BUCKETS_SECONDS,
            registry=registry,
        )
        self.failures = Counter(
            "foresail_publish_failures_total", "Publishes given up", ["error"], registry=registry
        )
        for error in PUBLISH_FAILURES:
            self.failures.labels(error.__name__)
        self.item_errors = Counter(
            "foresail_item_errors_total",
            "Items that failed while the others went on",
            ["loop"],
            registry=registry,
        )
        self.decisions = Counter(
            "foresail_decisions_total",
            "Actions decided, those to do nothing too",
            ["rule", "action"],
            registry=registry,
        )
        self.executions = Counter(
            "foresail_executions_total", "Executions", ["outcome", "reason"], registry=registry
        )
        self.breaker_changes = Counter(
            "foresail_breaker_changes_total", "Breakers that changed", ["state"], registry=registry
        )
        for state in BreakerState:
            self.breaker_changes.labels(state)
        self.newest_cycle = Gauge(
            "foresail_newest_cycle", "Newest cycle seen or published", registry=registry
        )
        self.loop_delay_seconds = Gauge(
            "foresail_event_loop_delay_seconds",
            "How late the event loop turned",
            registry=registry,
        )

    def register(
        self, name: str, text: str, value: Callable[[], float], *, counts: bool = False
    ) -> None:
        """Add a number that is read at each scrape; `counts`: one that only grows."""
        self.registry.register(_GaugeOnScrape(f"{PREFIX}_{name}", text, value, counts=counts))


class _GaugeOnScrape(Collector):
    """A number that is read from its owner at each scrape."""

    def __init__(self, name: str, text: str, value: Callable[[], float], *, counts: bool) -> None:
        self._family = CounterMetricFamily if counts else GaugeMetricFamily
        self._name, self._text, self._value = name, text, value

    def collect(self) -> Iterator[Metric]:
        """Read it."""
        yield self._family(self._name, self._text, value=self._value())
