"""The twin scrapes itself: at even times, without leaving a trace in the cluster."""

from __future__ import annotations

import math
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from inputs.clock import ManualClock
from twin.api.messages import Request, StreamedResponse
from twin.api.router import Router
from twin.exporters.registry import PAGE
from twin.inprocess import InProcessTwin
from twin.promql.queries import instant_query
from twin.samples.scraper import SampleSettings, Scraper
from twin.tests.serving.web import Web

TRAFFIC = "constant requests_per_second=40"


def _scraped(seconds: float = 600.0, **web: Any) -> tuple[Web, Scraper]:
    made = Web(TRAFFIC, **web)
    scraper = Scraper(made.engine, SampleSettings())
    scraper.advance(made.engine, made.engine.now + seconds)
    return made, scraper


def _ask(web: Web, scraper: Scraper, query: str) -> list[tuple[dict[str, str], float]]:
    data: Any = instant_query(scraper.store, query, round(web.engine.now * 1_000))
    return [(one["metric"], float(one["value"][1])) for one in data["result"]]


def test_scraping_leaves_the_cluster_as_it_is() -> None:
    """Same seed, same state hash with samples, without them, and with queries in between."""
    plain = Web(TRAFFIC)
    plain.run(600.0)
    web, scraper = _scraped(200.0)
    _ask(web, scraper, "sum(rate(http_requests_total[1m]))")
    for _ in range(4):
        scraper.advance(web.engine, web.engine.now + 100.0)
    assert web.engine.state_hash() == plain.engine.state_hash()
    assert web.engine.clock.handled == plain.engine.clock.handled


def test_scrapes_are_at_even_times_whenever_it_begins() -> None:
    """A scraper that starts later, as after a restart, scrapes at the moments the first one would have."""
    web, scraper = _scraped(100.0)
    later = Scraper(web.engine, SampleSettings())
    assert later.next_at == scraper.next_at == web.engine.config.start_time + 105.0
    assert scraper.store.span_ms == tuple(
        round((web.engine.config.start_time + at) * 1_000) for at in (0, 90)
    )
    later.advance(web.engine, web.engine.now + 20.0)
    assert later.store.span_ms is not None
    assert later.store.span_ms[0] == round((web.engine.config.start_time + 105) * 1_000)


def test_samples_are_what_the_page_shows() -> None:
    """Every series of GET /metrics is in the newest scrape with the same labels and value, and no other."""
    web, scraper = _scraped(0.0)
    scraper.advance(web.engine, web.engine.config.start_time + 600.0)
    answer = Router(web.engine).handle(Request("GET", "/metrics"))
    assert isinstance(answer, StreamedResponse)
    page = {
        (sample.name, *sorted((k, v) for k, v in sample.labels.items() if v)): sample.value
        for family in text_string_to_metric_families(b"".join(answer.chunks).decode())
        for sample in family.samples
    }
    kept = {
        (labels.pop("__name__"), *sorted(labels.items())): value
        for labels, value in _ask(web, scraper, '{__name__!="up",job!=""}')
    }
    assert kept == pytest.approx(page, rel=1e-15)
    assert len(kept) > 200
    assert {name for name, *_ in kept} <= set(PAGE.labels)


def test_what_is_deleted_is_gone_at_the_next_scrape() -> None:
    """A pod's series end with the pod, also those that never change."""
    web, scraper = _scraped(300.0, replicas=2)
    web.scale(1)
    before = {labels["pod"] for labels, _ in _ask(web, scraper, "kube_pod_info")}
    scraper.advance(web.engine, web.engine.now + 60.0)
    [left] = [pod.name for pod in web.pods()]
    assert len(before) == 2
    for name in ("kube_pod_info", "kube_pod_created", "container_memory_working_set_bytes"):
        assert {labels["pod"] for labels, _ in _ask(web, scraper, name)} == {left}


def test_a_change_of_an_object_shows_and_what_it_was_does_not() -> None:
    """Ready and phase follow the object; the old label values of kube_pod_info end."""
    web, scraper = _scraped(0.0)
    scraper.advance(web.engine, web.engine.now + 15.0)
    scraper.advance(web.engine, web.engine.now + 300.0)
    assert len(_ask(web, scraper, "kube_pod_info")) == 2
    assert {value for _, value in _ask(web, scraper, 'kube_pod_status_phase{phase="Running"}')} == {
        1.0
    }
    web.engine.fail_node("n0", 600.0)
    scraper.advance(web.engine, web.engine.now + 120.0)
    up = {
        labels["instance"]: value for labels, value in _ask(web, scraper, 'up{job="node-exporter"}')
    }
    assert up == {"n0": 0.0, "n1": 1.0, "n2": 1.0}
    condition = 'kube_node_status_condition{condition="Ready",status="true"}'
    assert {of["node"]: value for of, value in _ask(web, scraper, condition)}["n0"] == 0.0
    assert {of["instance"] for of, _ in _ask(web, scraper, "node_load1")} == {"n1", "n2"}


def test_requests_and_work_have_the_rates_that_were_simulated() -> None:
    """Rates from PromQL are those of the traffic and of the CPU that it takes."""
    web, scraper = _scraped(900.0)
    [(_, served)] = _ask(web, scraper, "sum(rate(http_requests_total[5m]))")
    assert served == pytest.approx(40.0, rel=0.01)
    [(_, cores)] = _ask(
        web, scraper, 'sum(rate(container_cpu_usage_seconds_total{container="c"}[5m]))'
    )
    assert cores == pytest.approx(40.0 * 0.02 + 2 * 0.005, rel=0.05)
    [(_, busy)] = _ask(web, scraper, 'sum(rate(node_cpu_seconds_total{mode!="idle"}[5m]))')
    assert busy == pytest.approx(cores, rel=1e-9)
    latency = (
        "histogram_quantile(0.9, sum by (le) (rate(http_request_duration_seconds_bucket[5m])))"
    )
    [(_, seconds)] = _ask(web, scraper, latency)
    assert 0.05 < seconds < 0.25
    assert math.isfinite(seconds)


def test_a_virtual_run_keeps_samples_only_when_asked() -> None:
    """In-process twins answer PromQL with samples, and say how to get them without."""
    query = {"query": "count(kube_pod_info)"}
    for samples, status in ((None, 503), (SampleSettings(), 200)):
        clock = ManualClock()
        web = Web(TRAFFIC)
        twin = InProcessTwin(web.engine, clock=clock, speed=60.0, samples=samples)
        clock.advance(10.0)
        assert twin.request("GET", "/api/v1/query", query, b"")[0] == status
        assert web.engine.now == web.engine.config.start_time + 600.0


def test_an_interval_is_needed() -> None:
    """Zero seconds between scrapes is no interval."""
    with pytest.raises(ValueError, match="above 0"):
        Scraper(Web().engine, SampleSettings(scrape_seconds=0.0))
