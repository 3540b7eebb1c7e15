"""What pods use, from a Prometheus instead of the Metrics Server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from foresail.dependent_settings import fill_dependent
from foresail.settings import StackSettings
from services.executor.reading.pod_usage import (
    MetricsServerUsage,
    PodUsageSample,
    PrometheusUsage,
    usage_source,
)
from services.executor.settings import ExecutorSettings
from services.prometheus_settings import PrometheusSettings
from tests.served_prometheus import AT, ServedPrometheus, served_prometheus

CPU, MEMORY, TIME = "container_cpu", "(container_memory", "timestamp"


@pytest.fixture
def prometheus() -> Iterator[ServedPrometheus]:
    """Serve a Prometheus that knows a pod of two containers."""
    with served_prometheus() as served:
        served.series = {
            CPU: [row("web.1", "c", "0.5"), row("web.1", "side", "0.1"), row("db", "c", "9")],
            TIME: [row("web.1", "c", str(AT)), row("web.1", "side", str(AT - 20))],
            MEMORY: [row("web.1", "c", "1024"), row("web.1", "side", "5"), row("db", "c", "9")],
        }
        yield served


def row(pod: str, container: str, value: str) -> dict[str, object]:
    """Return one series of an answer."""
    labels = {"namespace": "shop", "pod": pod, "container": container}
    return {"metric": labels, "value": [AT, value]}


def read(served: ServedPrometheus, *pods: str) -> dict[tuple[str, str], PodUsageSample]:
    """Ask for pods of the namespace `shop`."""
    usage = PrometheusUsage(PrometheusSettings(url=served.url))
    return asyncio.run(usage.read([("shop", pod) for pod in pods]))


def test_a_pods_containers_come_with_source_time_and_window(prometheus: ServedPrometheus) -> None:
    """As old as the oldest of them."""
    assert read(prometheus, "web.1") == {
        ("shop", "web.1"): PodUsageSample(
            AT - 20, {"c": (0.5, 1024), "side": (0.1, 5)}, "prometheus", 120.0
        )
    }


def test_a_container_counts_with_both_amounts_and_a_time(prometheus: ServedPrometheus) -> None:
    """A pod without a time is left out, and so is a container without one of its amounts."""
    prometheus.series[MEMORY].pop(1)

    found = read(prometheus, "web.1", "db")

    assert {pod: list(sample.usage) for pod, sample in found.items()} == {("shop", "web.1"): ["c"]}


def test_it_is_asked_for_the_named_pods_alone(prometheus: ServedPrometheus) -> None:
    """Without pause containers and sums of cgroups; a dot in a name stands for itself."""
    read(prometheus, "web.1", "db")
    read(prometheus)

    assert len(prometheus.forms) == 3
    for form in prometheus.forms:
        assert 'container!="",container!="POD",pod=~"db|web[.]1"' in form["query"]


def test_an_answer_that_is_none_leaves_usage_unknown(prometheus: ServedPrometheus) -> None:
    """Nothing is resized by what nobody said."""
    prometheus.status, prometheus.body = 503, b"starting"

    assert read(prometheus, "web.1") == {}


def test_the_executor_asks_whom_the_collector_asks() -> None:
    """`collector.prometheus` alone is given; without an address the Metrics Server is asked."""
    given = StackSettings.model_validate({"collector": {"prometheus": {"url": "http://p"}}})
    transport = object()

    executor = fill_dependent(given).executor

    assert executor.prometheus.url == "http://p"
    assert isinstance(usage_source(transport, executor.prometheus), PrometheusUsage)  # type: ignore[arg-type]
    assert "prometheus" in executor.announcement()
    plain = ExecutorSettings()
    assert isinstance(usage_source(transport, plain.prometheus), MetricsServerUsage)  # type: ignore[arg-type]
    assert "prometheus" not in plain.announcement()
