"""Requests of Services from rates: never falling, nothing made up for a gap, latencies by our own bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from schemas.signals import SignalStatus
from schemas.work import LATENCY_BOUNDS, MOST_SERVICES, ServiceCounters
from services.collector.measuring import MeasuredSources
from services.collector.observe import interpret_snapshot
from services.collector.reading import MeasuredReads
from services.collector.request_counters import RequestCounters
from services.collector.service_rates import ServiceRate, ServiceRates, service_rates
from services.collector.settings import CollectorSettings
from services.prometheus_settings import PrometheusSettings
from tests.cluster.test_kube_follow import LoopClock
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import ScriptedCluster, node
from tests.served_prometheus import AT, ServedPrometheus, served_prometheus

ASKED, WITHIN = "http_requests_total", "duration_seconds_bucket"


@pytest.fixture
def prometheus() -> Iterator[ServedPrometheus]:
    """Serve a Prometheus that counts the requests of two namespaces."""
    with served_prometheus() as served:
        served.series = {
            ASKED: [
                row("9", namespace="shop", service="web", code="200"),
                row("1", namespace="shop", service="web", code="404"),
                row("0.5", namespace="shop", service="web", code="503"),
                row("7", namespace="kube-system", service="dns", code="200"),
            ],
            WITHIN: [
                row("4", namespace="shop", service="web", le="0.1"),
                row("8", namespace="shop", service="web", le="0.5"),
                row("10", namespace="shop", service="web", le="+Inf"),
            ],
        }
        yield served


def row(value: str, **labels: str) -> dict[str, Any]:
    """Return one series of an answer."""
    return {"metric": labels, "value": [AT, value]}


def ask(served: ServedPrometheus) -> MeasuredReads:
    """Ask once."""
    settings = CollectorSettings(prometheus=PrometheusSettings(url=served.url))

    async def read() -> MeasuredReads | None:
        return await MeasuredSources(settings, LoopClock()).read(AT)

    reads = asyncio.run(read())
    assert reads is not None
    return reads


def rate(served: float, failed: float = 0.0) -> ServiceRates:
    """Return the rates of one Service over two minutes."""
    return ServiceRates({"shop/web": ServiceRate(served, failed)}, 120.0)


def test_codes_that_begin_with_five_failed(prometheus: ServedPrometheus) -> None:
    """Of watched namespaces alone; the read says how many Services and over which window."""
    reads = ask(prometheus)

    assert reads.rates is not None
    web = reads.rates.services["shop/web"]
    assert list(reads.rates.services) == ["shop/web"]
    assert (web.served, web.failed) == (10.0, 0.5)
    assert [
        (one.source, one.items, one.window_seconds)
        for one in reads.sources
        if one.source == "service_requests"
    ] == [("service_requests", 1, 120.0)]


def test_latencies_are_read_at_our_bounds(prometheus: ServedPrometheus) -> None:
    """Linear inside of a bucket; beyond the last finite bound nothing more is taken for quick."""
    rates = ask(prometheus).rates

    assert rates is not None
    within = dict(zip(LATENCY_BOUNDS, rates.services["shop/web"].within, strict=True))
    assert within[0.05] == pytest.approx(2.0)
    assert within[0.1] == 4.0
    assert within[0.25] == pytest.approx(5.5)
    assert within[0.5] == within[10.0] == 8.0


def test_no_more_are_quick_than_are_served() -> None:
    """A histogram that counts failures, too, says nothing better of the Service."""
    rates = service_rates(
        {("a", "b", "200"): 1.0, ("a", "b", "500"): 1.0}, {("a", "b", "0.005"): 2.0}, 60.0
    )

    assert set(rates.services["a/b"].within) == {1.0}


def test_a_rate_is_added_up_over_the_time_between_looks() -> None:
    """The first look begins; a rate that falls lets nothing fall."""
    counters = RequestCounters()

    counters.count(rate(10.0), 100.0)
    counters.count(rate(10.0, 1.0), 105.0)
    after = counters.count(rate(2.0), 110.0)

    assert after == (ServiceCounters(service="shop/web", served=60.0, failed=5.0, lost=0.0),)
    assert counters.count(ServiceRates({}, 120.0), 200.0) == after


def test_nothing_is_made_up_for_a_gap() -> None:
    """After an hour without a look the rate tells of its own two minutes."""
    counters = RequestCounters()
    counters.count(rate(1.0), 0.0)

    assert counters.count(rate(1.0), 3_600.0)[0].served == 120.0


def test_only_so_many_services_are_counted() -> None:
    """The first by name, and those that came first stay."""
    many = {(f"n{number:03}", "web", "200"): 1.0 for number in range(MOST_SERVICES + 1)}
    counters = RequestCounters()
    counters.count(rate(1.0), 0.0)

    counted = counters.count(service_rates(many, {}, 60.0), 10.0)

    assert len(counted) == MOST_SERVICES
    assert "shop/web" in {one.service for one in counted}


def test_requests_reach_the_observation_with_their_signal(
    prometheus: ServedPrometheus, look: Look
) -> None:
    """A source that fails leaves the signal missing; one that counts nothing says nothing."""
    snapshot = look(ScriptedCluster(nodes=[node("n1")]))

    def status() -> SignalStatus | None:
        sources = (*snapshot.sources, *ask(prometheus).sources)
        at = snapshot.cluster_time_seconds
        dated = tuple(one.model_copy(update={"read_time_seconds": at}) for one in sources)
        said = interpret_snapshot(replace(snapshot, sources=dated), CollectorSettings())
        return next((one.status for one in said.signals if one.name == "service_requests"), None)

    assert status() is SignalStatus.FRESH
    prometheus.series[ASKED] = []
    assert status() is None
    prometheus.status, prometheus.body = 500, b""
    assert status() is SignalStatus.MISSING
